"""A real Chromium for tests: the system's, installed where that is possible; else the test is skipped.

Run as a program it installs what is missing, so that a run of tests need not begin with waiting for it.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from sale_sofia.crawl.fetch.chromium import BrowserMissing, find_browser

OFF = "TESTS_INSTALL_NOTHING"
"""A variable by which a machine's owner keeps it as it is."""
_WHOLE = "chromium"
_SHELL = "chromium-headless-shell"
"""The same engine without windows, menus and bars, which nobody sees here: half of the work for each page."""
_PATIENCE_SECONDS = 600


def quickest_chromium_or_skip() -> Path:
    """For tests of pages: the one without windows where it is here."""
    whole = chromium_or_skip()
    return Path(shutil.which(_SHELL) or whole)


@cache
def chromium_or_skip() -> Path:
    install_missing()
    try:
        return find_browser(None)
    except BrowserMissing as reason:
        pytest.skip(str(reason))


def install_missing() -> None:
    """By one process at a time, tried once on this machine: not every system has the one without windows."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None or os.environ.get(OFF):
        return
    with (Path(tempfile.gettempdir()) / "sale-sofia-tests-browsers").open("a+") as tried:
        fcntl.flock(tried, fcntl.LOCK_EX)
        missing = [name for name in (_WHOLE, _SHELL) if shutil.which(name) is None and not _has_browser(name)]
        if missing and tried.tell() == 0:
            tried.write("tried\n")
            tried.flush()
            _apt("update")
            for name in missing:
                _apt("install", "-y", "--no-install-recommends", name)


def _has_browser(name: str) -> bool:
    """Any whole browser will do."""
    with suppress(BrowserMissing):
        return name == _WHOLE and find_browser(None).exists()
    return False


def _apt(*words: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(
        ["apt-get", *words],  # noqa: S607 - wherever it is
        env=quiet,
        capture_output=True,
        check=False,
        timeout=_PATIENCE_SECONDS,
        stdin=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    install_missing()
