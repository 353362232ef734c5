"""The error log: one JSON line for each request that failed, with what debugging needs."""

import fcntl
import json
import os
import re
import secrets
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sale_sofia.crawl.resilience.errors import Action, CrawlError
from sale_sofia.crawl.resilience.settings import ERROR_ID_BYTES, ERROR_LOG_MAX_BYTES, ERROR_TEXT_MAX

FILE_NAME: Final = "errors.jsonl"
Line = dict[str, Any]
_LOGIN: Final = re.compile(r"(?<=://)[^/\s]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A request that failed, and the recovery action."""

    error: CrawlError
    action: Action
    next_delay: float | None
    """Seconds until the next try; None when there is none."""
    domain: str
    job: str | None = None
    url: str | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    """Attempts that a page has with errors of this class, the first included."""
    strategy: str = "direct"
    proxy: str | None = None


class ErrorLog:
    """Appends lines to a file that many processes may share: each line is written whole and once, or not.

    A file that has grown beyond `max_bytes` becomes `errors.jsonl.1`, in place of the one before it.
    """

    def __init__(self, path: Path, max_bytes: int = ERROR_LOG_MAX_BYTES) -> None:
        self._path = path
        self._old = path.with_name(f"{path.name}.1")
        self._max_bytes = max_bytes

    def write(self, failure: Failure, now: float) -> None:
        """Append one line; if the disk refuses it, the line is lost and nothing else."""
        line = json.dumps(_line(failure, now)).encode("ascii") + b"\n"
        with suppress(OSError), self._open() as file:
            # A single appending write: lines of several processes never mix.
            os.write(file, line)
            if os.fstat(file).st_size > self._max_bytes:
                self._rotate(file)

    def read(self) -> Iterator[Line]:
        """Yield all lines, the oldest first, skipping damaged ones and those of an earlier format."""
        for path in (self._old, self._path):
            with suppress(FileNotFoundError), path.open("rb") as file:
                for line in file:
                    record = None
                    with suppress(ValueError, RecursionError):
                        record = json.loads(line)
                    if isinstance(record, dict) and "error_type" in record:
                        yield record

    @contextmanager
    def _open(self) -> Iterator[int]:
        """Open the current file, locked against rotation."""
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
        """Rotate the file, unless another process writes to it or was faster; then a later line does."""
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between the two locks another process may have rotated it.
            if self._is_current(file):
                self._path.replace(self._old)

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), self._path.stat())
        except FileNotFoundError:
            return False


def _line(failure: Failure, now: float) -> Line:
    error, most = failure.error, failure.max_attempts
    return {
        "error_id": secrets.token_hex(ERROR_ID_BYTES),
        "timestamp": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "url": _masked(failure.url),
        "domain": failure.domain,
        "job": failure.job,
        "error_type": type(error).__name__,
        "http_status": error.status,
        "message": _masked(_without(failure.url, str(error))),
        "stack_trace": _stack_trace(error),
        "attempt": failure.attempt,
        "max_retries": None if most is None else max(0, most - 1),
        "next_delay": None if failure.next_delay is None else round(failure.next_delay, 3),
        "recovery_action": failure.action.value,
        "is_recoverable": failure.next_delay is not None,
        "strategy": failure.strategy,
        "proxy": _masked(failure.proxy),
        "page": error.page_digest,
    }


def _without(url: str | None, message: str) -> str:
    """Remove the address, which the record has already."""
    return message.replace(f"{url}: ", "") if url else message


def _stack_trace(error: CrawlError) -> str | None:
    """Return the trace of an error that has no class of ours; None for expected ones."""
    if type(error) is not CrawlError or error.__cause__ is None:
        return None
    return _masked("".join(traceback.format_exception(error.__cause__))[-ERROR_TEXT_MAX:])


def _masked(text: str | None) -> str | None:
    """Mask logins in addresses, and limit the length."""
    return None if text is None else _LOGIN.sub("***@", text)[:ERROR_TEXT_MAX]
