"""A body as it comes in, piece by piece."""

from sale_sofia.resilience.errors import BodyTooLarge


class Body:
    """Collects a decompressed body; curl stops at once when it outgrows its limit, also in a gzip bomb."""

    __slots__ = ("_limit", "_parts", "_size", "url")

    def __init__(self, url: str, limit: int) -> None:
        self.url = url
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] = []

    def write(self, chunk: bytes) -> int:
        """Take one piece, as curl's write callback."""
        self._size += len(chunk)
        if self._size > self._limit:
            raise BodyTooLarge(f"{self.url}: more than {self._limit} bytes")
        self._parts.append(chunk)
        return len(chunk)

    def whole(self) -> bytes:
        """All pieces together."""
        return b"".join(self._parts)
