"""Whether pages that need JavaScript can be read: where a browser is, and what the settings say about it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

from shared.config.settings import Settings

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
"""Commands under which systems install a Chromium."""


def find_browser(settings: Settings) -> Path | None:
    """Return the program of the browser on this machine; None without one, without Playwright, or with it turned off.

    Playwright is the extra ``browser``: ``pip install 'leadline[browser]'``.
    """
    if settings.browser == "off" or find_spec("playwright") is None:
        return None
    wanted = (str(settings.browser_path),) if settings.browser_path else NAMES
    found = next(filter(None, map(shutil.which, wanted)), None)
    return Path(found) if found else None


def renders_here(settings: Settings) -> Path | None:
    """Return the browser that the ordinary fetch worker of this machine uses; None where a worker of its own does."""
    return find_browser(settings) if settings.browser == "auto" else None


def has_browser(settings: Settings) -> bool:
    """Tell whether pages that need JavaScript are handed to a browser, here or elsewhere."""
    return settings.browser == "on" or find_browser(settings) is not None
