"""What all commands share: consoles, tables, JSON, exit codes and the parsing of moments."""

import io
import json
import logging
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from errno import ENOSPC
from pathlib import Path
from typing import Annotated, Any, Final, TextIO, cast

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from sale_sofia.settings.terminal import NOT_SHOWN, WIDEST_TABLE, WRITTEN_OUT

_BORDERS = 2


def plain_table(
    title: str,
    words: Sequence[str],
    numbers: Sequence[str] = (),
    *last: str,
    rows: Iterable[Sequence[str | Text]] = (),
) -> Table:
    """A table with columns of words, then of numbers, then those whose cells may wrap."""
    table = Table(title=title, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in last:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    return table


class WholeTable:
    """A table that never cuts off a number or a name, however narrow the screen is."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it at least as wide as its cells need; a narrower screen wraps the lines.

        On a screen cells wrap where they may; a file or a pipe gets up to WIDEST_TABLE columns.
        """
        table = self._table
        columns = [_widths(console, column) for column in table.columns]
        _, right, _, left = table.padding
        between = len(columns) * (left + right + 1) + _BORDERS
        needed = sum(widths.minimum for widths in columns) + between
        whole = sum(widths.maximum for widths in columns) + between
        width = max(console.width, needed, 0 if console.is_terminal else min(whole, WIDEST_TABLE))
        yield from console.render(table, options.update(width=width))


def _widths(console: Console, column: Column) -> Measurement:
    """The least and the full width of a column; the two are equal where its cells may not wrap."""
    wide = console.options.update(width=WIDEST_TABLE * 10)
    cells = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    most = max(cell.maximum for cell in cells)
    return Measurement(most if column.no_wrap else max(cell.minimum for cell in cells), most)


NOT_ALL_RIGHT = 1
BAD_INPUT = 2
INTERRUPTED = 130


class PlainConsole(Console):
    """Prints plain text: nothing from a portal or a server is read as markup or moves the cursor."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 - as rich's own
        """As rich does, but a table gets the width it needs: lines may wrap, no number is cut off."""
        if any(isinstance(part, Table) for part in objects):
            objects = tuple(WholeTable(part) if isinstance(part, Table) else part for part in objects)
            options = {"crop": False, **options}
        super().print(*objects, **options)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """Replace control characters; all output passes here, and rich's own sequences are `control`."""
        return super()._render_buffer(
            segment if segment.control else Segment(segment.text.translate(NOT_SHOWN), segment.style)
            for segment in buffer
        )


out = PlainConsole()
log = PlainConsole(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]


def print_json(answer: dict[str, Any]) -> dict[str, Any]:
    """Print one line of JSON on standard output, control characters escaped; returns the answer."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False).translate(WRITTEN_OUT) + "\n")
    return answer


def print_answer(
    record: dict[str, Any], *parts: Table | Text | str, as_json: bool, note: str = "", empty: str = ""
) -> None:
    """Print the record as JSON, or its parts and a note for people; `empty` where no table has rows."""
    if as_json:
        print_json(record)
        return
    visible = [part for part in parts if not isinstance(part, Table) or part.row_count]
    note = note if visible else empty or note
    for part in visible if note else parts:
        out.print(part, soft_wrap=not isinstance(part, Table))
    if note:
        tell(note)


def refuse(wrong: object, sentence: str) -> None:
    """Exit as wrong input with this sentence if `wrong` is true."""
    if wrong:
        raise typer.BadParameter(sentence)


def one_of(text: str, what: str, allowed: Iterable[str]) -> str:
    """The allowed word that this is, in whatever case it is typed; exits as wrong input if it is none."""
    words = {word.lower(): word for word in allowed}
    refuse(text.lower() not in words, f"no {what} {text!r}; allowed: {', '.join(words.values())}")
    return words[text.lower()]


def counted(count: int, thing: str, things: str = "") -> str:
    """`1 advert`, `2 adverts`."""
    return f"{count} {thing if count == 1 else things or f'{thing}s'}"


def as_typed() -> str:
    """How this program is called from the present folder: by its name if it is on the PATH, else its path."""
    name, called = "sale-sofia", sys.argv[0]
    if shutil.which(name) or Path(called).name != name:
        return name
    here = os.path.relpath(called)
    return shlex.quote(min(called, here if os.sep in here else f"./{here}", key=len))


def has_subcommand(context: typer.Context) -> bool:
    """Whether a command of the group follows; exits as wrong input if options stand before it.

    They would be the group's own, and the command would not see them.
    """
    if context.invoked_subcommand is None:
        return False
    sources = map(context.get_parameter_source, context.params)
    given = any(source is not None and source.name == "COMMANDLINE" for source in sources)
    command = f"{context.command_path} {context.invoked_subcommand}"
    refuse(given, f"options go after the word: `{command} …`")
    return True


def print_line(sentence: str, style: str | None = None) -> None:
    """Print one line on standard output; the terminal wraps it."""
    out.print(sentence, style=style, soft_wrap=True)


def tell(sentence: str, style: str | None = None) -> None:
    """Print one sentence for the person on standard error; the terminal wraps it."""
    log.print(sentence, style=style, soft_wrap=True)


_logger: Final = logging.getLogger("sale_sofia.cli")


class _LogLines(io.TextIOBase):
    """A file whose lines are logged, without terminal sequences."""

    def __init__(self) -> None:
        self._unfinished = ""

    def write(self, text: str) -> int:
        *lines, self._unfinished = (self._unfinished + text).split("\n")
        for line in lines:
            if message := Text.from_ansi(line).plain.strip():
                _logger.info("%s", message)
        return len(text)


def redirect_to_log() -> None:
    """From now on log what is said to a person, so that standard error is JSON alone."""
    log.file, log.soft_wrap = cast("TextIO", _LogLines()), True


def say(sentence: str) -> None:
    """Print one line for the person at the terminal, and log it."""
    if not isinstance(log.file, _LogLines):
        tell(sentence)
    _logger.info("%s", sentence)


def complain(error: BaseException) -> None:
    """Print in one sentence what is wrong; an OSError without its number."""
    sentence = str(error)
    if isinstance(error, OSError) and error.strerror and (error.filename or error.errno == ENOSPC):
        sentence = f"{error.filename or 'the disk is full'}: {error.strerror}"
    if isinstance(log.file, _LogLines):
        _logger.error("%s", sentence)
    else:
        tell(f"sale-sofia: {sentence}", style="red")


ALLOWED = (
    "today, yesterday, a date like 2026-11-14, a moment like 2026-11-14T08:30, or an age like 24h, 7d, 30m"
)
_AGE = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def moment_of(text: str, now: datetime) -> float:
    """The moment a text names, in seconds since 1970; days begin and end in Sofia. Raises ValueError."""
    # Slow to import (it reads YAML), and few commands take moments.
    from sale_sofia.listings.dates import SOFIA  # noqa: PLC0415

    here = now.astimezone(SOFIA)
    today = here.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in {"today", "yesterday"}:
        return (today if text == "today" else today - timedelta(days=1)).timestamp()
    if age := _AGE.fullmatch(text):
        return now.timestamp() - timedelta(**{_UNITS[age[2]]: int(age[1])}).total_seconds()
    try:
        written = datetime.fromisoformat(text)
        return (written if written.tzinfo else written.replace(tzinfo=SOFIA)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no moment; allowed: {ALLOWED}") from None
