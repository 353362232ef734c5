"""Fair prices for people."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from sale_sofia.commands.crawl_tables import moment, number
from sale_sofia.commands.tables import plain_table
from sale_sofia.insights.comparables import Comparable
from sale_sofia.insights.costs import price_band
from sale_sofia.insights.valuation import BASIS, Valuation
from sale_sofia.insights.valuation_error import Error
from sale_sofia.insights.valuation_flats import asked_eur_sqm
from sale_sofia.insights.valuation_trial import Trial

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
