"""Runs, plans and documents as text for people."""

from collections.abc import Iterable, Sequence

from shared.contracts.plan import Plan
from shared.contracts.runs import Document, Run


def plan_lines(plan: Plan) -> Iterable[str]:
    """Yield what a person approves: questions and searches."""
    yield f"Plan: {plan.title}"
    yield "Questions"
    for question in plan.questions:
        optional = "" if question.priority == "required" else " (supporting)"
        yield f"  {question.id}  {question.text}{optional}"
    yield "Searches"
    for task in plan.search_tasks:
        yield f"  {', '.join(task.question_ids)}  {task.query}"


def run_lines(run: Run) -> Iterable[str]:
    """Yield what there is to know about a run."""
    counts, usage = run.counts, run.usage
    yield f"Run       {run.run_id}"
    yield f"Question  {run.objective}"
    yield f"Status    {run.status}" + (f" ({run.stop_reason})" if run.stop_reason else "")
    if run.last_error:
        yield f"Error     {run.last_error}"
    yield f"Depth     {run.depth}, engine {run.engine}" + (f", as of {run.as_of}" if run.as_of else "")
    yield f"Found     {counts.sources} sources, {counts.evidence} pieces of evidence, {counts.contradictions} conflicts"
    yield f"Covered   {counts.questions_covered} of {counts.questions_required} required questions"
    yield (
        f"Used      {usage.iterations} iterations, {usage.searches} searches, {usage.fetches} fetches, "
        f"{usage.elapsed_s:.0f} s, {usage.retries} retries"
    )
    if run.provider_job is not None:
        job = run.provider_job
        cancelling = f", being cancelled by {job.cancel_run_id}" if job.cancel_run_id and job.ended_at is None else ""
        yield f"Job       {job.handle or 'without a name'} at {job.provider}: {job.state}{cancelling}"
    yield f"Created   {run.created_at:%Y-%m-%d %H:%M:%S} UTC"
    if run.allowed_actions:
        yield f"Possible  {', '.join(run.allowed_actions)}"
    if run.plan is not None:
        yield from plan_lines(run.plan)


def run_table(runs: Sequence[Run]) -> Iterable[str]:
    """Yield a line for each run."""
    return _columns([(run.run_id, f"{run.created_at:%Y-%m-%d %H:%M}", run.status, run.objective) for run in runs])


def document_table(documents: Sequence[Document]) -> Iterable[str]:
    """Yield a line for each document."""
    return _columns(
        [(d.document_id, d.status, f"{d.bytes:,}", d.name + (f" ({d.reason})" if d.reason else "")) for d in documents]
    )


def _columns(rows: Sequence[tuple[str, ...]]) -> Iterable[str]:
    """Yield rows with all columns but the last one aligned, each on one line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        yield "  ".join([*cells, " ".join(row[-1].split())[:200]])
