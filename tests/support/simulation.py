"""Plays a run against the pure rules, in memory: steps end in any order, fail or succeed as told."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from shared.domain.advance import advance, gained
from shared.domain.budget import TIERS, Depth, Limits, Usage
from shared.domain.moves import NewStep
from shared.domain.states import RunKind, RunStatus, StepKind, StepStatus, is_final, move
from shared.domain.view import Candidate, Knowledge, PlanView, QuestionView, RunView, Search, StepView

MAX_STEPS = 500


@dataclass
class World:
    """What the outside gives: how many candidates a search finds, how much evidence a source holds, what fails."""

    candidates: int = 3
    covers: Callable[[str], bool] = lambda source: True
    fails: Callable[[StepView], bool] = lambda step: False
    slow: Callable[[StepView], bool] = lambda step: False
    """Steps that end only when nothing else is left to happen but waiting."""
    waits: Callable[[StepView], bool] = lambda step: False
    """Steps that wait for a place and do not work before they end."""
    scripted: Callable[[str], bool] = lambda source: False
    """Pages that are nothing without a browser."""
    wants: Callable[[StepView], bool] = lambda step: False
    """Writers that ask for one more search."""
    code: str = "broken"
    decisions: int = 1
    findings: int = 1


@dataclass
class Simulation:
    """One run; ``play`` ends steps in the order that ``choose`` picks until nothing is open.

    Time passes only while nothing but slow steps is left, one straggler wait at a time.
    """

    world: World
    limits: Limits = TIERS[Depth.QUICK]
    questions: int = 2
    view: RunView = field(init=False)
    seen_keys: list[str] = field(default_factory=list)
    most_open: dict[StepKind, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with a run just created."""
        self.view = RunView(RunKind.RESEARCH, RunStatus.CREATED, self.limits, Usage(), auto_approve=True)
        self._settle()

    def play(self, choose: Callable[[int], int] = lambda n: 0) -> RunStatus:
        """Run to the end and return the status there."""
        for _ in range(MAX_STEPS):
            if is_final(self.view.status):
                return self.view.status
            self.step(choose)
        raise AssertionError("the run did not end")

    def step(self, choose: Callable[[int], int] = lambda n: 0) -> None:
        """Let the next thing happen: admission, the end of a step, or a wait."""
        if self.view.status is RunStatus.QUEUED:
            self.view = replace(self.view, may_start=True)
            self._settle()
            return
        open_steps = [s for s in self.view.steps if s.open]
        assert open_steps, f"stuck in {self.view.status}"
        quick = [s for s in open_steps if not self.world.slow(s)]
        if not quick and self._wait():
            return
        among = quick or open_steps
        self._end(among[choose(len(among)) % len(among)])
        self._settle()

    def _wait(self) -> bool:
        """Let a straggler wait pass on the clocks of the run and of what works; False if nothing came of it."""
        before, wait = self.view, self.limits.straggler_wait_s
        steps = tuple(
            replace(s, worked_s=s.worked_s + wait) if s.open and not self.world.waits(s) else s for s in before.steps
        )
        usage = replace(before.usage, elapsed_s=before.usage.elapsed_s + wait)
        self.view = passed = replace(before, quiet_s=before.quiet_s + wait, steps=steps, usage=usage)
        self._settle()
        return self.view != passed

    def _settle(self) -> None:
        for _ in range(20):
            change = advance(self.view)
            view = self.view
            steps = list(view.steps)
            if change.cancel:
                steps = [
                    replace(s, status=StepStatus.CANCELLED) if s.kind in change.cancel and s.open else s for s in steps
                ]
            gains, before = view.gains, getattr(self, "_known", Knowledge())
            if change.finished:
                gains = (*gains, gained(before, view.knowledge))
                self._known = view.knowledge
            for new in change.steps:
                steps += self._insert(new, steps)
            status = view.status if change.status is None else move(view.status, change.status)
            self.view = replace(
                view,
                status=status,
                steps=tuple(steps),
                gains=gains,
                iteration=view.iteration if change.iteration is None else change.iteration,
                stop_reason=change.stop_reason or view.stop_reason,
                usage=self._usage(steps),
            )
            for kind in StepKind:
                now = sum(s.kind is kind and s.open for s in steps)
                self.most_open[kind] = max(self.most_open.get(kind, 0), now)
            if not change.again:
                return
        raise AssertionError("the rules did not settle")

    def _insert(self, new: NewStep, steps: list[StepView]) -> list[StepView]:
        if any(s.key == new.key for s in steps):
            return []
        self.seen_keys.append(new.key)
        return [StepView(new.key, new.kind, StepStatus.PENDING, new.iteration, new.subject)]

    def _usage(self, steps: list[StepView]) -> Usage:
        counted = [s for s in steps if s.status is not StepStatus.CANCELLED]
        return Usage(
            elapsed_s=self.view.usage.elapsed_s,
            iterations=self.view.iteration,
            searches=sum(s.kind is StepKind.SEARCH for s in counted),
            fetches=sum(s.kind is StepKind.READ_SOURCE for s in counted),
        )

    def _end(self, step: StepView) -> None:
        failed = self.world.fails(step)
        result = {} if failed else self._result(step)
        status = StepStatus.FAILED if failed else StepStatus.COMPLETED
        ended = replace(step, status=status, result=result, error="broken" if failed else None)
        ended = replace(ended, code=self.world.code if failed else None)
        steps = tuple(ended if s.key == step.key else s for s in self.view.steps)
        self.view = replace(self.view, steps=steps, quiet_s=0.0)

    def _result(self, step: StepView) -> dict[str, object]:
        if step.kind is StepKind.PLAN:
            ids = [f"q{n}" for n in range(1, self.questions + 1)]
            plan = PlanView(
                tuple(QuestionView(i, i, True) for i in ids), tuple(Search(i, (i,), "documents", 5) for i in ids)
            )
            self.view = replace(self.view, plan=plan)
        if step.kind is StepKind.SEARCH:
            found = tuple(Candidate(f"{step.subject}-{n}", step.key, n, f"d{n}") for n in range(self.world.candidates))
            self.view = replace(self.view, candidates=self.view.candidates + found)
        if step.kind is StepKind.EXTRACT and self.world.covers(step.subject):
            known = self.view.knowledge
            covered = known.covered | {step.subject.partition("-")[0]}
            self.view = replace(self.view, knowledge=replace(known, covered=covered, evidence=known.evidence + 1))
        if step.kind is StepKind.DECIDE:
            more = step.iteration - 1 <= self.world.decisions
            action = {
                "action": "search",
                "query": f"n{step.iteration}",
                "question_ids": ["q1"],
                "endpoint": "documents",
            }
            return {"actions": [{**action, "results": 5}] if more else []}
        if step.kind is StepKind.PARSE and self.world.scripted(step.subject) and not step.key.endswith(":browser"):
            return {"browser": {"source_id": step.subject}}
        if step.kind in (StepKind.READ_SOURCE, StepKind.READ_IN_BROWSER, StepKind.PARSE):
            return {"next": {"source_id": step.subject}}
        if step.kind is StepKind.EXTRACT:
            return {"evidence": int(self.world.covers(step.subject))}
        if step.kind is StepKind.OUTLINE:
            return {"sections": ["s1", "s2"]}
        if step.kind is StepKind.WRITE_SECTION:
            wanted = {"query": f"gap {step.key}", "question_ids": ["q1"], "endpoint": "documents", "results": 5}
            return {"wanted": [wanted] if self.world.wants(step) else []}
        if step.kind is StepKind.ASSEMBLE:
            return {"terminal_status": "completed", "findings": self.world.findings}
        return {}
