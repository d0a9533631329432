"""Checking a bundle offline: its container, its manifest, its rows, and that they agree with each other."""
