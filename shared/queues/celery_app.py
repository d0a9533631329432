"""The Celery application: one task with one argument, for ever, so that old and new workers can run together."""

from dataclasses import dataclass

from celery import Celery

from shared.queues.redis_transport import use_mended_transport

TASK = "step"
VISIBILITY_TIMEOUT_S = 900


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How many steps a worker runs at once, and how long it may take to stop."""

    threads: int
    stop_grace_s: float


def build_app(name: str, broker_url: str) -> Celery:
    """Return an application without tasks: enough to send wake-ups. Settings as measured against this broker."""
    use_mended_transport()
    app = Celery(name, broker=broker_url, set_as_current=False)
    redis_options = {
        "visibility_timeout": VISIBILITY_TIMEOUT_S,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "socket_timeout": 5.0,
        "socket_connect_timeout": 2.0,
        "socket_keepalive": True,
        "health_check_interval": 10,
        "global_keyprefix": "leadline:",
    }
    app.conf.update(
        task_acks_late=True,
        task_ignore_result=True,
        task_reject_on_worker_lost=False,
        task_create_missing_queues=True,
        worker_prefetch_multiplier=1,
        # After a lost connection Celery would raise the prefetch count again from each thread that ends a task: two
        # threads then read the answer to one AMQP request, and the consumer waits for it for ever.
        worker_enable_prefetch_count_reduction=False,
        worker_eta_task_limit=100,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=True,
        task_send_sent_event=False,  # it names the task, not the kind, and monitors keep the name that comes last
        task_serializer="json",
        accept_content=["json"],
        result_backend=None,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # a worker waits for its broker for as long as it takes
        broker_connection_timeout=2.0,
        broker_transport_options=redis_options if broker_url.startswith("redis") else {},
        enable_utc=True,
    )
    return app
