"""Everything about one property, read at one moment from the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from sale_sofia.data.evaluation_ids import current_property
from sale_sofia.data.evaluations import Evaluation, evaluation_of
from sale_sofia.data.history_schema import market_events
from sale_sofia.data.notes import Note, notes_of
from sale_sofia.data.price_steps import PriceStep, price_steps
from sale_sofia.data.properties import Source, listing_rows, sources_of
from sale_sofia.data.viewings import Viewing, viewings_of
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.insights.flats import Flat
from sale_sofia.properties.merger import PropertyMerger

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MarketEvent:
    """An advert that left the market, or came back; the moment is in seconds since 1970."""

    listing_id: int
    kind: str
    at: float


@dataclass(frozen=True, slots=True)
class PropertyData:
    """One property with all that is known and was said of it."""

    flat: Flat
    adverts: Mapping[int, Row]
    """The stored adverts by id."""
    view: Row
    """Facts with who says so and since when, and offers with their prices; see `PropertyMerger`."""
    sources: Mapping[int, Source]
    """Why each advert is one of this property."""
    steps: Mapping[int, Sequence[PriceStep]]
    events: Sequence[MarketEvent]
    evaluation: Evaluation
    notes: Sequence[Note]
    viewings: Sequence[Viewing]


def read_property(connection: Connection, property_id: int) -> PropertyData:
    """The property that this id leads to now.

    Raises:
        UnknownProperty: no property ever had it.
    """
    found = current_property(connection, property_id)
    (flat,) = read_flats(connection, [found])
    ids = [advert.listing_id for advert in flat.adverts]
    rows = listing_rows(connection, ids)
    return PropertyData(
        flat=flat,
        adverts={row["id"]: dict(row) for row in rows},
        view=PropertyMerger().merge(found, rows),
        sources={source.listing_id: source for source in sources_of(connection, ids)},
        steps=price_steps(connection, ids),
        events=_events(connection, ids),
        evaluation=evaluation_of(connection, found),
        notes=notes_of(connection, found),
        viewings=viewings_of(connection, found),
    )


def _events(connection: Connection, ids: Sequence[int]) -> list[MarketEvent]:
    table = market_events
    chosen = select(table.c.listing_id, table.c.kind, table.c.at).where(table.c.listing_id.in_(ids))
    return [MarketEvent(*row) for row in connection.execute(chosen.order_by(table.c.at, table.c.id))]
