"""Logging of all programs: structlog formats what the modules' own loggers write.

Standard output is for results. Lines go to standard error and, for long-running programs, also to a file in
`DATA_DIR/logs`; each carries the values bound where it was logged (job, site, url).
"""

import fcntl
import io
import logging
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self
from urllib.parse import unquote

from pydantic import SecretStr

from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings
from sale_sofia.settings.types import MASK
from sale_sofia.telemetry.settings import (
    LEAST_SECRET,
    LOG_FOLDER,
    LOG_MOST_BYTES,
    QUIET_LIBRARIES,
    ROTATED_LOGS,
)

BOUND: Final[ContextVar[Mapping[str, object]]] = ContextVar("bound", default=MappingProxyType({}))
"""Values added to every line. Not structlog's own, so that a crawl that logs nothing does not import it."""


@contextmanager
def bound(**values: object) -> Iterator[None]:
    """Add these values to every log line of the block, in this task or thread alone."""
    token = BOUND.set({**BOUND.get(), **values})
    try:
        yield
    finally:
        BOUND.reset(token)


@contextmanager
def locked_for_writing(file: int) -> Iterator[None]:
    """Keep other processes of ours from writing or rotating this file; does nothing for a pipe or terminal.

    The lock is the system's, on the file itself: a process that dies releases it. On a file system without
    locks, a single write is still whole.
    """
    if not stat.S_ISREG(os.fstat(file).st_mode):
        yield
        return
    with suppress(OSError):
        fcntl.lockf(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        with suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN)


