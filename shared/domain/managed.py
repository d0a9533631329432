"""A provider's research job: what may become of it, how often it is looked at, and what it may use at most."""

import re
from enum import StrEnum

from shared.domain.ids import sha256_hex


class JobState(StrEnum):
    """Where a job stands.

    ``submitting`` holds while the one request that starts it is under way. If its answer is lost the job is
    ``indeterminate``: it may run at the provider, and nobody here knows its handle.
    """

    SUBMITTING = "submitting"
    RUNNING = "running"
    COMPLETED = "completed"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INDETERMINATE = "indeterminate"


OPEN_JOB = frozenset({JobState.SUBMITTING, JobState.RUNNING})
"""The states of jobs that may still run, and cost, at the provider."""

PROVIDER = "provider"
"""Why a run pauses whose provider cannot be asked how its job stands."""

MANAGED_KEY = "managed"
"""The key of the step that holds a provider's job, and of the sources that its report cites."""

POLL_FAILURES = 5
"""Looks at a job that fail in a row before its run pauses."""

LONGEST_JOB_S = 4 * 3600.0
"""Age at which a job is given up and cancelled; providers end theirs after one hour."""

CALL_S = 60.0
"""How long one request about a job may take."""

SUBMITTED_WITHIN_S = CALL_S + 15.0
"""Age at which a submission without an answer can have no worker any more that waits for it."""

JOB_INPUT_TOKENS = 2_000_000
"""The stated bound of what a job reads; jobs that search the web at length are known to use up to half of it."""

JOB_OUTPUT_TOKENS = 100_000
"""The bound of what a job writes, its reasoning included; told to the provider where it takes one."""

MAX_HANDLE_CHARS = 256

_FIRST_POLL_S, _POLL_GROWTH, _LONGEST_POLL_S = 2.0, 1.5, 30.0
_FIRST_FAILURE_S, _FAILURE_GROWTH = 5.0, 3.0
_HANDLE = re.compile(rf"[A-Za-z0-9._~-]{{1,{MAX_HANDLE_CHARS}}}")


def poll_delay_s(polls: int) -> float:
    """Return the seconds until the next look at a job that ``polls`` looks have found running: 2 s growing to 30 s."""
    return float(min(_FIRST_POLL_S * _POLL_GROWTH ** min(polls, 20), _LONGEST_POLL_S))


def failure_delay_s(failures: int) -> float:
    """Return the seconds until the next look after so many that failed in a row: 5 s, three times that each time."""
    return float(_FIRST_FAILURE_S * _FAILURE_GROWTH ** (min(failures, POLL_FAILURES) - 1))


def is_handle(text: str) -> bool:
    """Tell whether a text can be a provider's name of a job: it becomes a part of addresses."""
    return _HANDLE.fullmatch(text) is not None and text.strip(".") != ""


def credential_of(provider: str, base_url: str, key: str) -> str:
    """Return what stands for the key that a job was submitted with: no other key is used to look at it."""
    return sha256_hex("\0".join((provider, base_url.rstrip("/"), key)).encode())
