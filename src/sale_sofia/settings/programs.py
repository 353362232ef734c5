"""Our own modules as processes of their own."""

import atexit
import gc
import os
import sys

from sale_sofia.crawl.settings import COLLECTOR_THRESHOLDS


def own_program(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours, with what is installed and nothing else.

    Left to itself Python looks first in the folder it is started in, where another user's modules may lie.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def start_quickly() -> None:
    """Called by a program before it imports the rest: nobody looks for garbage among it at every turn.

    Nor does pydantic look through all that is installed for plugins of its own, of which we use none.
    """
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def end_at_once() -> None:
    """Called by a program: at its end nothing looks for garbage among all that it has imported.

    That would last a third of a second, and the system takes back all memory anyway.
    """
    atexit.register(gc.freeze)
