"""Logs and, later on, figures about the system itself."""
