"""Certificates for tests, made by the openssl command: an authority of our own and what it signs, good and bad."""

import os
import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Pair:
    """A certificate with its key."""

    certificate: Path
    key: Path

    def server(self) -> ssl.SSLContext:
        """Return the context of a server that shows this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


class Authority:
    """An authority that nobody trusts but tests."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            reason = "the openssl command is missing: install it to test certificates"
            assert not os.environ.get("LEADLINE_CI"), reason
            pytest.skip(reason)
        self._folder = folder
        self._own = self._self_signed("authority", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def self_signed(self, host: str) -> Pair:
        """Return a certificate that no authority has signed."""
        return self._self_signed(host, "-addext", f"subjectAltName=DNS:{host}")

    def signed(self, host: str, *, expired: bool = False) -> Pair:
        """Return a certificate for a host, signed by this authority."""
        pair = self._pair(f"{host}-{expired}")
        request = self._folder / f"{host}-{expired}.csr"
        names = ("-addext", f"subjectAltName=DNS:{host}")
        _openssl("req", "-new", *_KEY, "-subj", f"/CN={host}", *names, "-keyout", str(pair.key), "-out", str(request))
        issuer = ("-CA", str(self._own.certificate), "-CAkey", str(self._own.key), "-CAcreateserial")
        days = ("-days", "-1" if expired else "30", "-copy_extensions", "copy")
        _openssl("x509", "-req", "-in", str(request), *issuer, *days, "-out", str(pair.certificate))
        return pair

    def trusted(self) -> ssl.SSLContext:
        """Return the context of a client that trusts this authority alone."""
        return ssl.create_default_context(cafile=str(self._own.certificate))

    def _self_signed(self, name: str, *more: str) -> Pair:
        pair = self._pair(name)
        files = ("-keyout", str(pair.key), "-out", str(pair.certificate))
        _openssl("req", "-x509", *_KEY, "-subj", f"/CN={name}", "-days", "30", *files, *more)
        return pair

    def _pair(self, name: str) -> Pair:
        return Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")


def _openssl(*arguments: str) -> None:
    subprocess.run(("openssl", *arguments), check=True, capture_output=True, timeout=60)
