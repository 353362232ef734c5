"""Viewings as entries of a calendar, each with what a person wants to know on the way there."""

from collections.abc import Collection, Iterator

from sqlalchemy import Connection

from sale_sofia.data.calendar_file import Event
from sale_sofia.data.viewings import Viewing, all_viewings
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.insights.flats import Flat

_SECONDS_PER_MINUTE = 60


def viewing_events(connection: Connection, property_ids: Collection[int] | None = None) -> list[Event]:
    """The viewings of these properties, or of all, in the order of time; the cancelled too, marked so."""
    chosen = [
        one for one in all_viewings(connection) if property_ids is None or one.property_id in property_ids
    ]
    flats = {flat.property_id: flat for flat in read_flats(connection, {one.property_id for one in chosen})}
    return [_event(one, flats[one.property_id]) for one in chosen]


def _event(viewing: Viewing, flat: Flat) -> Event:
    return Event(
        uid=viewing.uid,
        revision=viewing.revision,
        starts_at=viewing.starts_at,
        ends_at=viewing.starts_at + viewing.minutes * _SECONDS_PER_MINUTE,
        changed_at=viewing.changed_at,
        cancelled=viewing.state == "cancelled",
        summary=f"Оглед: {', '.join(_facts(flat))}",
        place=viewing.place
        or ", ".join(part for part in (flat.city, flat.neighbourhood, flat.street) if part),
        description="\n".join(_description(viewing, flat)),
        url=flat.adverts[0].url,
    )


def _facts(flat: Flat) -> Iterator[str]:
    """What is known of the flat, shortly."""
    if flat.rooms is not None:
        yield f"{flat.rooms}-стаен"
    if flat.area_sqm is not None:
        yield f"{flat.area_sqm:g} m²"
    if flat.neighbourhood is not None:
        yield flat.neighbourhood
    if flat.price_eur is not None:
        yield f"€ {flat.price_eur:,.0f}".replace(",", " ")
    yield f"№ {flat.property_id}"


def _description(viewing: Viewing, flat: Flat) -> Iterator[str]:
    texts = {"Агент": viewing.agent, "Телефон": viewing.phone, "Бележки": viewing.remarks}
    yield from (f"{name}: {text}" for name, text in texts.items() if text)
    yield from (f"+ {text}" for text in viewing.positives)
    yield from (f"- {text}" for text in viewing.negatives)
    if viewing.outcome:
        yield f"Резултат: {viewing.outcome}"
    yield flat.adverts[0].url
