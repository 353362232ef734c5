"""Tables for people: what changed, the prices of an advert, sweeps."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.table import Table

from sale_sofia.commands.crawl_tables import moment, number
from sale_sofia.commands.tables import plain_table
from sale_sofia.data.changes import Happening
from sale_sofia.data.price_history import PriceHistory
from sale_sofia.data.price_meaning import price_per_sqm
from sale_sofia.data.sweeps import Sweep

_LONGEST_VALUE = 24


def changes_table(found: Sequence[Happening]) -> Table:
    """One line for each change."""
    table = plain_table("Changes", ("when", "what", "advert", "neighbourhood"), ("m²", "€", "€/m²"), "change")
    for one in found:
        about = one.about
        advert = f"{about['site']}/{about['external_id']}"
        cells = (about["area_sqm"], about["price_eur"], price_per_sqm(about))
        words = (moment(one.at), one.kind, advert, about["neighbourhood"] or "?")
        table.add_row(*words, *map(number, cells), _what(one))
    return table


def _what(one: Happening) -> str:
    if one.kind == "price":
        return _step(*one.fields["price_eur"])
    if one.fields:
        return ", ".join(f"{name}: {_short(old)} → {_short(new)}" for name, (old, new) in one.fields.items())
    return one.reason or ""


def _step(old: float | None, new: float | None) -> str:
    share = f" ({new / old - 1:+.1%})" if old and new else ""
    return f"{number(old)} → {number(new)} €{share}"


def _short(value: Any) -> str:  # noqa: ANN401 - whatever a field holds
    text = "none" if value is None else " ".join(str(value).split())
    plain = "".join(sign if sign.isprintable() else "?" for sign in text).replace("[", "(").replace("]", ")")
    return plain if len(plain) <= _LONGEST_VALUE else f"{plain[:_LONGEST_VALUE]}…"


def history_head(one: PriceHistory) -> str:
    """What the flat is, since when it is there, and what became of it."""
    end = f"gone since {moment(one.gone_at)}" if one.gone_at else f"last seen {moment(one.last_seen_at)}"
    if one.closed_at:
        end = f"its id was given to another flat on {moment(one.closed_at)}"
    doubt = f"; shows {number(one.odd_price_eur)} €, which is not believed" if one.odd_price_eur else ""
    head = f"{one.site}/{one.external_id}: {one.title or 'without a title'}, {number(one.area_sqm)} m²"
    return f"{head}; first seen {moment(one.first_seen_at)}, {one.days_on_market:.0f} days; {end}{doubt}"


def history_table(one: PriceHistory) -> Table:
    """Its prices, the oldest first."""
    table = plain_table("Prices", ("since",), ("€", "лв", "€/m²"), "VAT, what moved")
    before: float | None = None
    for point in one.points:
        per_sqm = price_per_sqm({"price_eur": point.price_eur, "area_sqm": one.area_sqm})
        moved = _step(before, point.price_eur) if point.kind == "price" else point.kind
        cells = (point.price_eur, point.price_bgn, per_sqm)
        table.add_row(moment(point.seen_at), *map(number, cells), f"VAT {point.vat or 'not said'}, {moved}")
        before = point.price_eur
    return table


def sweeps_table(found: Sequence[Sweep]) -> Table:
    """One line for each sweep."""
    counted = ("announced", "seen", "opened", "priced", "gone")
    table = plain_table("Sweeps", ("site", "began", "ended", "complete"), counted, "job")
    for one in found:
        words = {None: "under way", True: "yes", False: "no"}[one.complete]
        counts = map(number, (one.announced, one.adverts, one.opened, one.stored, one.gone))
        ended = moment(one.finished_at) if one.finished_at else ""
        table.add_row(one.site, moment(one.started_at), ended, words, *counts, one.job_id)
    return table


def sweep_reasons(found: Sequence[Sweep]) -> Iterator[str]:
    """Why sweeps were not complete."""
    return (f"{one.job_id}: {one.reason}" for one in found if one.reason)
