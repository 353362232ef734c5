"""Keeps rendered pages, as many as fit in the memory that was given."""

from collections import OrderedDict
from collections.abc import Callable, Hashable


class PageCache:
    """Least recently used bodies go first; together they never hold more than `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._bodies: OrderedDict[Hashable, bytes] = OrderedDict()

    def get(self, key: Hashable, render: Callable[[], bytes]) -> bytes:
        """The kept body, or a new one."""
        body = self._bodies.get(key)
        if body is None:
            return self._keep(key, render())
        self._bodies.move_to_end(key)
        return body

    def clear(self) -> None:
        """Forgets everything: the pages have changed."""
        self._bodies.clear()
        self._size = 0

    def _keep(self, key: Hashable, body: bytes) -> bytes:
        self._bodies[key] = body
        self._size += len(body)
        while self._size > self._capacity:
            self._size -= len(self._bodies.popitem(last=False)[1])
        return body
