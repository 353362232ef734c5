"""The simulator's own record of who asked for what and when: one JSON object a line."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

FLUSH_SECONDS = 0.2
_EPOCH = time.time() - time.monotonic()


def now() -> float:
    """Seconds since the epoch that never go backwards."""
    return _EPOCH + time.monotonic()


class RequestLog:
    """Appends; a line is on disk `FLUSH_SECONDS` after its request at the latest while `run` runs."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lines: list[str] = []
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()

    def add(self, **fields: Any) -> None:  # noqa: ANN401 - any JSON
        """Notes one request."""
        if self._path:
            self._lines.append(json.dumps(fields, ensure_ascii=False))

    def flush(self) -> None:
        """Writes what is noted."""
        if not self._path or not self._lines:
            return
        text, self._lines = "\n".join(self._lines) + "\n", []
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text)

    async def run(self) -> None:
        """Flushes until cancelled, and once more then."""
        try:
            while True:
                await asyncio.sleep(FLUSH_SECONDS / 2)
                self.flush()
        finally:
            self.flush()
