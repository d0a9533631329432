"""The embedded stack: PostgreSQL, Valkey and every service as processes of one supervisor, for one home folder."""
