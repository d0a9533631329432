#!/bin/sh
# Puts the hashes of the passwords into the configuration, which needs no password in clear, and becomes the server.
# Arguments are passed on to it.
set -eu

hash() { printf '%s' "$1" | sha256sum | cut -d ' ' -f 1; }

configuration="${TMPDIR:-/tmp}/valkey.conf"
sed -e "s/@LEADLINE_SHA256@/$(hash "$LEADLINE_REDIS_PASSWORD")/" \
    -e "s/@FLOWER_SHA256@/$(hash "$FLOWER_REDIS_PASSWORD")/" \
    "$(dirname "$0")/valkey.conf" > "$configuration"
unset LEADLINE_REDIS_PASSWORD FLOWER_REDIS_PASSWORD
exec valkey-server "$configuration" "$@"
