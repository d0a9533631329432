"""The events of a run: as a list, or followed as a stream."""

import json

from flask import Blueprint, Response, request

from services.gateway import handlers
from services.gateway.api.exchange import JSON, read_query
from services.gateway.deps import Deps
from services.gateway.hub import Hub, Topic
from services.gateway.identity import current_holder, current_owner
from services.gateway.parameters import LARGEST_SEQ, EventsQuery
from services.gateway.problems import Busy
from services.gateway.sse import Listener, stream
from shared.domain.errors import Invalid
from shared.domain.ids import RunId

EVENT_STREAM = "text/event-stream"


def blueprint(deps: Deps, hub: Hub) -> Blueprint:
    """Return the route of events."""
    routes = Blueprint("events", __name__, url_prefix="/api/v1/research-runs/<run_id>")

    @routes.get("/events")
    def events(run_id: str) -> Response:
        query = read_query(request, EventsQuery)
        run = handlers.checked_run_id(run_id)
        if request.accept_mimetypes.best_match([JSON, EVENT_STREAM], JSON) == EVENT_STREAM:
            return _followed(deps, hub, run, _last_event_id(request.headers.get("Last-Event-ID"), query.after))
        return _listed(deps, run, query)

    return routes


def _last_event_id(header: str | None, after: int) -> int:
    """Return the sequence number after which to begin: that of the header, which a reconnecting client adds, wins."""
    if header is None or header == "":
        return after
    if not (header.isascii() and header.isdigit() and len(header) < 16) or int(header) > LARGEST_SEQ:
        raise Invalid("The header Last-Event-ID must be the id of an event: a whole number.", field="Last-Event-ID")
    return int(header)


def _followed(deps: Deps, hub: Hub, run_id: RunId, after: int) -> Response:
    run = deps.reads.run(current_owner(), run_id)
    if not hub.has_room():
        raise Busy(f"{deps.limits.max_streams} event streams are open, as many as this server takes: try again soon.")
    listener = Listener(Topic(current_owner(), run_id), after, current_holder().key_id)
    if request.method == "HEAD":
        return Response(content_type=EVENT_STREAM)
    frames = stream(deps, hub, listener, run.last_seq)
    return Response(frames, content_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})


def _listed(deps: Deps, run_id: RunId, query: EventsQuery) -> Response:
    found = deps.reads.events(current_owner(), run_id, query.after, query.limit)
    body = {"events": [event.as_data() for event in found], "last_seq": found[-1].seq if found else query.after}
    return Response(json.dumps(body), content_type=JSON)
