"""What the services need, said as Protocols; adapters that provide it live in ``db``, ``events`` and ``adapters``."""
