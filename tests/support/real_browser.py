"""The Chromium of this machine for the product's own browser tier."""

import os
from pathlib import Path

import pytest

from shared.config.browser import find_browser
from shared.config.settings import Settings

NO_BROWSER = "no Chromium is installed: put `chromium` or `google-chrome` on the PATH"


def browser_program() -> Path:
    """Return the program; without one skip, or fail where everything has to be there (LEADLINE_CI)."""
    found = find_browser(Settings(browser="auto"))
    if found is None:
        if os.environ.get("LEADLINE_CI"):
            pytest.fail(NO_BROWSER)
        pytest.skip(NO_BROWSER)
    return found
