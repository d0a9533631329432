"""What a provider's research job is asked. Version 1; the same run asks it in the same words."""

from collections.abc import Sequence

from shared.contracts.plan import Plan
from shared.contracts.runs import SourcePolicy

INSTRUCTIONS = """\
Research the question on the web and write a report that answers it.
Write plain sentences of one fact each, under a heading for each question. Do not use tables.
Cite the page of every sentence of fact right there, with its own address. Leave out what you cannot cite.
Write figures, dates and names as the cited pages have them, and stay close to their words.
Where pages disagree, say so and cite both. Do not ask back: decide what is meant, and go on."""


def job_input(plan: Plan, policy: SourcePolicy, *, today: str, as_of: str | None, language: str | None) -> str:
    """Return what changes from run to run: the plan's questions, and which pages may be used."""
    lines = [f"Question: {plan.objective}"]
    if len(plan.questions) > 1 or plan.questions[0].text != plan.objective:
        lines += ["", "Answer these:", *(f"- {q.text}" for q in plan.questions)]
    lines += ["", f"Today is {today}."]
    if as_of:
        lines.append(f"Answer as of {as_of}; use nothing that was published later.")
    if language:
        lines.append(f"Write in the language {language}.")
    lines += _pages(policy)
    return "\n".join(lines)


def _pages(policy: SourcePolicy) -> Sequence[str]:
    domains, excluded, published = policy.web.domains, policy.web.excluded_domains, policy.published
    told = []
    if domains and policy.web_mode == "only_domains":
        told.append(f"Use pages of these domains only: {', '.join(domains)}.")
    if domains and policy.web_mode == "prefer_domains":
        told.append(f"Use pages of these domains first: {', '.join(domains)}.")
    if excluded:
        told.append(f"Use no page of these domains: {', '.join(excluded)}.")
    if published.since:
        told.append(f"Use no page that was published before {published.since}.")
    if published.to:
        told.append(f"Use no page that was published after {published.to}.")
    return told
