"""Planted faults: each takes one safeguard out of a copy of the source, and the kill loop has to notice."""
