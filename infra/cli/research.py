"""A run from its request to its report, with somebody at the terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infra.cli import library
from infra.cli.console import Console
from infra.cli.exits import FAILED, NOTHING_FOUND, PARTIAL, CliError, code_of, code_of_answers
from infra.cli.gather import Gathered
from infra.cli.output import as_printed, printed, write_whole
from infra.cli.progress import Tally
from infra.cli.setup import gateway
from infra.cli.sources import names_sources
from infra.cli.text import plan_lines
from shared.client.client import LeadlineClient
from shared.client.errors import ClientError, Unreachable
from shared.contracts.events import Event
from shared.contracts.report import Report
from shared.contracts.runs import ControlRequest, CreateRun, Run, SourcePolicy
from shared.domain.engines import is_managed

NO_DOCUMENTS = (
    "There are no documents to research: search the web with --web, give pages with --url, or name files with --docs."
)


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for: the request with its sources on the web, the documents, and where the results go."""

    request: CreateRun
    documents: Gathered
    as_json: bool
    report_file: Path | None
    bundle_file: Path | None


def research(order: Order, console: Console) -> int:
    """Bring in the documents, start the run, follow it and deliver; return the exit code."""
    with gateway(console) as client:
        policy = _sources(client, order, console)
        request = order.request.model_copy(update={"source_policy": policy})
        ended = _carry_out(client, client.create_run(request), console)
        return _deliver(client, ended, order, console)


def _sources(client: LeadlineClient, order: Order, console: Console) -> SourcePolicy:
    """Return what the run may use: documents and web as they were named, or else all documents there are."""
    gathered, asked = order.documents, order.request.source_policy
    if gathered.found:
        settled = library.settle(client, gathered, console)
        _say(console, settled.failed_line())
        if not settled.ready:
            raise CliError("None of the documents could be read: name others with --docs.")
        return asked.model_copy(update={"document_ids": tuple(d.document_id for d in settled.ready)})
    if names_sources(asked) or is_managed(order.request.engine):
        return asked
    if not any(document.status == "ready" for document in client.documents()):
        raise CliError(NO_DOCUMENTS)
    return asked.model_copy(update={"documents_all": True})


def _carry_out(client: LeadlineClient, started: Run, console: Console) -> Run:
    """Follow the run to its end, with its approval on the way, and return it."""
    tally = Tally()
    with _cancelled_on_interrupt(client, started.run_id, console):
        console.say(f"Run {started.run_id}")
        for event in client.events(started.run_id):
            tally.add(event)
            while tally.notes:
                console.say(tally.notes.pop(0))
            _show(tally, event, console)
            asked = event.type == "status_changed" and event.payload.get("to") == "awaiting_plan_approval"
            if asked:
                _decide(client, started.run_id, console)
        return client.run(started.run_id)


def _show(tally: Tally, event: Event, console: Console) -> None:
    """Say how far the run is: ever anew in one line where that is possible, else at each new phase."""
    if console.live:
        console.status(tally.line())
    elif (news := tally.news(event)) is not None:
        console.say(news)


def _decide(client: LeadlineClient, run_id: str, console: Console) -> None:
    """Show the plan and ask for its approval; no answer is a no."""
    run = client.run(run_id)
    if run.status != "awaiting_plan_approval" or run.plan is None:
        return
    for line in plan_lines(run.plan):
        console.say(line)
    if console.ask("Go ahead? [y/N]").lower() in ("y", "yes"):
        client.act(run_id, ControlRequest(action="approve_plan", expected_version=run.plan_version))
    else:
        client.act(run_id, ControlRequest(action="cancel"))


@contextmanager
def _cancelled_on_interrupt(client: LeadlineClient, run_id: str, console: Console) -> Iterator[None]:
    """Cancel the run when the user interrupts the block."""
    try:
        yield
    except KeyboardInterrupt:
        console.status("Cancelling")
        try:
            client.act(run_id, ControlRequest(action="cancel"))
        except (ClientError, Unreachable) as error:
            console.say(f"Run {run_id} could not be cancelled: {error}")
        else:
            console.say(f"Run {run_id} is cancelled.")
        raise


def _deliver(client: LeadlineClient, ended: Run, order: Order, console: Console) -> int:
    """Print or write the report and the bundle, or say why there is none; return the exit code."""
    code = code_of(ended.status, ended.stop_reason)
    if code == FAILED or not ended.report_version:
        why = ended.last_error or ended.stop_reason or "no reason is recorded"
        console.say(f"Run {ended.run_id} ended {ended.status}: {why}")
        return code
    code = code_of_answers(code, Report.model_validate_json(client.rendered(ended.run_id, "json")))
    content = client.rendered(ended.run_id, "json" if order.as_json else "md")
    if order.as_json:
        content = as_printed(content)
    if order.report_file is None:
        printed(console, content)
    else:
        write_whole(order.report_file, content, f"get the report with `leadline report {ended.run_id}`")
        console.say(f"The report of run {ended.run_id} is in {order.report_file}.")
    if order.bundle_file is not None:
        again = f"get it with `leadline report {ended.run_id} --format bundle -o FILE`"
        write_whole(order.bundle_file, client.rendered(ended.run_id, "bundle"), again)
        console.say(f"The bundle is in {order.bundle_file}; `leadline verify {order.bundle_file}` checks it.")
    _say(console, _shortcoming(code, ended))
    return code


def _shortcoming(code: int, ended: Run) -> str | None:
    """Return in what a report falls short, None for one that answers everything."""
    if code == NOTHING_FOUND:
        return "Nothing was found that answers the question; the report says what is missing."
    if code != PARTIAL:
        return None
    if ended.status == "completed":
        return "Not every question is answered; the report says which."
    return f"The report is partial: the run ended early ({ended.stop_reason})."


def _say(console: Console, line: str | None) -> None:
    if line is not None:
        console.say(line)
