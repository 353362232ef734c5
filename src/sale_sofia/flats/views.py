"""Views of properties: lists, details, and the pairs that await the buyer's review."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import Connection, Select, and_, case, func, select

from sale_sofia.flats.flat import Flat
from sale_sofia.flats.merging import PropertyMerger, Row
from sale_sofia.flats.prices import all_offers, compare, vat_state
from sale_sofia.flats.rows import find_flat, read_flats
from sale_sofia.flats.settings import STATIONS_NAMED
from sale_sofia.flats.store import OFFERED, listing_rows, members_of, read_doubts, resolve
from sale_sofia.flats.tables import flats as flat_rows
from sale_sofia.flats.tables import listing_sources, match_decisions, match_links
from sale_sofia.geography.metro import nearest_stations
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import compared

Order = Literal["newest", "cheapest", "adverts", "discrepancy"]


class PropertyLine(NamedTuple):
    """One property in a list. Prices are those still on offer, with VAT where it surely comes on top."""

    id: int
    adverts: int
    offered: int
    portals: int
    lowest_eur: float | None
    highest_eur: float | None
    area_sqm: float | None
    rooms: int | None
    floor: int | None
    neighbourhood: str | None
    first_seen_at: float
    last_seen_at: float


class ReviewLine(NamedTuple):
    """Two properties that may be the same, by their likeliest pair of adverts."""

    probability: float
    property_id: int
    other_id: int
    low: int
    high: int
    joins: int
    """The number of pairs of adverts that a yes would join: each of one with each of the other."""
    unsure_since: float | None = None
    """Since when the buyer is unsure, in seconds since 1970."""


_BELIEVED = ("area_sqm", "rooms", "floor", "neighbourhood")


def list_properties(connection: Connection, *, order: Order, limit: int) -> list[PropertyLine]:
    """The properties, each with its believed facts; the cheapest by the table of flats, as it is."""
    price = case((OFFERED, listings.c.price_eur))
    numbers = (
        select(
            listing_sources.c.property_id.label("id"),
            func.count().label("adverts"),
            func.sum(case((OFFERED, 1), else_=0)).label("offered"),
            func.count(listings.c.site.distinct()).label("portals"),
            func.min(price).label("lowest_eur"),
            func.max(price).label("highest_eur"),
            func.count(case((price.is_not(None), func.coalesce(listings.c.vat, ""))).distinct()).label(
                "vats"
            ),
            func.min(listings.c.first_seen_at).label("first_seen_at"),
            func.max(listings.c.last_seen_at).label("last_seen_at"),
        )
        .join(listings, listings.c.id == listing_sources.c.listing_id)
        .group_by(listing_sources.c.property_id)
        .subquery()
    )
    # Prices with different or unknown VAT are not compared.
    discrepancy = case((numbers.c.vats == 1, numbers.c.highest_eur - numbers.c.lowest_eur))
    paid = flat_rows.c.price_least
    ordered = {
        "newest": (numbers.c.first_seen_at.desc(),),
        "cheapest": (numbers.c.lowest_eur.is_(None), paid.is_(None), paid),
        "adverts": (numbers.c.adverts.desc(),),
        "discrepancy": (discrepancy.is_(None), discrepancy.desc()),
    }[order]
    query = select(*(column for column in numbers.c if column.name in PropertyLine._fields))
    query = query.outerjoin(flat_rows, flat_rows.c.property_id == numbers.c.id)
    rows = connection.execute(query.order_by(*ordered, numbers.c.id).limit(limit)).mappings().all()
    flats = {flat.property_id: flat for flat in read_flats(connection, [row["id"] for row in rows], photos=0)}
    return [PropertyLine(**{**row, **_believed(flats[row["id"]])}) for row in rows]


def _believed(flat: Flat) -> dict[str, Any]:
    prices = [offer.paid.least for offer in all_offers(flat)]
    return {
        "lowest_eur": min(prices, default=None),
        "highest_eur": max(prices, default=None),
        **{name: getattr(flat, name) for name in _BELIEVED},
    }


def count_properties(connection: Connection) -> tuple[int, int]:
    """How many properties there are, and how many adverts they have."""
    count = select(func.count(listing_sources.c.property_id.distinct()), func.count())
    row = connection.execute(count.select_from(listing_sources)).one()
    return row[0], row[1]


def review_queue(connection: Connection, *, limit: int) -> list[ReviewLine]:
    """Pairs of properties that may be the same and that the buyer has not decided on, by whichever advert.

    First come those whose answer is expected to settle most: the probability of a yes times the pairs of
    adverts it joins. Some score high but contain a contradiction. Those on which the buyer is unsure come
    last, the longest unsure first.
    """
    doubts = read_doubts(connection)
    parted = {frozenset(row) for row in connection.execute(_PARTED)}
    best: dict[frozenset[int], ReviewLine] = {}
    unsure: dict[frozenset[int], ReviewLine] = {}
    for row in connection.execute(_waiting()):
        pair = frozenset(row[1:3])
        if pair in parted:
            continue
        if (since := doubts.get(pair)) is not None:
            unsure.setdefault(pair, ReviewLine(*row)._replace(unsure_since=since))
        else:
            best.setdefault(pair, ReviewLine(*row))
        if len(best) == limit:
            break
    last = sorted(unsure.values(), key=lambda line: line.unsure_since or 0.0)
    return [*best.values(), *last][:limit]


_LOW, _HIGH = listing_sources.alias("low_source"), listing_sources.alias("high_source")
_PARTED: Final = (
    select(_LOW.c.property_id, _HIGH.c.property_id)
    .select_from(match_decisions)
    .join(_LOW, _LOW.c.listing_id == match_decisions.c.low)
    .join(_HIGH, _HIGH.c.listing_id == match_decisions.c.high)
    .where(match_decisions.c.same.is_(False))
)
"""The pairs of properties that the buyer keeps apart; adverts that came to them later change nothing."""


def _waiting() -> Select[Any]:
    """Undecided pairs of adverts of two properties, those that settle most first."""
    low, high = _LOW, _HIGH
    size = select(listing_sources.c.property_id, func.count().label("adverts"))
    sizes = size.group_by(listing_sources.c.property_id)
    ours, theirs = sizes.subquery("ours"), sizes.subquery("theirs")
    joins = ours.c.adverts * theirs.c.adverts
    spoken = and_(match_decisions.c.low == match_links.c.low, match_decisions.c.high == match_links.c.high)
    return (
        select(
            match_links.c.probability,
            low.c.property_id,
            high.c.property_id,
            match_links.c.low,
            match_links.c.high,
            joins,
        )
        .join(low, low.c.listing_id == match_links.c.low)
        .join(high, high.c.listing_id == match_links.c.high)
        .join(ours, ours.c.property_id == low.c.property_id)
        .join(theirs, theirs.c.property_id == high.c.property_id)
        .outerjoin(match_decisions, spoken)
        .where(low.c.property_id != high.c.property_id, match_decisions.c.same.is_(None))
        .order_by((match_links.c.probability * joins).desc(), match_links.c.low, match_links.c.high)
    )


# A property for display: merged, with every advert's offer and why it belongs there.

View = dict[str, Any]
_SHOWN = (
    "site", "url", "title", "price_eur", "area_sqm", "rooms", "floor", "floors_total", "neighbourhood",
    "year_built",
)  # fmt: skip


def metro_stations(flat: Flat) -> list[View]:
    """The nearest stations with the minutes on foot to each; empty if the flat's place is not exact."""
    near = nearest_stations(flat.exact_place, STATIONS_NAMED) if flat.exact_place else ()
    return [
        {"name": station.name, "lines": station.lines, "minutes": round(minutes)} for station, minutes in near
    ]


