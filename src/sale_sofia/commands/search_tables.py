"""Flats that a search found: as a table for people, as records for programs."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from sale_sofia.commands.crawl_tables import number
from sale_sofia.commands.tables import plain_table
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.searching_around import SECONDS_PER_DAY, Around
from sale_sofia.insights.searching_run import Judged

_FACTS = (
    "title", "price_eur", "vat", "area_sqm", "area_net_sqm", "rooms", "floor", "floors_total", "construction",
    "year_built", "act_status", "condition", "furnishing", "elevator", "city", "district", "neighbourhood",
    "metro_distance_m", "metro_minutes", "offered", "first_seen_at", "last_seen_at",
)  # fmt: skip


def flats_table(title: str, found: Sequence[Judged], around: Around) -> Table:
    """A line for each flat, and under it the address of its cheapest advert."""
    numbers = ("rooms", "m²", "floor", "€", "€/m²", "days", *(("score",) if around.scores else ()))
    table = plain_table(title, ("id", "neighbourhood"), numbers)
    table.add_column("status", no_wrap=True)
    table.add_column("not known" if any(one.unknown for one in found) else "portals")
    for one in found:
        table.add_row(*_cells(one, around))
    return table


def _cells(one: Judged, around: Around) -> tuple[str, ...]:
    flat = one.flat
    return (
        str(flat.property_id),
        flat.neighbourhood or "?",
        number(flat.rooms),
        number(flat.area_sqm),
        f"{number(flat.floor)}/{number(flat.floors_total)}",
        _price(flat),
        number(flat.price_per_sqm_eur),
        number(days(flat, around)),
        *_score(flat, around),
        _status(flat, around),
        ", ".join(one.unknown or _portals(flat)),
    )


def _price(flat: Flat) -> str:
    return f"{number(flat.price_eur)}{' +VAT' if flat.vat == 'excluded' else ''}"


def _score(flat: Flat, around: Around) -> tuple[str, ...]:
    """Its points, and how much of the score is known."""
    if not around.scores:
        return ()
    scored = around.scores.get(flat.property_id)
    return ("?",) if scored is None else (f"{scored.points:.2f} ({scored.known:.0%})",)


def _status(flat: Flat, around: Around) -> str:
    status = around.statuses.get(flat.property_id, "new")
    return status if flat.offered else f"{status}, gone"


def days(flat: Flat, around: Around) -> float:
    """How long the flat has been on the market."""
    return (around.now - flat.first_seen_at) / SECONDS_PER_DAY


def _portals(flat: Flat) -> list[str]:
    return sorted({advert.site for advert in flat.adverts if advert.offered or not flat.offered})


def flat_record(one: Judged, around: Around) -> dict[str, Any]:
    """One flat for programs."""
    flat = one.flat
    per_sqm = flat.price_per_sqm_eur
    scored = (around.scores or {}).get(flat.property_id)
    return {
        "property_id": flat.property_id,
        "url": flat.adverts[0].url,
        **{name: getattr(flat, name) for name in _FACTS},
        "eur_sqm": None if per_sqm is None else round(per_sqm, 2),
        "days": round(days(flat, around), 2),
        "status": around.statuses.get(flat.property_id, "new"),
        "score": None if scored is None else scored._asdict(),
        "adverts": len(flat.adverts),
        "portals": _portals(flat),
        "unknown": list(one.unknown),
    }
