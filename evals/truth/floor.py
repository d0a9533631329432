"""The floor that no model can overrule: ``python -m evals.truth.floor [--every N]``.

Of each labelled set: which part of the supported statements stays above it, and which part of the others it stops; told
apart, which part of either the check of invented parts refuses. The limits were chosen on the sets in `CHOSEN_ON`; then
words in quotation marks, which have to stand in a span as they are. ``--every N`` takes every Nth statement only.
"""

import sys

from evals.truth.sets import SETS, need, pairs, save, table
from services.synthesizer.gate.floor import NOTHING_HELD, THROWN_TOGETHER, check_floor
from services.synthesizer.gate.quotes import misquoted, quotations_in

LOOSE = (NOTHING_HELD, THROWN_TOGETHER)
CHOSEN_ON = ("attribution", "wice_short", "climate", "fever_sym", "scifact")


def main() -> None:
    """Print the table and save it."""
    need("support")
    every = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
    stopped: dict[tuple[str, bool], list[tuple[bool, bool]]] = {}
    quoting: dict[bool, list[bool]] = {True: [], False: []}
    for pair in pairs()[::every]:
        claim = f"{pair.question} {pair.claim}" if pair.question and len(pair.claim.split()) <= 3 else pair.claim
        reasons = check_floor(claim, (pair.evidence,)).reasons
        found = (bool(reasons) and reasons[0] in LOOSE, bool(reasons) and reasons[0] not in LOOSE)
        for name in (pair.set_name, "chosen on" if pair.set_name in CHOSEN_ON else "held out", "all"):
            stopped.setdefault((name, pair.supported), []).append(found)
        if quotations_in(pair.claim):
            quoting[pair.supported].append(bool(misquoted(pair.claim, (pair.evidence,))))
    body, saved = [], {}
    for name in (*SETS, "chosen on", "held out", "all"):
        good, bad = stopped.get((name, True), []), stopped.get((name, False), [])
        shares = [100 * sum(f[n] for f in rows) / max(len(rows), 1) for n in (0, 1) for rows in (good, bad)]
        saved[name] = {"supported": len(good), "others": len(bad), "shares": shares}
        body.append([name, str(len(good)), str(len(bad)), f"{100 - shares[0]:.1f}", *(f"{s:.1f}" for s in shares[1:])])
    table(["set", "supported", "others", "stay above %", "others stopped %", "invented: cost %", "others %"], body)
    for label, found in quoting.items():
        print(f"{'supported' if label else 'others'} that quote: {len(found)}, {sum(found)} of them not word for word")
    save("floor", {"sets": saved, "quoting": {str(k): [len(v), sum(v)] for k, v in quoting.items()}})


if __name__ == "__main__":
    main()
