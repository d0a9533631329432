"""Versioned pydantic models of everything that crosses a process or is stored as JSON."""
