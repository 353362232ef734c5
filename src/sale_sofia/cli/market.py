"""The command about the market."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from sale_sofia.advice.costs import price_band
from sale_sofia.advice.market.market import LABEL, VAT_RULE, Cell, Deal, Figures, Market, read_market
from sale_sofia.advice.market.settings import MARKET_LISTED
from sale_sofia.advice.valuation.error import Error
from sale_sofia.advice.valuation.flats import asked_eur_sqm
from sale_sofia.advice.valuation.trial import Trial, try_file
from sale_sofia.advice.valuation.valuation import BASIS, Comparable, Valuation, value_property
from sale_sofia.cli.console import AsJson, log, out, plain_table, print_json, refuse
from sale_sofia.cli.progress import moment, number
from sale_sofia.installation import open_ready
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.settings.model import load_settings

# The market for people.

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


def market(
    neighbourhood: Annotated[
        str | None, typer.Option(help="Only of this neighbourhood, by kind of flat.")
    ] = None,
    deal: Annotated[Deal, typer.Option(help="What flats cost, or what they are let for a month.")] = "sale",
    limit: Annotated[int, typer.Option(min=1, help="Show so many lines.")] = MARKET_LISTED,
    as_json: AsJson = False,
) -> None:
    """Show the market by neighbourhood: what is asked for a m², how many come and go, how long they stay."""
    name = _known(neighbourhood)
    settings = load_settings()
    database = open_ready(settings)
    found = database.run_read(partial(read_market, settings=settings, now=time.time(), deal=deal))
    chosen = _chosen(found, name)
    if as_json:
        print_json(chosen.as_json())
        return
    out.print(market_table(chosen, limit, by_rooms=name is not None), highlight=False)
    log.print(_said(chosen), highlight=False, soft_wrap=True)


def _known(name: str | None) -> str | None:
    if name is None:
        return None
    found = find_neighbourhood(name)
    if found is None:
        raise typer.BadParameter(f"no neighbourhood {name!r} in Sofia is known; write it as the portals do")
    return found.name


def _chosen(found: Market, name: str | None) -> Market:
    if name is None:
        return found
    cells = {cell: one for cell, one in found.cells.items() if cell.neighbourhood == name}
    return Market(found.deal, found.now, found.least, cells)


def _said(found: Market) -> str:
    if not found.cells:
        return "no flat yet; adverts come with `sale-sofia crawl`"
    return f"{LABEL}; {VAT_RULE}; what fewer than {found.least} flats make is not shown"


# Fair prices for people.

_COMPARED = ("€", "€/m²", "m²", "floor", "year", "km", "share")


def valuation_tables(found: Valuation) -> Iterator[Table | Text]:
    """What is asked, what is fair, the verdict, and the flats that it rests on."""
    yield Text(f"Property {found.flat.property_id}: {_asked(found)}")
    if found.fair is not None:
        yield Text(f"Fair: {_fair(found)} ({BASIS})")
    yield Text(f"{found.verdict}: {found.explanation}")
    if found.comparables:
        yield _comparables_table(found)
    if found.current is not None:
        yield Text(_model_sentence(found))


def error_tables(found: Trial) -> Iterator[Table]:
    """The model beside the neighbourhood's median, and where it is worst."""
    rows = [
        ("fair price", found.judged.error),
        ("neighbourhood's median", found.judged.by_median),
    ]
    if found.elsewhere is not None:
        rows += [
            ("fair price, neighbourhood left out", found.elsewhere.error),
            ("median of all others", found.elsewhere.by_median),
        ]
    yield _error_table(
        "Asking prices of flats not seen: median error, and how many the interval holds", "told by", rows
    )
    yield _error_table(
        "Where the error is largest", "neighbourhood", list(found.judged.neighbourhoods.items())
    )


