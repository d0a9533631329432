"""Live progress over Redis: waiting for a run's channel. Publishing is an after-commit send of ``shared.queues``."""
