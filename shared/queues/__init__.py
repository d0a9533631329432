"""The way from a wake-up to a committed outcome: Celery, the runner and the sweeper."""
