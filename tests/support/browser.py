"""Chromium for tests: started without its background traffic, and watched for everything that a page must not do."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE_MS = 30_000
NO_BROWSER = "no Chromium is installed: put `chromium` or `google-chrome` on the PATH"


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser; without one skip, or fail where everything has to be there (LEADLINE_CI)."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        if os.environ.get("LEADLINE_CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """A page and what went on in it: dialogs, errors, and requests to anywhere but this machine."""

    page: Page
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """Parts of error messages that the test itself brings about, such as a refused request."""

    def check(self) -> None:
        """Fail on a dialog, an unexpected error or a request that left this machine."""
        assert self.dialogs == []
        assert [e for e in self.errors if not any(part in e for part in self.expected)] == []
        assert [r for r in self.requests if urlsplit(r).hostname != "127.0.0.1"] == []


@contextmanager
def watched_page(browser: Browser, **context: Any) -> Iterator[Watched]:
    """Yield a page of a fresh profile, and check it at the end."""
    made = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **context})
    made.set_default_timeout(PATIENCE_MS)
    page = made.new_page()
    watched = Watched(page)

    def dismiss(dialog: Any) -> None:
        if dialog.type != "beforeunload":
            watched.dialogs.append(dialog.message)
        dialog.accept()

    page.on("dialog", dismiss)
    page.on("pageerror", lambda error: watched.errors.append(f"exception: {error}"))
    page.on("console", lambda message: message.type == "error" and watched.errors.append(message.text))
    page.on("request", lambda request: watched.requests.append(request.url))
    try:
        yield watched
        watched.check()
    finally:
        made.close()
