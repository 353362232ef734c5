"""Memory that is left to the rest of the process while very many objects are made that live on."""

import resource
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from sale_sofia.config.insights import MEMORY_LOOKED_AT, MEMORY_SPARED

T = TypeVar("T")
_SIZES: Final = Path("/proc/self/statm")


def sparing(many: Iterable[T]) -> Iterator[T]:
    """The same, as long as the limit on the process's memory is not near.

    Raises:
        MemoryError: it is. What is left is for those who tell people so: even a thread needs some.
    """
    for number, one in enumerate(many):
        if number % MEMORY_LOOKED_AT == 0 and _bytes_left() < MEMORY_SPARED:
            raise MemoryError("the limit on this process's memory is near")
        yield one


def _bytes_left() -> float:
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY or not _SIZES.exists():
        return float("inf")
    return most - int(_SIZES.read_text("ascii").split()[0]) * resource.getpagesize()
