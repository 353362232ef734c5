"""Finds the system's Chromium, which an optional package drives."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from sale_sofia.crawl.fetch.settings import PROGRAMS


class BrowserMissing(ValueError):
    """There is no browser to use; the message says what is missing and how to install it."""


def find_browser(path: Path | None) -> Path:
    """The Chromium to use; `path` is what BROWSER_PATH names.

    Raises `BrowserMissing`: the extra or the program is not here.
    """
    if find_spec("playwright") is None:
        raise BrowserMissing("The package that drives the browser is missing; install `sale-sofia[browser]`.")
    if path is not None:
        if not path.is_file() or not os.access(path, os.X_OK):
            raise BrowserMissing(f"BROWSER_PATH: {path} is no program; a Chromium is wanted.")
        return path
    program = next((located for name in PROGRAMS if (located := shutil.which(name))), None)
    if program is None:
        raise BrowserMissing(
            "No Chromium in PATH; install the system's (`apt-get install chromium`) or set BROWSER_PATH."
        )
    return Path(program)
