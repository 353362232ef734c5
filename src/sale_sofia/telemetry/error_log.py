"""The error log: one JSON line for each request that failed, with what debugging needs."""

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sale_sofia.crawl.resilience.errors import Action, CrawlError
from sale_sofia.crawl.resilience.settings import ERROR_LOG_MAX_BYTES, ERROR_TEXT_MAX

FILE_NAME: Final = "errors.jsonl"
Line = dict[str, Any]
_LOGIN: Final = re.compile(r"(?<=://)[^/\s]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One request that failed, and what comes next."""

    error: CrawlError
    action: Action
    next_delay: float | None
    """Seconds until the next try; None when there is none."""
    domain: str
    job: str | None = None
    url: str | None = None
    attempt: int | None = None
    proxy: str | None = None


class ErrorLog:
    """Appends lines to a file. Many processes may share it: a line is there whole, once, or not at all.

    A file that has grown beyond `max_bytes` becomes `errors.jsonl.1`, in place of the one before it.
    """

    def __init__(self, path: Path, max_bytes: int = ERROR_LOG_MAX_BYTES) -> None:
        self._path = path
        self._old = path.with_name(f"{path.name}.1")
        self._max_bytes = max_bytes

    def write(self, failure: Failure, now: float) -> None:
        """Add one line. A disk that refuses it is not the page's fault: the line is lost, nothing else."""
        line = json.dumps(_line(failure, now)).encode("ascii") + b"\n"
        with suppress(OSError), self._opened() as file:
            # One call of an appending file: lines of several processes never mix.
            os.write(file, line)
            if os.fstat(file).st_size > self._max_bytes:
                self._rotate(file)

    def read(self) -> Iterator[Line]:
        """All lines, the oldest first; what is no whole line is passed over."""
        for path in (self._old, self._path):
            with suppress(FileNotFoundError), path.open("rb") as file:
                for line in file:
                    known = None
                    with suppress(ValueError, RecursionError):
                        known = json.loads(line)
                    if isinstance(known, dict):
                        yield known

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The current file, kept from being rotated meanwhile."""
        while True:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_SH)
                if self._is_current(file):
                    yield file
                    return
            finally:
                os.close(file)

    def _rotate(self, file: int) -> None:
        """Put the file aside, unless somebody writes to it or was faster: then the next line does it."""
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between the two locks another process may have put it aside.
            if self._is_current(file):
                self._path.replace(self._old)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False


def _line(failure: Failure, now: float) -> Line:
    error = failure.error
    return {
        "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "url": _shown(failure.url),
        "domain": failure.domain,
        "job": failure.job,
        "class": type(error).__name__,
        "action": failure.action.value,
        "status": error.status,
        "attempt": failure.attempt,
        "next_delay": None if failure.next_delay is None else round(failure.next_delay, 3),
        "proxy": _shown(failure.proxy),
        "page": error.page_digest,
        "message": _shown(str(error)),
    }


def _shown(text: str | None) -> str | None:
    """Without user names and passwords of addresses, and not endless."""
    return None if text is None else _LOGIN.sub("***@", text)[:ERROR_TEXT_MAX]
