"""Logging of all programs, set up in one place: structlog writes what the modules' own loggers say.

Standard output is for results. Lines go to standard error and, of programs that run for long, to a file in
`DATA_DIR/logs` as well; each carries what is bound where it was written (job, site, url).
"""

import io
import logging
import os
import sys
from pathlib import Path
from typing import Final

from sale_sofia.config.logs import LOG_MOST_BYTES, QUIET_LIBRARIES
from sale_sofia.config.services import LOG_FOLDER
from sale_sofia.config.settings import Settings
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.log_files import nobody_else_writes, put_aside

_OURS: Final = "sale_sofia"


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
    """A command's lines on standard error: warnings as text, or everything as JSON.

    Without settings, because they are wrong, as by default; whoever needs them says what is wrong.
    """
    as_json = settings is not None and settings.log_json
    level = _level(settings) if as_json else logging.WARNING
    _set_up(settings, _handler(_StandardError(), settings, level), logging.WARNING)


def log_to_file(settings: Settings, program: str) -> Path:
    """The lines of this program go to `DATA_DIR/logs/<program>.log` as well, all from LOG_LEVEL on.

    Raises:
        ServiceError: the file cannot be written.
    """
    path = settings.data_dir / LOG_FOLDER / f"{program}.log"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = _LogFile(path)
    except OSError as error:
        raise ServiceError(f"The log {path} cannot be written: {error.strerror}.") from error
    logging.getLogger().addHandler(_handler(file, settings, _level(settings)))
    return path


def log_as_service(settings: Settings) -> None:
    """Everything on standard error, libraries included: whoever started us has put a file there."""
    _set_up(settings, _handler(_StandardError(), settings, _level(settings)), _level(settings))


def _set_up(settings: Settings | None, handler: logging.Handler, libraries: int) -> None:
    root = logging.getLogger()
    for one in [one for one in root.handlers if isinstance(one, _StandardError | _LogFile)]:
        root.removeHandler(one)
        one.close()
    root.addHandler(handler)
    root.setLevel(libraries)
    logging.getLogger(_OURS).setLevel(_level(settings))
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def _level(settings: Settings | None) -> int:
    name = "INFO" if settings is None else settings.log_level.upper()
    return logging.getLevelNamesMapping()[name]


def _handler(handler: logging.Handler, settings: Settings | None, level: int) -> logging.Handler:
    handler.setLevel(level)
    handler.setFormatter(_Structured(settings))
    return handler


class _Structured(logging.Formatter):
    """Makes lines by structlog; it is loaded for the first line, as most commands log none."""

    def __init__(self, settings: Settings | None) -> None:
        super().__init__()
        self._settings = settings
        self._made: logging.Formatter | None = None

    def format(self, record: logging.LogRecord) -> str:
        if self._made is None:
            from sale_sofia.services.log_lines import make_formatter  # noqa: PLC0415 - see above

            self._made = make_formatter(self._settings)
        return self._made.format(record)
