"""Models' providers on loopback: real HTTP in the formats of `model_wires`; the modes are names of models.

`scripted` answers honestly; `obedient` does what any text asks for; `hostile` gives
the worst that the form of an answer allows; `wanting` never has
enough to write from; `malformed-…` spoils the form of an honest answer;
`fake-…` behaves as providers do when they cannot or will not answer. Every call is counted, and ``GET /counts`` tells
the counts.
"""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support import obedient_model
from tests.support.model_wires import Fault, Said, Wire, Written, wire_of
from tests.support.scripted_model import answer

PROVIDER_KEY = "sk-secret-of-the-test-91c2"
"""The key that tests give to clients of this provider; it asks for none."""

_MODE = re.compile(r"(?:^|-)(malformed|fake)-(.+)$")
HUGE = 20_000_000
PATIENCE_S = 60.0
"""How long a call that is never answered, or held back by a test, is kept at most."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as the server saw it; tokens are 0 when it gave none."""

    model: str
    schema: str
    prompt_sha256: str
    body: dict[str, Any]
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    answered: bool = True


@dataclass
class ModelServer:
    """A running server; ``calls`` holds every call in the order of its arrival."""

    address: str
    calls: list[Asked] = field(default_factory=list)
    held: Callable[[Asked], bool] = lambda _: False
    given: str = ""
    """What a model whose name ends with ``fake-given`` answers, whatever it is asked."""
    latency_s: float = 0.0
    """How long an answer takes at least."""
    waiting: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    prefixes: set[str] = field(default_factory=set)

    @property
    def base_url(self) -> str:
        """The address to give to clients of OpenAI's format; those of the others take ``address``."""
        return f"{self.address}/v1"

    def counts(self) -> dict[str, Any]:
        """Return the totals of answered calls: in all, and by what was asked for."""
        with self.lock:
            answered = [c for c in self.calls if c.answered]
            by_schema: dict[str, Counter[str]] = {}
            for call in answered:
                by_schema.setdefault(call.schema, Counter()).update(_figures(call))
            total: Counter[str] = Counter({"calls": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0})
            for counted in by_schema.values():
                total.update(counted)
            return {**total, "refused": len(self.calls) - len(answered), "by_schema": by_schema}

    def hold(self, held: Callable[[Asked], bool]) -> None:
        """Hold back the calls for which ``held`` is true until `release`; ``waiting`` counts them."""
        self.waiting = 0
        self.released.clear()
        self.held = held

    def release(self) -> None:
        """Answer what was held back, and hold nothing back any more."""
        self.held = lambda _: False
        self.released.set()

    def note(self, call: Asked) -> None:
        """Count a call."""
        with self.lock:
            self.calls.append(call)

    def cached(self, prefix: str) -> bool:
        """Tell whether a prefix was seen before, and remember it."""
        with self.lock:
            seen = prefix in self.prefixes
            self.prefixes.add(prefix)
            return seen