def _asked(found: Valuation) -> str:
    flat = found.flat
    if flat.price_eur is None:
        return "no price is asked"
    band, eur_sqm = price_band(flat), asked_eur_sqm(flat)
    vat = f", {number(band.least)} € with VAT" if band and band.least != flat.price_eur else ""
    return f"{number(flat.price_eur)} € asked{vat}, {number(eur_sqm)} €/m²"


def _fair(found: Valuation) -> str:
    if found.fair is None:
        return "?"
    low, middle, high = (value * (found.flat.area_sqm or 0.0) for value in found.fair)
    each = "–".join(number(value) for value in (found.fair.low, found.fair.high))
    return f"{number(low)}–{number(high)} €, the middle {number(middle)} €; {each} €/m²"


def _comparables_table(found: Valuation) -> Table:
    title = f"The first of {found.rests_on} flats that it rests on"
    table = plain_table(title, ("property", "neighbourhood"), _COMPARED)
    for heading in ("condition", "alike and not"):
        table.add_column(heading)
    for one in found.comparables:
        table.add_row(*_compared(one))
    return table


def _compared(one: Comparable) -> tuple[str, ...]:
    flat = one.flat
    floor = number(flat.floor) + (f"/{flat.floors_total}" if flat.floors_total else "")
    return (
        str(flat.property_id),
        flat.neighbourhood or "?",
        number(flat.price_eur),
        number(asked_eur_sqm(flat)),
        number(flat.area_sqm),
        floor,
        "?" if flat.year_built is None else str(flat.year_built),
        number(one.kilometres, 1),
        f"{one.weight:.1%}",
        flat.condition or "?",
        ", ".join(one.why),
    )


def _model_sentence(found: Valuation) -> str:
    if found.current is None:
        return ""
    report = found.current.report
    error, median = report["error"], report["neighbourhood_median"]
    return (
        f"Model of {moment(found.current.made_at)}, {report['flats']} flats; on flats not seen: median error "
        f"{error['median']:.1%} (the neighbourhood's median {median['median']:.1%}), "
        f"{error['coverage']:.1%} of asking prices inside the interval."
    )


def _error_table(title: str, heading: str, rows: Sequence[tuple[str, Error]]) -> Table:
    table = plain_table(title, (heading,), ("flats", "error", "≤ 10 %", "held", "width"))
    for name, one in rows:
        shares = (one.median, one.within_near, one.coverage, one.width)
        table.add_row(name, str(one.flats), *("" if share is None else f"{share:.1%}" for share in shares))
    return table


# The command about the fair price of a property, and of how well such prices are told.


def value(
    property_id: Annotated[
        int | None,
        typer.Argument(
            metavar="PROPERTY",
            help="The id of a property, as `sale-sofia search` shows it.",
            show_default=False,
        ),
    ] = None,
    adverts: Annotated[
        Path | None,
        typer.Option(help="A Parquet table of adverts: tell how well their prices can be told instead."),
    ] = None,
    refit: Annotated[bool, typer.Option("--refit", help="Fit the model anew, though it is not old.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell the fair price of a property: an interval, the flats it rests on, and where its price lies."""
    refuse((property_id is None) == (adverts is None), "give the id of a property, or --adverts FILE")
    refuse(refit and adverts is not None, "--refit is for the stored model; leave it out with --adverts")
    if adverts is not None:
        _try_file(adverts, as_json=as_json)
    elif property_id is not None:
        _value(property_id, refit=refit, as_json=as_json)


def _value(property_id: int, *, refit: bool, as_json: bool) -> None:
    settings = load_settings()
    database = open_ready(settings)
    found = value_property(database, settings, property_id, refit=refit)
    if as_json:
        print_json(found.as_json())
        return
    for part in valuation_tables(found):
        out.print(part, highlight=False)


def _try_file(path: Path, *, as_json: bool) -> None:
    found = try_file(path, load_settings())
    if as_json:
        print_json(found.as_json())
        return
    for part in error_tables(found):
        out.print(part, highlight=False)
    log.print(f"{found.flats} flats in {path}, {found.seconds:.1f} s", highlight=False)
