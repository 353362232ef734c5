"""Python's garbage collector, held back while very many objects are made that live on."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collecting() -> Iterator[None]:
    """Very many objects are made, none in circles; to look for such takes a quarter of the time or more."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
