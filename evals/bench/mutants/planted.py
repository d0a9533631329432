"""The planted faults, as replacements in the source. A pause, where there is one, makes a moment long enough to hit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """A passage of a file, which stands there exactly once, and what takes its place."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault: its name, what it does to the source, and which safeguard is gone."""

    name: str
    gone: str
    edits: tuple[Edit, ...]


_LEDGER, _SWEEPER, _RECEIPTS = "shared/db/ledger.py", "shared/queues/sweeper.py", "shared/db/receipts.py"

_EFFECT_FIRST = """\
        def effect(session: Session) -> None:
            held = _held(session, lease)
            if held is not None:
                record(session, held[0], lease, outcome, held[2])

        self._transactions.run(effect)
        __import__("time").sleep(0.3)

        def work(session: Session) -> Committed | None:
            held = _held(session, lease)
            if held is None:
                return Committed() if _was_done(session, lease) else None
"""

MUTANTS = (
    Mutant(
        "no fence",
        "a result is committed whoever holds the lease by now",
        (
            Edit(
                _LEDGER,
                "    if step.status != StepStatus.RUNNING or step.lease_token != lease.token:\n        return None\n",
                "",
            ),
        ),
    ),
    Mutant(
        "live leases are claimed",
        "a second wake-up takes a step away from the worker that has it",
        (Edit(_LEDGER, "expired = step.leased_until is None or step.leased_until <= now", "expired = True"),),
    ),
    Mutant(
        "no sweeper",
        "nobody makes up for lost wake-ups and lost workers",
        (
            Edit(
                _SWEEPER,
                "        reclaimed = self._each(self._sweep.expired(BATCH), self._sweep.reclaim)\n",
                "        return Swept(0, 0, 0, 0)\n        reclaimed: list[Committed] = []\n",
            ),
        ),
    ),
    Mutant(
        "two transactions",
        "the effect of a step is recorded before its state",
        (
            Edit(
                _LEDGER,
                _EFFECT_FIRST[_EFFECT_FIRST.index("        def work") :],
                _EFFECT_FIRST,
            ),
            Edit(_LEDGER, "            record(session, run, lease, outcome, outbox)\n", ""),
        ),
    ),
    Mutant(
        "acknowledged, then worked on",
        "what a worker has begun is never given to another",
        (
            Edit(
                _SWEEPER,
                "self._each(self._sweep.expired(BATCH), self._sweep.reclaim)",
                "self._each((), self._sweep.reclaim)",
            ),
        ),
    ),
    Mutant(
        "no receipts",
        "a step that begins again makes its calls again",
        (
            Edit(
                _RECEIPTS,
                "        return self._transactions.run(work)\n",
                "        return None\n",
            ),
            Edit(
                _RECEIPTS,
                "        self._transactions.run(work)\n",
                '        self._transactions.run(work)\n        __import__("time").sleep(0.3)\n',
            ),
        ),
    ),
    Mutant(
        "no site slots",
        "workers ask a site while another one does",
        (
            Edit(
                "shared/db/sites.py",
                "    return row.holder is not None and row.held_until is not None and row.held_until > now\n",
                "    return False\n",
            ),
        ),
    ),
)
