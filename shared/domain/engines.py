"""What engines have in common, by name."""

NO_MODEL = frozenset({"extractive"})
"""Engines that ask no model: words are weighed by how common they are, every verdict can be repeated, nothing costs."""
