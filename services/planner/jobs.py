"""What the planner does with a provider's research job: submit it once, look at it now and then, cancel it.

A try of a step makes one request and ends: with the report, or put off until the next look is due. Nobody sleeps, and
everything that has to survive a crash is in the ledger before the next request leaves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from services.planner.cited import read_report
from services.planner.prompts.managed import INSTRUCTIONS, job_input
from shared.domain.engines import MANAGED
from shared.domain.errors import (
    MODEL_REFUSED,
    Held,
    InvalidAnswer,
    NotAllowed,
    NotSent,
    Permanent,
    PutOff,
    RateLimited,
    StepError,
    Transient,
    Unconfirmed,
)
from shared.domain.managed import (
    CALL_S,
    JOB_OUTPUT_TOKENS,
    LONGEST_JOB_S,
    MANAGED_KEY,
    OPEN_JOB,
    POLL_FAILURES,
    PROVIDER,
    SUBMITTED_WITHIN_S,
    JobState,
    failure_delay_s,
    poll_delay_s,
)
from shared.domain.phases import Phase
from shared.ports.completions import Call, Finish, Message, Reply
from shared.ports.ledger import FoundSource, Lease, Outcome
from shared.ports.managed import Job, JobProvider, JobRequest, JobSeen, Managed, NewJob
from shared.ports.materials import Materials, RunFacts

GONE = "managed:gone"
"""The code of the error that tells of a job which its provider does not know any more."""


@dataclass(frozen=True, slots=True)
class JobDeps:
    """What these handlers are given."""

    materials: Materials
    managed: Managed


def research(deps: JobDeps, lease: Lease) -> Outcome:
    """Submit the run's job, or look how it stands; its report ends the step."""
    facts = deps.materials.facts(lease.run_id)
    provider = _provider(deps.managed, MANAGED[facts.engine])
    job = deps.managed.jobs.of_step(lease)
    if job is None:
        _submit(deps.managed, lease, facts, provider)
        raise PutOff("managed:submitted", f"{provider.name} has taken the job.", poll_delay_s(0))
    _wait_for_handle(job)
    handle = _handle_of(deps.managed, job, provider, lease)
    seen = _look(deps.managed, job, lambda: provider.look(handle))
    if seen.state is JobState.RUNNING:
        _go_on(deps.managed, lease, job, seen)
    _end(deps.managed, job, seen)
    return _outcome(lease, facts, job, seen)


def cancel_job(deps: JobDeps, lease: Lease) -> Outcome:
    """Have a job that nobody waits for any more ended by its provider; only a final state of it confirms that."""
    jobs = deps.managed.jobs
    job = jobs.get(str(lease.inputs["job_id"]))
    if job is None or job.state not in OPEN_JOB | {JobState.INDETERMINATE}:
        return Outcome(summary="The job has ended already.", result={"state": job.state if job else None})
    _wait_for_handle(job)
    provider = _provider(deps.managed, job.provider)
    handle = _handle_of(deps.managed, job, provider, lease)
    try:
        ask = provider.look if job.cancel_asked else partial(_cancel, provider)
        seen = _look(deps.managed, job, lambda: ask(handle))
    except Permanent as error:
        if error.code != GONE:
            raise
        return Outcome(summary=f"Nothing is left to cancel: {error.detail}", result={"state": JobState.FAILED})
    jobs.cancel_asked(job.job_id)
    if seen.state is JobState.RUNNING:
        raise PutOff("managed:cancelling", f"{provider.name} has not confirmed yet that the job has ended.", 5.0)
    _end(deps.managed, job, seen)
    done = "has cancelled the job" if seen.state is JobState.CANCELLED else f"had ended the job before: {seen.state}"
    return Outcome(summary=f"{provider.name} {done}.", result={"state": seen.state})


def _wait_for_handle(job: Job) -> None:
    """Put the step off while an earlier try, or one whose run has ended, may still be given the handle."""
    if job.state is JobState.SUBMITTING and job.age_s < SUBMITTED_WITHIN_S:
        raise PutOff("managed:submitting", "The job's handle is not known yet.", poll_delay_s(0))


def _provider(managed: Managed, name: str) -> JobProvider:
    provider = managed.providers.get(name)
    if provider is None:
        detail = f"There is no key for {name} here any more: set it for the planner's worker, then resume the run."
        raise Held(PROVIDER, "managed:no_key", detail)
    return provider


def _submit(managed: Managed, lease: Lease, facts: RunFacts, provider: JobProvider) -> None:
    """Submit the job, and keep its handle before anything else happens."""
    request = _request(facts)
    call = Call(
        phase=Phase.MANAGED,
        model=f"{provider.name}:{provider.agent}",
        messages=(Message("system", request.instructions), Message("user", request.input)),
        schema_name="",
        schema=None,
        max_output_tokens=request.max_output_tokens,
        deadline_s=CALL_S,
    )
    call_id = managed.book.reserve(lease, call)
    new = NewJob(provider.name, provider.agent, provider.credential, call.sha256, call_id)
    try:
        job = managed.jobs.begin(lease, new)
    except StepError as error:
        managed.book.fail(call_id, error.code, charged=False)
        raise
    try:
        seen = provider.submit(request)
    except (NotSent, RateLimited) as error:
        _refused(managed, job, error)
    except (Transient, InvalidAnswer) as error:
        _lost(managed, job, error)
    except Permanent as error:
        _refused(managed, job, error)
    managed.jobs.accepted(job.job_id, seen.handle)


