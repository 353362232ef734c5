"""The market for people."""

from itertools import islice

from rich.table import Table

from sale_sofia.commands.crawl_tables import number
from sale_sofia.commands.tables import plain_table
from sale_sofia.insights.market import LABEL, Cell, Market
from sale_sofia.insights.market_figures import Figures

_HEADINGS = ("stock", "€/m²", "quartiles", "change", "new", "gone", "days", "cut", "by")
_HIDDEN = "–"


def market_table(found: Market, limit: int, *, by_rooms: bool) -> Table:
    """A line for each neighbourhood, or for each kind of flat of one; new and gone are for a week."""
    table = plain_table(f"The market ({LABEL})", ("neighbourhood", "rooms"), _HEADINGS)
    shown = (one for one in found.cells.items() if by_rooms or _is_whole(one[0]))
    for cell, figures in islice(shown, limit):
        place = cell.neighbourhood or "all of Sofia"
        table.add_row(place, cell.rooms or "all", *_line(figures))
    return table


def _is_whole(cell: Cell) -> bool:
    return cell.rooms is None or cell.neighbourhood is None


def _line(found: Figures) -> tuple[str, ...]:
    quartiles = found.eur_sqm
    return (
        str(found.stock),
        _told(quartiles and quartiles.median),
        f"{number(quartiles.low)}–{number(quartiles.high)}" if quartiles else _HIDDEN,
        _told(found.change_percent, "{:+.1f} %"),
        _told(found.new_per_week, "{:.1f}"),
        _told(found.gone_per_week, "{:.1f}"),
        _told(found.days.median, "{:.0f}"),
        _told(found.cuts.share, "{:.0%}"),
        _told(found.cuts.median_percent, "{:.1f} %"),
    )


def _told(value: float | None, form: str | None = None) -> str:
    if value is None:
        return _HIDDEN
    return form.format(value) if form else number(value)
