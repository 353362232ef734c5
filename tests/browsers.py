"""A real Chromium for tests: the system's, installed where that is possible; else the test is skipped."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from sale_sofia.crawl.fetch.chromium import BrowserMissing, find_browser

OFF = "TESTS_INSTALL_NOTHING"
"""A variable by which a machine's owner keeps it as it is."""
_SHELL = "chromium-headless-shell"
"""The same engine without windows, menus and bars, which nobody sees here: half of the work for each page."""
_PATIENCE_SECONDS = 600


def quickest_chromium_or_skip() -> Path:
    """For tests of pages: the one without windows where it is here."""
    whole = chromium_or_skip()
    return Path(shutil.which(_SHELL) or whole)


@cache
def chromium_or_skip() -> Path:
    try:
        return find_browser(None)
    except BrowserMissing:
        _install()
    try:
        return find_browser(None)
    except BrowserMissing as reason:
        pytest.skip(str(reason))


def _install() -> None:
    """By one test process at a time, and tried once on this machine."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None or os.environ.get(OFF):
        return
    tried = Path(tempfile.gettempdir()) / "sale-sofia-tests-chromium"
    with tried.open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if lock.tell() == 0 and shutil.which("chromium") is None:
            lock.write("tried\n")
            lock.flush()
            _apt("update")
            _apt("install", "-y", "--no-install-recommends", "chromium")
            _apt("install", "-y", "--no-install-recommends", _SHELL)  # which not every system has


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
