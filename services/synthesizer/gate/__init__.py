"""The citation gate: pure checks that decide which drafted sentences may stand in a report."""
