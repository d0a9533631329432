"""A worker process: a Celery consumer of its queues whose only task hands the step to the runner."""

import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery
from celery.signals import heartbeat_sent, worker_shutting_down

from shared.domain.ids import StepId
from shared.queues.celery_app import TASK, WorkerLimits


@dataclass(frozen=True, slots=True)
class Worker:
    """What a worker process is made of: ``run`` a step, ``give_up`` what still runs, ``close`` what it holds.

    It is named after ``queue`` and consumes ``queues``.

    ``give_up`` returns how many steps it has handed back; their threads still run. ``beat`` is called every few seconds
    while the consumer hears the broker, ``stop`` as soon as it is told to end: nothing is to be begun any more.
    """

    queue: str
    queues: tuple[str, ...]
    run: Callable[[StepId], object]
    give_up: Callable[[], int]
    close: Callable[[], None]
    beat: Callable[[], None] = lambda: None
    stop: Callable[[], None] = lambda: None


def worker_name(queue: str) -> str:
    """Return a name that tells this process from every other worker."""
    return f"{queue}.{os.getpid()}@{socket.gethostname()}"


def serve(app: Celery, worker: Worker, limits: WorkerLimits, log_level: str) -> None:
    """Consume the worker's queues until SIGTERM or SIGINT.

    On a signal no further step is taken; running steps have ``limits.stop_grace_s`` seconds to end, then they are
    handed back and the process ends. However Celery ends, no step keeps the process from ending.
    """

    def step(step_id: str) -> None:
        worker.run(StepId(step_id))

    app.task(step, name=TASK)
    overtime = threading.Timer(limits.stop_grace_s, _end, args=(worker.give_up,))
    overtime.daemon = True

    def stopping(**_: object) -> None:
        worker.stop()
        if not overtime.is_alive():  # a second signal does not prolong the grace
            overtime.start()

    def beating(**_: object) -> None:
        worker.beat()

    worker_shutting_down.connect(stopping)
    heartbeat_sent.connect(beating)
    try:
        app.worker_main(_arguments(app, worker, limits.threads, log_level))
    finally:
        left = worker.give_up()
        worker.close()
        overtime.cancel()
        if left:
            os._exit(0)  # the interpreter would wait for their threads


def _arguments(app: Celery, worker: Worker, threads: int, log_level: str) -> list[str]:
    arguments = ["worker", "--pool=threads", f"--concurrency={threads}", f"--queues={','.join(worker.queues)}"]
    arguments += ["--without-gossip", "--without-mingle"]
    arguments += [f"--hostname={worker_name(worker.queue)}", f"--loglevel={log_level}"]
    if app.conf.broker_url.startswith("redis"):
        arguments.append("--disable-prefetch")
    return arguments


def _end(give_up: Callable[[], int]) -> None:
    """Hand back what still runs and end the process: its threads cannot be stopped in any other way."""
    try:
        give_up()
    finally:
        os._exit(0)