def rotate_log(path: Path, beyond: int = LOG_MOST_BYTES) -> None:
    """Start a log larger than this anew; the last ones stay beside it as `.1` (the newest), `.2` and so on.

    The file itself is never moved, as programs hold it open: it is copied, then truncated, while nobody
    writes. If the disk refuses that, all of them stay as they are.
    """
    with suppress(OSError), path.open("r+b") as file:
        if os.fstat(file.fileno()).st_size <= beyond:
            return
        with locked_for_writing(file.fileno()):
            if os.fstat(file.fileno()).st_size <= beyond:  # another process was faster
                return
            # Read through the locked file: opening and closing it again would release the lock.
            target = os.open(rotated_path(path, 0), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                with os.fdopen(target, "wb") as copy:
                    shutil.copyfileobj(file, copy)
            except OSError:
                rotated_path(path, 0).unlink()
                raise
            for number in range(ROTATED_LOGS, 0, -1):
                with suppress(FileNotFoundError):
                    rotated_path(path, number - 1).replace(rotated_path(path, number))
            file.truncate(0)


def rotated_path(path: Path, number: int) -> Path:
    """Return the path of a rotated log; 1 is the newest, 0 one that is being copied."""
    return path.with_name(f"{path.name}.{number}")


def last_line(path: Path) -> str:
    """Return the last non-empty line of a log; an empty text when there is none."""
    with suppress(OSError):
        lines = path.read_text("utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


class _StandardError(logging.Handler):
    """Writes to the current standard error; lines of several processes in one file stay whole."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record) + "\n"
            with locked_for_writing(sys.stderr.fileno()):
                sys.stderr.write(line)
                sys.stderr.flush()
        except io.UnsupportedOperation:  # no file at all, as in a test
            sys.stderr.write(line)
        except OSError:  # the reader is gone, or the disk is full
            pass
        except Exception:  # noqa: BLE001 - a line that cannot be formatted stops nothing
            self.handleError(record)


class _LogFile(logging.Handler):
    """Appends to a file that several processes may share, and rotates it when it is large."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", errors="backslashreplace")
            with locked_for_writing(self._file):
                os.write(self._file, line)
            if os.fstat(self._file).st_size > LOG_MOST_BYTES:
                rotate_log(self._path, LOG_MOST_BYTES)
        except OSError:  # a full disk is reported by whoever stores data there
            pass
        except Exception:  # noqa: BLE001 - as above
            self.handleError(record)

    def close(self) -> None:
        os.close(self._file)
        super().close()


def log_for_person(settings: Settings | None) -> None:
    """Log a command's lines on standard error: warnings as text, or everything as JSON."""
    as_json = settings is not None and settings.log_json
    _set_up(settings, _level(settings) if as_json else logging.WARNING, logging.WARNING)


def log_to_file(settings: Settings, program: str) -> Path:
    """Also log lines from LOG_LEVEL on to `DATA_DIR/logs/<program>.log`, or raise `ServiceUnavailable`."""
    path = settings.data_dir / LOG_FOLDER / f"{program}.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = _LogFile(path)
    except OSError as error:
        raise ServiceUnavailable(f"The log {path} cannot be written: {error.strerror}.") from error
    _add_handler(file, settings, _level(settings))
    return path


def log_as_service(settings: Settings) -> None:
    """Log everything on standard error, libraries included: our parent has redirected it to a file."""
    _set_up(settings, _level(settings), _level(settings))


def _set_up(settings: Settings | None, level: int, libraries: int) -> None:
    root = logging.getLogger()
    for handler in list(root.handlers):
        if isinstance(handler, _StandardError | _LogFile):
            root.removeHandler(handler)
            handler.close()
    _add_handler(_StandardError(), settings, level)
    root.setLevel(libraries)
    logging.getLogger("sale_sofia").setLevel(_level(settings))
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def _level(settings: Settings | None) -> int:
    name = "INFO" if settings is None else settings.log_level.upper()
    return logging.getLevelNamesMapping()[name]


def _add_handler(handler: logging.Handler, settings: Settings | None, level: int) -> None:
    handler.setLevel(level)
    handler.setFormatter(_Structured(settings))
    logging.getLogger().addHandler(handler)


class _Structured(logging.Formatter):
    """Formats lines with structlog, imported for the first line, as most commands log none."""

    def __init__(self, settings: Settings | None) -> None:
        super().__init__()
        self._settings = settings
        self._made: logging.Formatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self._made is None:
            from sale_sofia.telemetry.log_lines import make_formatter  # noqa: PLC0415 - see above

            self._made = make_formatter(self._settings)
        return self._made.format(record)


_PATTERNS: Final = (
    (re.compile(r"(?<=://)[^\s/?#@]*@"), f"{MASK}@"),
    # Proxies are written without a scheme, too. No character of a name may precede it, which keeps the
    # search linear.
    (re.compile(r"(?<![\w.%+~-])[\w.%+~-]+:[^\s/@:]+@(?=[\w\[])"), f"{MASK}@"),
    (
        re.compile(r"(?i)\b((?:\w*(?:password|passwd|secret|token)|api_?key)\"?'?\s?[=:]\s?)[^\s&,;]+"),
        rf"\1{MASK}",
    ),
)
_LOGIN: Final = re.compile(r"[^:]*://(?P<user>[^/?#@:]*)(?::(?P<password>[^@]*))?@")


@dataclass(frozen=True, slots=True)
class Masking:
    """Masks logins in addresses, values named like secrets, and the secrets of the settings."""

    secrets: tuple[str, ...] = ()
    """The longest first, so that no part of one is left behind."""

    @classmethod
    def of(cls, settings: Settings | None) -> Self:
        """Return a masking that also knows this installation's own secrets."""
        found = set() if settings is None else set(_secrets(settings))
        return cls(tuple(sorted(found, key=lambda secret: (-len(secret), secret))))

    def __call__(
        self, _logger: object, _method: str, line: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """Mask a line, as a processor of structlog."""
        return {name: self._value(value) for name, value in line.items()}

    def text(self, text: str) -> str:
        """Mask a text."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        for pattern, replacement in _PATTERNS:
            text = pattern.sub(replacement, text)
        return text

    def _value(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.text(str(name)): self._value(item) for name, item in value.items()}
            case str():
                return self.text(value)
            case Sequence() if not isinstance(value, bytes):
                return [self._value(item) for item in value]
            case _:
                return self.text(str(value))


def _secrets(settings: Settings) -> Iterator[str]:
    """Yield the secrets of the settings, raw and as they stand in a URL."""
    for _, value in settings:
        if not isinstance(value, SecretStr):
            continue
        secret = value.get_secret_value()
        pieces = [secret]
        if "://" in secret:
            login = _LOGIN.match(secret)
            # A lone name is a password in the wrong place.
            password = (login["user"] if login["password"] is None else login["password"]) if login else ""
            pieces = [password, unquote(password)]
        yield from (piece for piece in pieces if len(piece) >= LEAST_SECRET)
