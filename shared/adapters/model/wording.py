"""The words that the program itself adds to a call."""

ONLY_JSON = """\
Answer with one JSON object and nothing else: no text around it, no code fence. It has to fit this JSON schema:
{schema}"""
"""Ends the instructions where the endpoint has no structured output of its own."""

REPAIR = """\
That answer cannot be used: {fault}.
Give the whole answer again as one JSON object that fits the schema, and nothing else."""
"""Follows an answer that did not validate; there is no second one."""
