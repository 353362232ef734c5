"""Logging of all programs, set up in one place: structlog writes what the modules' own loggers say.

Standard output is for results. Lines go to standard error and, of programs that run for long, to a file in
`DATA_DIR/logs` as well; each carries what is bound where it was written (job, site, url).
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

from sale_sofia.operations.settings import LOG_FOLDER
from sale_sofia.settings.errors import ServiceError
from sale_sofia.settings.model import Settings
from sale_sofia.settings.types import MASK
from sale_sofia.telemetry.settings import LEAST_SECRET, LOG_MOST_BYTES, LOGS_PUT_ASIDE, QUIET_LIBRARIES

BOUND: Final[ContextVar[Mapping[str, object]]] = ContextVar("bound", default=MappingProxyType({}))
"""What every line that is written here carries. Not structlog's own: a crawl that logs nothing loads none."""


@contextmanager
def bound(**values: object) -> Iterator[None]:
    """Inside, in this task or thread alone, every line of the log carries these too."""
    token = BOUND.set({**BOUND.get(), **values})
    try:
        yield
    finally:
        BOUND.reset(token)


@contextmanager
def nobody_else_writes(file: int) -> Iterator[None]:
    """Inside, no other process of ours writes to this file or puts it aside; nothing for what is no file.

    The lock is the system's, on the file itself: who dies lets go of it. Where the file system knows none,
    what is written by one call is still whole.
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


def put_aside(path: Path, beyond: int = LOG_MOST_BYTES) -> None:
    """A log larger than this begins anew; the last ones stay beside it as `.1` (the newest), `.2` and so on.

    A file keeps its place for ever, as programs hold it open: what is put aside is copied, then cut off,
    while nobody writes. A disk that refuses it leaves the log as it is.
    """
    with suppress(OSError), path.open("r+b") as file:
        if os.fstat(file.fileno()).st_size <= beyond:
            return
        with nobody_else_writes(file.fileno()):
            if os.fstat(file.fileno()).st_size <= beyond:  # another process was faster
                return
            for number in range(LOGS_PUT_ASIDE, 1, -1):
                with suppress(FileNotFoundError):
                    put_aside_path(path, number - 1).replace(put_aside_path(path, number))
            # Read through the file that is locked: to open and close it anew would end the lock.
            anew = os.open(put_aside_path(path, 1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(anew, "wb") as copy:
                shutil.copyfileobj(file, copy)
            file.truncate(0)


def put_aside_path(path: Path, number: int) -> Path:
    """Where the log is that was put aside so many times ago."""
    return path.with_name(f"{path.name}.{number}")


def last_line(path: Path) -> str:
    """The last line of a log that says anything; nothing when there is none."""
    with suppress(OSError):
        lines = path.read_text("utf-8", errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""


class _StandardError(logging.Handler):
    """Writes to what is standard error now; lines of several processes to one file are whole."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record) + "\n"
            with nobody_else_writes(sys.stderr.fileno()):
                sys.stderr.write(line)
                sys.stderr.flush()
        except io.UnsupportedOperation:  # no file at all, as in a test
            sys.stderr.write(line)
        except OSError:  # whoever read it is gone, or the disk is full
            pass
        except Exception:  # noqa: BLE001 - a line that cannot be made stops nobody
            self.handleError(record)


class _LogFile(logging.Handler):
    """Appends to a file that several processes may share, and puts it aside when it is large."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = (self.format(record) + "\n").encode("utf-8", errors="backslashreplace")
            with nobody_else_writes(self._file):
                os.write(self._file, line)
            if os.fstat(self._file).st_size > LOG_MOST_BYTES:
                put_aside(self._path, LOG_MOST_BYTES)
        except OSError:  # a disk that is full is told of by whoever has something to keep there
            pass
        except Exception:  # noqa: BLE001 - as above
            self.handleError(record)

    def close(self) -> None:
        os.close(self._file)
        super().close()


def log_for_person(settings: Settings | None) -> None:
    """A command's lines on standard error: warnings as text, or everything as JSON."""
    as_json = settings is not None and settings.log_json
    _set_up(settings, _level(settings) if as_json else logging.WARNING, logging.WARNING)


def log_to_file(settings: Settings, program: str) -> Path:
    """All lines from LOG_LEVEL on go to `DATA_DIR/logs/<program>.log` as well, or `ServiceError`."""
    path = settings.data_dir / LOG_FOLDER / f"{program}.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = _LogFile(path)
    except OSError as error:
        raise ServiceError(f"The log {path} cannot be written: {error.strerror}.") from error
    _add_handler(file, settings, _level(settings))
    return path


def log_as_service(settings: Settings) -> None:
    """Everything on standard error, libraries included: whoever started us has put a file there."""
    _set_up(settings, _level(settings), _level(settings))


def _set_up(settings: Settings | None, level: int, libraries: int) -> None:
    root = logging.getLogger()
    for handler in [known for known in root.handlers if isinstance(known, _StandardError | _LogFile)]:
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
    """Makes lines by structlog; it is loaded for the first line, as most commands log none."""

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
    # Proxies are written without a scheme, too. What may stand in a name may not stand before it: so the
    # text is gone through once, however long.
    (re.compile(r"(?<![\w.%+~-])[\w.%+~-]+:[^\s/@:]+@(?=[\w\[])"), f"{MASK}@"),
    (
        re.compile(r"(?i)\b((?:\w*(?:password|passwd|secret|token)|api_?key)\"?'?\s?[=:]\s?)[^\s&,;]+"),
        rf"\1{MASK}",
    ),
)
_LOGIN: Final = re.compile(r"[^:]*://(?P<user>[^/?#@:]*)(?::(?P<password>[^@]*))?@")


@dataclass(frozen=True, slots=True)
class Masking:
    """Hides logins in addresses, values named like secrets, and the secrets of the settings."""

    secrets: tuple[str, ...] = ()
    """The longest first, so that none leaves a piece of another behind."""

    @classmethod
    def of(cls, settings: Settings | None) -> Self:
        """Hides this installation's own secrets, too."""
        found = set() if settings is None else set(_secrets(settings))
        return cls(tuple(sorted(found, key=lambda secret: (-len(secret), secret))))

    def __call__(
        self, _logger: object, _method: str, line: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """The line without secrets."""
        return {name: self._value(value) for name, value in line.items()}

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text

    def _value(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.text(str(name)): self._value(one) for name, one in value.items()}
            case str():
                return self.text(value)
            case Sequence() if not isinstance(value, bytes):
                return [self._value(one) for one in value]
            case _:
                return self.text(str(value))


def _secrets(settings: Settings) -> Iterator[str]:
    """The secrets of the settings, as they are and as they stand in a URL."""
    for _, value in settings:
        if not isinstance(value, SecretStr):
            continue
        secret = value.get_secret_value()
        pieces = [secret]
        if "://" in secret:
            found = _LOGIN.match(secret)
            # A lone name is a password that stands in the wrong place.
            password = (found["user"] if found["password"] is None else found["password"]) if found else ""
            pieces = [password, unquote(password)]
        yield from (piece for piece in pieces if len(piece) >= LEAST_SECRET)