def _request(facts: RunFacts) -> JobRequest:
    if facts.plan is None:
        raise Permanent("no_plan", "The run has no plan to research by.")
    told = job_input(
        facts.plan,
        facts.request.source_policy,
        today=facts.created_at.date().isoformat(),
        as_of=facts.request.as_of,
        language=facts.request.language,
    )
    return JobRequest(INSTRUCTIONS, told, JOB_OUTPUT_TOKENS, facts.run_id)


def _refused(managed: Managed, job: Job, error: StepError) -> NoReturn:
    """Forget a job that was never begun: it may be asked for again where the error may pass."""
    managed.jobs.withdraw(job.job_id)
    managed.book.fail(job.call_id, error.code, charged=False)
    raise error


def _lost(managed: Managed, job: Job, error: Exception | None = None) -> NoReturn:
    """Give a job up whose submission has no answer: it may run, so it counts as paid and is not asked for again."""
    managed.jobs.lost(job.job_id)
    managed.book.fail(job.call_id, "managed:indeterminate", charged=True)
    raise Unconfirmed(job.provider) from error


def _handle_of(managed: Managed, job: Job, provider: JobProvider, lease: Lease) -> str:
    """Return the handle of a job that this owner and this key may look at."""
    if job.owner_id != lease.owner_id:
        raise NotAllowed("managed:other_owner", "The job belongs to somebody else and is not looked at.")
    if job.handle is None:
        _lost(managed, job)
    if job.credential != provider.credential:
        detail = (
            f"The job at {provider.name} was submitted with another key than {provider.key_name} is now, or at another "
            "address, and is looked at with that one only: set it again, then resume the run."
        )
        raise Held(PROVIDER, "managed:other_key", detail)
    return job.handle


def _look(managed: Managed, job: Job, ask: Callable[[], JobSeen]) -> JobSeen:
    """Ask the provider once; a failure puts the step off, the fifth in a row and a refused key pause the run."""
    try:
        return ask()
    except RateLimited:
        raise
    except (Transient, InvalidAnswer) as error:
        failures = managed.jobs.look_failed(job.job_id)
        if failures < POLL_FAILURES:
            raise PutOff("managed:look_failed", error.detail, failure_delay_s(failures)) from error
        managed.jobs.forgive(job.job_id)
        told = f"{job.provider} could not be asked {failures} times in a row how the job stands: {error.detail}"
        raise Held(PROVIDER, "managed:look_failed", f"{told} Resume the run to ask again.") from error
    except Permanent as error:
        if error.code == f"{MODEL_REFUSED}unknown":
            managed.book.fail(job.call_id, GONE, charged=True)
            managed.jobs.ended(job.job_id, JobState.FAILED)
            raise Permanent(GONE, f"{job.provider} does not know the job any more: {error.detail}") from error
        raise Held(PROVIDER, error.code, f"{error.detail} Set that right, then resume the run.") from error


def _cancel(provider: JobProvider, handle: str) -> JobSeen:
    """Ask for the end of a job; where that is refused, it may have ended already."""
    try:
        return provider.cancel(handle)
    except InvalidAnswer:
        raise
    except Permanent as error:
        if error.code != f"{MODEL_REFUSED}rejected":
            raise
        return provider.look(handle)


def _go_on(managed: Managed, lease: Lease, job: Job, seen: JobSeen) -> NoReturn:
    """Put the step off until the next look; a job that has been at it for too long is given up."""
    if job.age_s > LONGEST_JOB_S:
        detail = f"{job.provider} has not ended its job within {LONGEST_JOB_S / 3600:.0f} hours; it is being cancelled."
        raise Permanent(f"{MODEL_REFUSED}job_too_long", detail)
    so_far = f": {seen.searches} search{'es' * (seen.searches != 1)} so far" if seen.searches else ""
    polls = managed.jobs.seen_running(lease, job.job_id, f"{job.provider} is researching{so_far}.")
    raise PutOff("managed:running", f"{job.provider} is still at it.", poll_delay_s(polls))


def _end(managed: Managed, job: Job, seen: JobSeen) -> None:
    """Book what a job that has ended used, then note its end."""
    if seen.usage is None and seen.state not in (JobState.COMPLETED, JobState.INCOMPLETE):
        managed.book.fail(job.call_id, f"managed:{seen.state}", charged=True)
    else:
        finish: Finish = "stop" if seen.state is JobState.COMPLETED else "other"
        served = seen.served_model or job.agent
        managed.book.settle(job.call_id, Reply("", finish, seen.usage, served, job.age_s))
    managed.jobs.ended(job.job_id, seen.state)


def _outcome(lease: Lease, facts: RunFacts, job: Job, seen: JobSeen) -> Outcome:
    """Return the report's sentences and the pages that it cites, or raise why there is none."""
    questions = facts.plan.questions if facts.plan is not None else ()
    read = read_report(seen.text, seen.marks, questions, lease.run_id, facts.request.source_policy)
    if not read.report.sentences or seen.state not in (JobState.COMPLETED, JobState.INCOMPLETE):
        why = seen.reason or "it holds no sentence."
        raise Permanent(f"{MODEL_REFUSED}job_{seen.state}", f"The job at {job.provider} gave no report: {why}")
    count, pages = len(read.report.sentences), len(read.sources)
    early = f" It ended early: {seen.reason}" if seen.state is JobState.INCOMPLETE else ""
    summary = f"{job.provider} has written {count} sentences that cite {pages} pages.{early}"
    return Outcome(
        summary=summary,
        result=read.report.model_dump(mode="json"),
        found=tuple(FoundSource(source, MANAGED_KEY, rank) for rank, source in enumerate(read.sources)),
    )
