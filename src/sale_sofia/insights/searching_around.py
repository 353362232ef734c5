"""What a search asks beside the flat itself: the buyer's status, price cuts, scores, the adverts' words."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.config.history import SECONDS_PER_HOUR
from sale_sofia.data.evaluations import statuses
from sale_sofia.data.insight_schema import scored_flats, scores
from sale_sofia.data.listing_schema import listings, price_points
from sale_sofia.data.price_steps import PriceStep, price_steps
from sale_sofia.data.properties_state import portions
from sale_sofia.insights.flats import Flat
from sale_sofia.insights.judging import State
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.listings.text import match_key

SECONDS_PER_DAY: Final = 24 * SECONDS_PER_HOUR


class Scored(NamedTuple):
    """A flat's stored score for the profile that is asked."""

    verdict: State
    points: float
    value: float | None
    known: float


_UNWANTED: Final = Scored(State.FAIL, 0.0, None, 0.0)


@dataclass(frozen=True, slots=True)
class Around:
    """All that is known beside the flats, at one moment. None: it was not read."""

    now: float
    statuses: Mapping[int, str] = field(default_factory=dict)
    """By property; one that is not in it is new."""
    cuts: Mapping[int, float] | None = None
    """By advert: by how many per cent it got cheaper within the days that are asked."""
    scores: Mapping[int, Scored] | None = None
    """By property, for the profile that is asked; one that is not in it was not scored."""
    texts: Mapping[int, str] | None = None
    """By advert: its words, as `match_key` makes them comparable."""


def read_around(connection: Connection, query: SearchQuery, *, now: float) -> Around:
    """Everything that a query asks but the words, which are many: see `with_words`."""
    cuts = None if query.cut_days is None else _cuts(connection, now - query.cut_days * SECONDS_PER_DAY)
    scored = None if query.profile is None else _scores(connection, query.profile)
    return Around(now, statuses(connection), cuts, scored)


def with_words(connection: Connection, around: Around, flats: Iterable[Flat]) -> Around:
    """The same, and the words of these flats' adverts."""
    ids = sorted(advert.listing_id for flat in flats for advert in flat.adverts)
    columns = select(listings.c.id, listings.c.title, listings.c.description)
    texts = {
        row.id: match_key(f"{row.title or ''}\n{row.description or ''}")
        for some in portions(ids)
        for row in connection.execute(columns.where(listings.c.id.in_(some)))
    }
    return replace(around, texts=texts)


def _scores(connection: Connection, profile: str) -> dict[int, Scored]:
    """The stored scores; an offered flat that was looked at and has none is not what the profile wants."""
    columns = (scores.c[name] for name in ("property_id", *Scored._fields))
    rows = connection.execute(select(*columns).where(scores.c.profile == profile))
    found = {row[0]: Scored(State(row[1]), *row[2:]) for row in rows}
    seen = connection.scalars(select(scored_flats.c.property_id).where(scored_flats.c.offered))
    return {**dict.fromkeys(seen, _UNWANTED), **found} if found else {}


def _cuts(connection: Connection, since: float) -> dict[int, float]:
    """By how many per cent the price of each advert fell since a moment; where it rose, it is not in it."""
    moved = select(price_points.c.listing_id).where(
        price_points.c.kind == "price", price_points.c.seen_at >= since
    )
    steps = price_steps(connection, set(connection.scalars(moved)))
    left = {listing_id: math.prod(_ratios(points, since)) for listing_id, points in steps.items()}
    return {listing_id: (1 - share) * 100 for listing_id, share in left.items() if share < 1}


def _ratios(points: Sequence[PriceStep], since: float) -> Iterable[float]:
    """Of each step since then, the share of the price that it left; steps of VAT or currency are none."""
    for before, after in pairwise(points):
        if after.kind == "price" and after.seen_at >= since and before.price_eur and after.price_eur:
            yield after.price_eur / before.price_eur
