"""Searching the web: one contract, one file per provider, and the choice among what they find."""
