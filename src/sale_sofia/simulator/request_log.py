"""The simulator's own record of who asked for what and when: one JSON object a line."""

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_EPOCH = time.time() - time.monotonic()


def now() -> float:
    """Seconds since the epoch that never go backwards."""
    return _EPOCH + time.monotonic()


class RequestLog:
    """Appends. A line is in the file when `add` returns, so whoever has an answer finds its request there."""

    def __init__(self, path: Path | None) -> None:
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered: a line is in the file at once, and the lines of two writers do not mix.
        self._file = path.open("ab", buffering=0) if path else None

    def add(self, **fields: Any) -> None:  # noqa: ANN401 - any JSON
        """Write down one request; one that is cut off by the portal's own end is nobody's any more."""
        if self._file and not self._file.closed:
            self._file.write((json.dumps(fields, ensure_ascii=False) + "\n").encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()
