"""Python's garbage collector, held back while very many objects are made that live on."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SWITCH: Final = threading.Lock()
"""It is looked at and switched in one go: else two threads could leave it off, each for the other's sake."""


@contextmanager
def no_collecting() -> Iterator[None]:
    """Very many objects are made, none in circles; to look for such takes a quarter of the time or more."""
    with _SWITCH:
        was = gc.isenabled()
        gc.disable()
    try:
        yield
    finally:
        with _SWITCH:
            if was:
                gc.enable()
