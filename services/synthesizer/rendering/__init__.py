"""Renderings of a report: Markdown, HTML and the bundle, each made from the report and its rows alone."""

RENDERER_VERSION = "2"
"""Version of the Markdown and HTML; the same version makes the same bytes of the same report."""