def nearby_record(flat: Flat) -> View:
    """What is near the flat, for JSON; null where unknown."""
    near = flat.nearby
    places = {name: place and place._asdict() for name, place in near._asdict().items() if name != "road"}
    return {**places, "road": near.road and near.road.known, "source": flat.exactness}


def show_property(connection: Connection, property_id: int, *, now: float) -> View:
    """All details of a property; an old id leads to the current one."""
    found = resolve(connection, property_id)
    members = members_of(connection, [found])
    adverts = listing_rows(connection, [source.listing_id for source in members])
    flat = find_flat(connection, found)
    view = merged_view(flat, adverts)
    view["position"] = {"exactness": flat.exactness, "lat": flat.lat, "lon": flat.lon}
    view["centre_travel"] = flat.centre_travel._asdict() if flat.centre_travel else None
    view["metro_walk"] = flat.metro_walk._asdict() if flat.metro_walk else None
    view["metro_stations"] = metro_stations(flat)
    view["nearby"] = nearby_record(flat)
    at, source = flat.since
    view["on_market"] = {"since": at, "source": source, "days": flat.days_on_market(now)}
    view["offered_before"] = [offer._asdict() for offer in flat.offered_before]
    view["links"] = [
        {
            "listing_id": source.listing_id,
            "decided_by": source.decided_by,
            "probability": source.probability,
            "evidence": dict(source.evidence),
        }
        for source in members
    ]
    return view


