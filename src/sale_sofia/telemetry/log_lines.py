"""What a line of the log looks like: text for people, JSON for machines; the same values in both."""

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
    """For the lines of all loggers: when, how grave, whose, what, and what is bound (job, site, url)."""
    renderers: tuple[Processor, ...] = (_in_one_line, ConsoleRenderer(colors=False, pad_event_to=0))
    if settings is not None and settings.log_json:
        renderers = (JSONRenderer(ensure_ascii=False), _written_out)
    return ProcessorFormatter(
        foreign_pre_chain=[
            _when,
            add_log_level,
            add_logger_name,
            _whose,
            _bound,
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


def _when(_logger: object, _method: str, line: EventDict) -> EventDict:
    """The moment at which it was said, the same in every place it is written to."""
    said = datetime.fromtimestamp(line["_record"].created, UTC)
    return {"timestamp": said.isoformat(timespec="milliseconds"), **line}


def _whose(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Which of a worker's processes says it; a program of one process has nothing to tell."""
    name = line["_record"].processName
    return line if name in _ONLY_ONE else {**line, "process": name}


def _bound(_logger: object, _method: str, line: EventDict) -> EventDict:
    """What is bound where it was said; the line's own words go before."""
    return {**line, **{name: value for name, value in BOUND.get().items() if name not in line}}


def _without_repeats(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Celery's lines name their task and have it all again as `data`; other handlers leave the whole text."""
    return {name: value for name, value in line.items() if name not in _REPEATS}


def _in_one_line(_logger: object, _method: str, line: EventDict) -> EventDict:
    """What a page or a portal said cannot begin a line of its own, nor steer a terminal."""
    for name, value in line.items():
        if isinstance(value, str):
            line[name] = value.translate(WRITTEN_OUT if name in _MANY_LINES else _ONE_LINE)
    return line


def _written_out(_logger: object, _method: str, line: Any) -> Any:  # noqa: ANN401 - a whole line by now
    return line.translate(WRITTEN_OUT)
