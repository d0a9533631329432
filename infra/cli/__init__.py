"""The `leadline` command: ask, follow, read and verify research from a terminal. Loads as little as each call needs."""
