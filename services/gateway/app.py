"""The gateway as a WSGI application, made from what it is given."""

from typing import cast

from flask import Flask

from services.gateway import doors, identity, measuring, problems
from services.gateway.api import capabilities, documents, events, health, plan, reference, report, runs, sources
from services.gateway.deps import Deps, Limits
from services.gateway.hub import Hub
from services.gateway.pages import errors, login, views

__all__ = ["Deps", "Limits", "create_app", "hub_of"]

_HUB = "leadline.hub"


def create_app(deps: Deps) -> Flask:
    """Return the application; nothing is connected or started before the first request."""
    app = Flask("leadline", static_folder=None)
    app.url_map.strict_slashes = True
    hub = Hub(deps)
    app.extensions[_HUB] = hub
    measuring.install(app, deps.observer)
    problems.install(app, deps.outages)
    doors.install(app, loopback_only=deps.loopback_only)
    errors.install(app)
    identity.install(app, deps.keys, deps.local_owner)
    for blueprint in (
        runs.blueprint(deps),
        plan.blueprint(deps),
        events.blueprint(deps, hub),
        sources.blueprint(deps),
        report.blueprint(deps),
        documents.blueprint(deps),
        capabilities.blueprint(deps),
        health.blueprint(deps, hub),
        reference.blueprint(),
        views.blueprint(deps),
        login.blueprint(deps),
    ):
        app.register_blueprint(blueprint)
    return app


def hub_of(app: Flask) -> Hub:
    """Return the register of event streams of an application."""
    return cast(Hub, app.extensions[_HUB])
