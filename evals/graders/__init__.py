"""Graders: pure functions that compare a report with what its case expects."""
