"""Plans and reports for tests that need any that is valid."""

from typing import Literal, cast

from shared.contracts.plan import Plan, PlannedSection, Question, SearchTask
from shared.contracts.report import Gap, Paragraph, Report, Section, Statement, VerificationSummary

DREDGED = Statement(id="st_1", kind="finding", text="The channel was dredged in 2021.", evidence_ids=("ev_1",))


def a_plan(objective: str = "When was the channel dredged?") -> Plan:
    """Return a plan with one question, one search and one section."""
    return Plan(
        title="The channel",
        objective=objective,
        questions=(Question(id="q1", text=objective[:2000]),),
        search_tasks=(SearchTask(question_ids=("q1",), query="channel dredged"),),
        writing_plan=(PlannedSection(id="s1", title="Dredging", question_ids=("q1",)),),
    )


def a_report(run_id: str, status: str = "completed") -> Report:
    """Return a report with one finding and one gap."""
    return Report(
        run_id=run_id,
        title="The channel",
        question="When was the channel dredged?",
        language="en",
        as_of=None,
        status=cast(Literal["completed", "budget_exhausted"], status),
        engine="extractive",
        short_answer=DREDGED,
        executive_summary=(),
        sections=(Section(id="s1", title="Dredging", blocks=(Paragraph(statements=(DREDGED,)),)),),
        contradictions=(),
        gaps=(Gap(question_id="q1", description="Nothing was found about who paid."),),
        methodology=(),
        citations=(),
        verification=VerificationSummary(
            statements=2, emitted=1, dropped=1, sentence_support_rate=0.5, citation_support_rate=0.5
        ),
    )
