"""The workflow while a provider's job does the research: one job, then this run's own reading of what it cites."""

from shared.domain.managed import MANAGED_KEY
from shared.domain.moves import Advance, NewStep, failed_by
from shared.domain.research_moves import all_questions, extract_again, follow_ups, is_worth_waiting, read_step
from shared.domain.states import READS, RESEARCH_STEPS, RUNNING_RUN, RunStatus, StepKind, StepStatus
from shared.domain.stopping import FINISHED, NO_NEW_INFORMATION, gate_passes, out_of_budget, out_of_time
from shared.domain.view import Candidate, RunView, StepView


def managed_research(view: RunView) -> Advance:
    """Return what comes next: the job, the pages that its report cites, then writing."""
    if view.iteration == 0:
        return Advance(iteration=1)
    job = _job(view)
    if job is None:
        return Advance(steps=(NewStep(StepKind.MANAGED, MANAGED_KEY, view.iteration, "provider"),))
    if job.open:
        return Advance()
    if job.status is not StepStatus.COMPLETED and out_of_budget([job]) is None:
        return failed_by(job)
    late = out_of_time(view) or out_of_budget(view.of_kind(*RESEARCH_STEPS))
    if late is not None:
        return Advance(RunStatus.SYNTHESIZING, late, late, job.error, cancel=RESEARCH_STEPS)
    new = (*_reads(view), *follow_ups(view))
    if new or _is_reading(view):
        return Advance(steps=new)
    reason = _reason(view)
    return Advance(RunStatus.SYNTHESIZING, reason, reason, cancel=RESEARCH_STEPS)


def clock_runs(view: RunView, change: Advance) -> bool:
    """Tell whether the clock of the elapsed limit runs: not while a provider is at work, whose pace is its own."""
    begins = any(step.kind is StepKind.MANAGED for step in change.steps)
    return view.status in RUNNING_RUN and not begins and not (view.managed and waits_for_provider(view))


def waits_for_provider(view: RunView) -> bool:
    """Tell whether the run's job has still to end."""
    job = _job(view)
    return job is not None and job.open


def _job(view: RunView) -> StepView | None:
    return next(iter(view.of_kind(StepKind.MANAGED)), None)


def _cited(view: RunView) -> list[Candidate]:
    """Return the sources that the job's report cites, the most cited first."""
    found = (c for c in view.candidates if c.search_key == MANAGED_KEY)
    return sorted(found, key=lambda c: (c.rank, c.source_id))


def _reads(view: RunView) -> tuple[NewStep, ...]:
    """Open the next reads, as far as the tier allows at once and in all; what was read before is extracted again."""
    opened = {s.subject for s in view.of_kind(StepKind.READ_SOURCE, StepKind.EXTRACT)}
    waiting = [c for c in _cited(view) if c.source_id not in opened]
    free = max(view.limits.parallel_reads - sum(s.open for s in view.of_kind(*READS)), 0)
    room = max(view.limits.fetches - view.usage.fetches, 0)
    unread = [c for c in waiting if c.snapshot_sha256 is None][: min(free, room)]
    query = all_questions(view)
    again = (extract_again(view, c, query) for c in waiting if c.snapshot_sha256 is not None)
    return (*(read_step(view, c, query) for c in unread), *again)


def _is_reading(view: RunView) -> bool:
    """Tell whether a source is worth waiting for: one that is not slow, or one that a question may need."""
    still = [s for s in view.of_kind(*RESEARCH_STEPS) if s.open]
    return any(not view.is_slow(s) for s in still) or is_worth_waiting(view)


def _reason(view: RunView) -> str:
    opened = {s.subject for s in view.of_kind(StepKind.READ_SOURCE, StepKind.EXTRACT)}
    if any(c.source_id not in opened for c in _cited(view)):
        return "budget:fetches"
    return FINISHED if gate_passes(view) else NO_NEW_INFORMATION
