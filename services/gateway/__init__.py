"""The gateway: the HTTP API over the ledger; it validates, asks for writes, answers queries and streams events."""
