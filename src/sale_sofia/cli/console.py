"""What all commands share: where they print, and how they end."""

import io
import json
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from errno import ENOSPC
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
    """Columns of words, of numbers, and at the end those that may be broken into lines."""
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
    """A table of which no number and no name is cut off, however little room there is."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rendered as wide as it must be; on a narrow screen the screen breaks its lines.

        On a screen what may be broken into lines is; in a file or a pipe there is more room than there.
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
    """What a column needs at least and what it would like; one that may not be broken needs all of it."""
    wide = console.options.update(width=WIDEST_TABLE * 10)
    cells = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    most = max(cell.maximum for cell in cells)
    return Measurement(most if column.no_wrap else max(cell.minimum for cell in cells), most)


NOT_ALL_RIGHT = 1
BAD_INPUT = 2
INTERRUPTED = 130


class PlainConsole(Console):
    """Whatever is printed is words: no text of a portal or a server is markup, or moves the cursor."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 - as rich's own
        """A table that needs more room than there is gets it: lines may break, a number is never cut off."""
        if any(isinstance(one, Table) for one in objects):
            objects = tuple(WholeTable(one) if isinstance(one, Table) else one for one in objects)
            options = {"crop": False, **options}
        super().print(*objects, **options)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """The one way of all output, live bars too; rich's own signs for the terminal are `control`."""
        return super()._render_buffer(
            one if one.control else Segment(one.text.translate(NOT_SHOWN), one.style) for one in buffer
        )


out = PlainConsole()
log = PlainConsole(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]


def print_json(answer: dict[str, Any]) -> dict[str, Any]:
    """One line of JSON on standard output; what a terminal would obey is written as its number."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False).translate(WRITTEN_OUT) + "\n")
    return answer


def print_answer(
    record: dict[str, Any], *parts: Table | Text | str, as_json: bool, note: str = "", empty: str = ""
) -> None:
    """The record for programs; for people its parts and a note, or `empty` for tables without rows."""
    if as_json:
        print_json(record)
        return
    shown = [part for part in parts if not isinstance(part, Table) or part.row_count]
    note = note if shown else empty or note
    for part in shown if note else parts:
        out.print(part, soft_wrap=not isinstance(part, Table))
    if note:
        tell(note)


def refuse(given: object, sentence: str) -> None:
    """End with wrong input when something was given that may not be."""
    if given:
        raise typer.BadParameter(sentence)


def tell(sentence: str, style: str | None = None) -> None:
    """One sentence for the person, on standard error; the screen breaks its line."""
    log.print(sentence, style=style, soft_wrap=True)


_spoken: Final = logging.getLogger("sale_sofia.cli")


class _Lines(io.TextIOBase):
    """A file whose lines are logged, without the signs for a terminal."""

    def __init__(self) -> None:
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if said := Text.from_ansi(line).plain.strip():
                _spoken.info("%s", said)
        return len(text)


def speak_in_lines() -> None:
    """From now on what is said to a person is lines of the log, so that standard error is JSON alone."""
    log.file, log.soft_wrap = cast("TextIO", _Lines()), True


def say(sentence: str) -> None:
    """One line for the person at the terminal, and for the log."""
    if not isinstance(log.file, _Lines):
        tell(sentence)
    _spoken.info("%s", sentence)


def complain(error: BaseException) -> None:
    """What is wrong, in one sentence; an error of the system without its number."""
    sentence = str(error)
    if isinstance(error, OSError) and error.strerror and (error.filename or error.errno == ENOSPC):
        sentence = f"{error.filename or 'the disk is full'}: {error.strerror}"
    if isinstance(log.file, _Lines):
        _spoken.error("%s", sentence)
    else:
        tell(f"sale-sofia: {sentence}", style="red")


ALLOWED = (
    "today, yesterday, a date like 2026-11-14, a moment like 2026-11-14T08:30, or an age like 24h, 7d, 30m"
)
_AGE = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def moment_of(text: str, now: datetime) -> float:
    """The moment a text names, in seconds since 1970, or ValueError; days begin and end on Sofia's clock."""
    # Every command prints here, and few know moments: the dates of portals need their words, and YAML.
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