def _figures(call: Asked) -> dict[str, int]:
    return {
        "calls": 1,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "cached_tokens": call.cached_tokens,
    }


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Yield a server that is stopped afterwards."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    http.daemon_threads = True
    http.server = server = ModelServer(f"http://127.0.0.1:{http.server_port}")  # type: ignore[attr-defined]
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), name="model-server")
    thread.start()
    try:
        yield server
    finally:
        server.release()
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Stay silent."""

    @property
    def told(self) -> ModelServer:
        """The server's state."""
        state: ModelServer = self.server.server  # type: ignore[attr-defined]
        return state

    def do_GET(self) -> None:
        """Tell the counts."""
        self._send(200, json.dumps(self.told.counts()).encode())

    def do_POST(self) -> None:
        """Answer a call as its model's name says."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wire = wire_of(self.path.partition("?")[0])
        said = wire.read(self.path.partition("?")[0], body)
        call = _asked(said, body)
        if self.told.held(call):
            self.told.waiting += 1
            self.told.released.wait(PATIENCE_S)
        kind, mode = _mode_of(said.model)
        if kind == "fake" and self._fake(mode, wire, said, call):
            return
        self._complete(wire, said, call, MALFORMED.get(mode, _as_is) if kind == "malformed" else _as_is)

    def _complete(self, wire: Wire, said: Said, call: Asked, spoil: Callable[[str, Said], "Spoiled"]) -> None:
        given = self.told.given if said.model.endswith("fake-given") else None
        made = _ANSWERING.get(said.model.rpartition("-")[2], answer)
        spoiled = spoil(made(said.schema, said.user), said) if given is None else Spoiled(given)
        used = _tokens(" ".join(said.texts))
        cached = _tokens(said.system) if self.told.cached(f"{said.model}\n{said.system}") else 0
        output = _tokens(spoiled.content)
        self.told.note(_with(call, used, output, cached))
        self.told.closing.wait(self.told.latency_s)
        written = Written(spoiled.content, spoiled.finish, used, output, cached, empty=not spoiled.choices)
        self._send(200, spoiled.raw or json.dumps(wire.answer(said, written)).encode(), spoiled.mime)

    def _fake(self, mode: str, wire: Wire, said: Said, call: Asked) -> bool:
        """Behave as the mode says; False when an honest answer is to follow."""
        if mode == "no-schema" and said.form == "prompt":
            return False
        if mode == "filter" and FORBIDDEN not in said.user:
            return False
        if mode in REFUSALS:
            fault, headers = REFUSALS[mode](self.headers.get(wire.key_header, "").removeprefix("Bearer "))
            status, told = wire.fault(fault)
            self.told.note(_with(call, 0, 0, 0, answered=False))
            self._send(status, json.dumps(told).encode(), headers=headers)
            return True
        if mode in ("slow", "loris"):
            self.told.note(_with(call, 0, 0, 0, answered=False))
            self._dawdle(bytes_too=mode == "loris")
            return True
        return False

    def _dawdle(self, *, bytes_too: bool) -> None:
        """Never finish: send nothing after the headers, or one byte at a time."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.close_connection = True
        for _ in range(int(PATIENCE_S / 0.05)):
            if self.told.closing.wait(0.05):
                return
            if bytes_too:
                try:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                except OSError:
                    return

    def _send(
        self, status: int, data: bytes, mime: str = "application/json", headers: dict[str, str] | None = None
    ) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", mime)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # the client has gone, which some modes make it do
            self.close_connection = True


def _wanting(schema: str, prompt: str) -> str:
    """Answer honestly, and as a writer ask for one more search."""
    made = json.loads(answer(schema, prompt))
    if schema == "SectionText":
        made["missing"] = [{"question": 1, "query": WANTED_QUERY}]
    return json.dumps(made, ensure_ascii=False)


WANTED_QUERY = "dredger crane schedule"
_ANSWERING: dict[str, Callable[[str, str], str]] = {
    "obedient": obedient_model.answer,
    "hostile": obedient_model.hostile,
    "wanting": _wanting,
}


def _mode_of(model: str) -> tuple[str, str]:
    """Return how a model of this name behaves; a name that its provider's client knows may stand before it."""
    found = _MODE.search(model)
    return (found[1], found[2]) if found else ("", "")


def _asked(said: Said, body: dict[str, Any]) -> Asked:
    prompt = json.dumps([said.texts, said.schema, said.form])
    return Asked(said.model, said.schema, hashlib.sha256(prompt.encode()).hexdigest(), body)


def _with(call: Asked, used: int, output: int, cached: int, *, answered: bool = True) -> Asked:
    return Asked(call.model, call.schema, call.prompt_sha256, call.body, used, output, cached, answered)


def _tokens(text: str) -> int:
    """Count words, which is what this provider bills."""
    return len(text.split())


@dataclass(frozen=True, slots=True)
class Spoiled:
    """An answer on its way out: what a mode made of it."""

    content: str
    finish: str = "stop"
    choices: bool = True
    raw: bytes | None = None
    mime: str = "application/json"


def _as_is(text: str, _: Said) -> Spoiled:
    return Spoiled(text)


def _once(text: str, said: Said) -> Spoiled:
    """Be wrong until the answer is shown to be wrong."""
    return Spoiled(text if said.repairs else '{"nothing": "of this"}')


