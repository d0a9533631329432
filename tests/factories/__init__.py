"""Makers of values for tests."""
