"""Pages that need JavaScript: a browser of their own for each, in a process of its own, behind a judging proxy."""
