"""Format of log lines: text for people, JSON for machines; the same values in both."""

import logging
from datetime import UTC, datetime
from typing import Any, Final

from structlog.dev import ConsoleRenderer
from structlog.processors import JSONRenderer, format_exc_info
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name
from structlog.typing import EventDict, Processor

from sale_sofia.settings.model import Settings
from sale_sofia.settings.terminal import WRITTEN_OUT
from sale_sofia.telemetry.logs import BOUND, Masking

_ONE_LINE: Final = {**WRITTEN_OUT, **{ord(sign): f"\\u{ord(sign):04x}" for sign in "\t\n"}}
_REPEATS: Final = frozenset({"data", "message", "asctime"})
_ONLY_ONE: Final = frozenset({None, "MainProcess"})
_MANY_LINES: Final = frozenset({"exception", "stack"})


def make_formatter(settings: Settings | None) -> logging.Formatter:
    """Return the formatter of all loggers: time, level, logger, event and bound values (job, site, url)."""
    renderers: tuple[Processor, ...] = (_in_one_line, ConsoleRenderer(colors=False, pad_event_to=0))
    if settings is not None and settings.log_json:
        renderers = (JSONRenderer(ensure_ascii=False), _escape)
    return ProcessorFormatter(
        foreign_pre_chain=[
            _add_time,
            add_log_level,
            add_logger_name,
            _add_process,
            _add_bound,
            ExtraAdder(),
            _without_repeats,
            format_exc_info,
        ],
        processors=[
            ProcessorFormatter.remove_processors_meta,
            Masking.of(settings),
            *renderers,
        ],
    )


def _add_time(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Add the time of the record, the same in every log it is written to."""
    created = datetime.fromtimestamp(line["_record"].created, UTC)
    return {"timestamp": created.isoformat(timespec="milliseconds"), **line}


def _add_process(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Add the process of a worker; programs with one process have no name here."""
    name = line["_record"].processName
    return line if name in _ONLY_ONE else {**line, "process": name}


def _add_bound(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Add the bound values; the line's own win."""
    return {**line, **{name: value for name, value in BOUND.get().items() if name not in line}}


def _without_repeats(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Remove repeated values: Celery's `data`, and the text that other handlers leave."""
    return {name: value for name, value in line.items() if name not in _REPEATS}


def _in_one_line(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Escape values, so that text of a portal can neither start a line nor control a terminal."""
    for name, value in line.items():
        if isinstance(value, str):
            line[name] = value.translate(WRITTEN_OUT if name in _MANY_LINES else _ONE_LINE)
    return line


def _escape(_logger: object, _method: str, line: Any) -> Any:  # noqa: ANN401 - a whole line by now
    return line.translate(WRITTEN_OUT)
