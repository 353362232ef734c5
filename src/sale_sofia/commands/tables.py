"""The one look of the commands' tables."""

from collections.abc import Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table

from sale_sofia.config.terminal import WIDEST_TABLE

_BORDERS = 2


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str], last: str | None = None) -> Table:
    """Columns of words, of numbers, and at the end perhaps one that may be broken into lines."""
    table = Table(title=title, box=box.SIMPLE, padding=(0, 1, 0, 0))
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last)
    return table


class WholeTable:
    """A table of which no number and no name is cut off, however little room there is."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rendered as wide as it must be; on a narrow screen the screen breaks its lines."""
        yield from console.render(self._table, options.update(width=_width(console, self._table)))


def _width(console: Console, table: Table) -> int:
    """On a screen what may be broken into lines is; in a file or a pipe there is more room than there."""
    asked = [_widths(console, column) for column in table.columns]
    _, right, _, left = table.padding
    between = len(asked) * (left + right + 1) + _BORDERS
    needed = sum(widths.minimum for widths in asked) + between
    whole = sum(widths.maximum for widths in asked) + between
    return max(console.width, needed, 0 if console.is_terminal else min(whole, WIDEST_TABLE))


def _widths(console: Console, column: Column) -> Measurement:
    """What a column needs at least and what it would like; one that may not be broken needs all of it."""
    wide = console.options.update(width=WIDEST_TABLE * 10)
    cells = [Measurement.get(console, wide, cell) for cell in (column.header, *column.cells)]
    most = max(cell.maximum for cell in cells)
    return Measurement(most if column.no_wrap else max(cell.minimum for cell in cells), most)
