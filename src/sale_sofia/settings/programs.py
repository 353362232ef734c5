"""Our own modules as processes of their own."""

import atexit
import gc
import sys


def own_program(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of ours, with what is installed and nothing else.

    Left to itself Python looks first in the folder it is started in, where another user's modules may lie.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def end_at_once() -> None:
    """Called by a program: at its end nothing looks for garbage among all that it has imported.

    That would last a third of a second, and the system takes back all memory anyway.
    """
    atexit.register(gc.freeze)
