"""Reading the commands in what a Redis client sends, however it is cut into pieces."""

from collections.abc import Iterator


class Requests:
    """The commands of one connection, in order, as their bytes come in."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[str]:
        """Names of the commands that are whole now, in capitals."""
        self._rest += data
        while (end := _end_of_request(self._rest)) is not None:
            request, self._rest = self._rest[:end], self._rest[end:]
            yield request.split(b"\r\n")[2].decode("ascii", "replace").upper()


def _end_of_request(data: bytes) -> int | None:
    """Where the first request (`*2 $3 GET $1 a`, a line end behind each) ends; None when it is not whole."""
    position = data.find(b"\r\n") + 2
    if position < 2:
        return None
    for _ in range(int(data[1 : position - 2])):
        line_end = data.find(b"\r\n", position)
        if line_end < 0:
            return None
        position = line_end + 2 + int(data[position + 1 : line_end]) + 2
    return position if position <= len(data) else None
