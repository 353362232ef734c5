"""Running our own modules as processes."""

import atexit
import gc
import os
import sys

from sale_sofia.crawl.settings import COLLECTOR_THRESHOLDS


def own_program(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of ours, importing only what is installed.

    By default Python imports from the current folder first, where another user's modules may lie.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def start_quickly() -> None:
    """Reduce garbage collection during imports; called by a program before it imports the rest.

    Also keeps pydantic from searching all installed packages for plugins, of which we use none.
    """
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def end_at_once() -> None:
    """Skip garbage collection at the end of a program.

    It would take a third of a second, and the system frees all memory anyway.
    """
    atexit.register(gc.freeze)