YOU: Final = "you"
"""The source of a fact that the buyer corrected, in place of a portal."""


def merged_view(flat: Flat, adverts: Sequence[Row]) -> View:
    """Each believed fact with its source, the contradictions, and the offers compared."""
    view = PropertyMerger().merge(flat.property_id, adverts)
    facts = {name: _fact_view(name, getattr(flat, name), fact) for name, fact in view["fields"].items()}
    corrected = {
        name: {
            "value": correction.value,
            "site": YOU,
            "seen_at": correction.said_at,
            "adverts": [],
            "others": [],
        }
        for name, correction in flat.corrected.items()
    }
    view["fields"] = {name: fact for name, fact in (facts | corrected).items() if fact}
    view["contradictions"] = [contradiction._asdict() for contradiction in flat.contradictions]
    return view | _compared(flat, view["offers"])


def _compared(flat: Flat, printed: Sequence[View]) -> View:
    """The offers with VAT, the cheapest first, and the difference between them, if exact."""
    offers = {offer.advert.listing_id: offer for offer in all_offers(flat)}
    # Of two with the same bound, the exact one.
    lowest = min(offers.values(), key=lambda offer: (offer.paid.least, not offer.paid.exact), default=None)
    highest = max(offers.values(), key=lambda offer: (offer.paid.most or inf, offer.paid.exact), default=None)

    def compare_offer(view: View) -> View:
        offer = offers.get(view["listing_id"])
        more = compare(offer, lowest) if offer and lowest else None
        return view | {
            "vat_state": vat_state(flat, view["vat"]) if view["price_eur"] else None,
            "above_lowest_eur": more.eur if more else None,
            "above_lowest_percent": more.percent if more else None,
        }

    place = {listing_id: place for place, listing_id in enumerate(offers)}
    ordered = sorted(printed, key=lambda view: place.get(view["listing_id"], len(place)))
    if lowest is None or highest is None:
        return {"offers": list(map(compare_offer, ordered)), "price": None}
    apart = compare(highest, lowest)
    price = {
        "lowest_eur": lowest.advert.price_eur,
        "lowest_vat": vat_state(flat, lowest.advert.vat),
        "highest_eur": highest.advert.price_eur,
        "highest_vat": vat_state(flat, highest.advert.vat),
        "difference_eur": apart.eur if apart else None,
        "difference_percent": apart.percent if apart else None,
    }
    return {"offers": list(map(compare_offer, ordered)), "price": price}


def _fact_view(name: str, believed: object, fact: View) -> View | None:
    """Who prints the believed value, with all other values; None if nobody does."""
    views = [fact, *fact["others"]]
    plain = compared(name, list(believed) if isinstance(believed, tuple) else believed)
    chosen = next((view for view in views if compared(name, view["value"]) == plain), None)
    return chosen and {**chosen, "others": [view for view in views if view["value"] != chosen["value"]]}


def show_review(connection: Connection, lines: Sequence[ReviewLine]) -> list[View]:
    """Pairs that await the buyer's decision, with the columns of both adverts."""
    ids = sorted({listing_id for line in lines for listing_id in (line.low, line.high)})
    adverts: Mapping[int, Any] = {row["id"]: row for row in listing_rows(connection, ids)}
    return [
        {
            "properties": [line.property_id, line.other_id],
            "probability": line.probability,
            "joins": line.joins,
            "unsure_since": line.unsure_since,
            "adverts": [
                {"listing_id": listing_id, **{name: adverts[listing_id][name] for name in _SHOWN}}
                for listing_id in (line.low, line.high)
            ],
        }
        for line in lines
    ]
