"""The one look of the commands' tables."""

from collections.abc import Sequence

from rich import box
from rich.table import Table


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