def _thinking(text: str, said: Said) -> Spoiled:
    """Think for longer than a small room allows, and say nothing."""
    return Spoiled(text) if said.room > THOUGHT_TOKENS else Spoiled("", finish="length")


THOUGHT_TOKENS = 4000
FORBIDDEN = "Quarantine notice"
"""What a model whose name ends with ``fake-filter`` takes no text with."""


MALFORMED: dict[str, Callable[[str, Said], Spoiled]] = {
    "prose": lambda t, _: Spoiled(f"Sure, here is what you asked for (with {{braces}}):\n\n{t}\n\nLet me know!"),
    "fence": lambda t, _: Spoiled(f"```json\n{t}\n```"),
    "think": lambda t, _: Spoiled(f'<think>Is it {{"a": 1}}? No.</think>{t}'),
    "thought-tail": lambda t, _: Spoiled(f'so {{"a": 1}} it is.</think>\n{t}'),
    "extra": lambda t, _: Spoiled(f"{t}{{}}"),
    "missing-key": lambda _, __: Spoiled('{"search_terms": ["a"]}'),
    "once": _once,
    "thinking": _thinking,
    "truncated": lambda t, _: Spoiled(t[: len(t) // 2], finish="length"),
    "cut": lambda t, _: Spoiled(t[: len(t) // 2]),
    "refused": lambda _, __: Spoiled("", finish="content_filter"),
    "nan": lambda t, _: Spoiled(t.replace("{", '{"a": NaN, ', 1)),
    "bigint": lambda t, _: Spoiled(t.replace("{", f'{{"a": 1{"0" * 400}, ', 1)),
    "twice": lambda t, _: Spoiled(t.replace("{", '{"a": 1, "a": 2, ', 1)),
    "deep": lambda t, _: Spoiled(t.replace("{", f'{{"a": {"[" * 20_000}{"]" * 20_000}, ', 1)),
    "latex": lambda t, _: Spoiled(t.replace("{", r'{"a": "attention \upcite{ref6}", ', 1)),
    "nothing": lambda _, __: Spoiled(""),
    "empty": lambda t, _: Spoiled(t, choices=False),
    "html": lambda t, _: Spoiled(t, raw=b"<html><body>Bad gateway</body></html>", mime="text/html"),
    "no-json": lambda t, _: Spoiled(t, raw=b"upstream said no"),
    "other-shape": lambda t, _: Spoiled(t, raw=b'{"choices": [7], "usage": []}'),
    "huge": lambda t, _: Spoiled(t, raw=b'{"choices": "' + b" " * HUGE + b'"}'),
}

Refusal = tuple[Fault, dict[str, str]]


def _in_a_minute() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)


def _refuse(kind: str, message: str, **headers: str) -> Callable[[str], Refusal]:
    return lambda _: (Fault(kind, message), {name.replace("_", "-"): value for name, value in headers.items()})


REFUSALS: dict[str, Callable[[str], Refusal]] = {
    "429": _refuse("rate", "Slow down.", Retry_After="3"),
    "429-date": lambda _: (Fault("rate", "Slow down."), {"Retry-After": _in_a_minute()}),
    "429-bare": _refuse("rate", "Slow down."),
    "500": _refuse("server", "The server had an error."),
    "503": _refuse("overloaded", "Overloaded."),
    "503-wait": _refuse("overloaded", "Overloaded.", Retry_After="4"),
    "401": lambda sent: (Fault("key", f"Incorrect API key provided: {sent}"), {}),
    "402": _refuse("credit", "You exceeded your current quota."),
    "404": _refuse("unknown", "The model `fake-404` does not exist."),
    "context": _refuse("context", "The maximum context length is 10 tokens."),
    "filter": _refuse("request", "The prompt was filtered by the content policy."),
    "400": _refuse("request", "Unknown field."),
    "no-schema": _refuse("request", "response_format is not supported."),
    "moved": _refuse("moved", "Over there.", Location="http://127.0.0.1:1/v1/chat/completions"),
}
