"""Flats and profiles made by hand, and what is thought of them."""

from typing import Any

from sale_sofia.advice.scoring.judging import BreakerFinding, CriterionPart
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.scoring import FlatFacts, Score, Scorer, look
from sale_sofia.advice.scoring.yardsticks import Prices, Rents, Yardstick
from sale_sofia.flats.flat import Advert, Flat, Trap

SEEN_AT = 1_790_000_000.0
"""In 2026."""
KNOWN: dict[str, Any] = {
    "deal": "sale", "property_type": "apartment", "city": "София", "neighbourhood": "Лозенец", "rooms": 3,
    "area_sqm": 100.0, "area_net_sqm": 85.0, "floor": 3, "floors_total": 6, "elevator": True,
    "construction": "brick", "year_built": 2010, "act_status": "act16", "condition": "renovated",
    "orientation": ("S", "E"), "parking": ("garage",), "storage": ("basement",), "has_balcony": True,
    "bathrooms": 2, "metro_minutes": 5, "features": frozenset({"Панорама"}), "described": True, "vat": "none",
}  # fmt: skip
"""A flat of which everything is known, and nothing is wrong."""
BY = Yardstick(Prices(tuple(1500.0 + 100 * mark for mark in range(9)), 40, "rooms"), Rents(8.0, 12))
"""Marks from 1500 to 2300 EUR per m²; 8 EUR of rent."""


def advert(seller_kind: str | None = "agency", price: float | None = 180_000.0) -> Advert:
    return Advert(
        1, "imot.bg", "a", "https://x/1", "Тристаен", price, None, seller_kind, None, 1.0, 1.0, offered=True
    )


def flat(seller_kind: str | None = "agency", **fields: Any) -> Flat:  # noqa: ANN401 - any field
    """That flat; what differs is given."""
    given = {"property_id": 1, "price_eur": 180_000.0, **KNOWN, **fields}
    offered = given.pop("offered", True)
    adverts = (advert(seller_kind, given["price_eur"]),)
    return Flat(adverts=adverts, offered=offered, first_seen_at=SEEN_AT, last_seen_at=SEEN_AT, **given)


def empty_flat(**fields: Any) -> Flat:  # noqa: ANN401 - any field
    """A flat of which nothing is known; what is, is given."""
    known = {"price_eur": None, "vat": None, "offered": True, "property_id": 1, **fields}
    return Flat(adverts=(), first_seen_at=SEEN_AT, last_seen_at=SEEN_AT, **known)


def trap(quote: str) -> Trap:
    return Trap(value=True, quote=quote)


def profile(**values: Any) -> Profile:  # noqa: ANN401 - any key
    return Profile.model_validate({"budget_eur": 250_000, **values})


WISHES = profile(
    renovation_eur=30_000,
    neighbourhoods={"best": ["Лозенец"], "good": ["Изток"], "poor": ["Факултета"], "others": "fair"},
    wishes={"rooms": 3, "bathrooms": 2, "area_net_sqm": 80, "orientation": ["E", "S"]},
    must={"elevator_above_floor": 3},
    places=[{"name": "Work", "at": "Сердика"}],
)
EVERY_CONDITION = profile(
    neighbourhoods={"best": ["Лозенец"], "poor": ["Факултета"]},
    must={
        "wanted_neighbourhood": True, "rooms_least": 2, "area_least_sqm": 60, "area_net_least_sqm": 50,
        "bathrooms_least": 1,
        "not_ground_floor": True, "not_last_floor": True, "elevator_above_floor": 3, "not_panel": True,
        "act15_or_later": True, "metro_most_minutes": 15, "stop_most_minutes": 4,
        "shop_most_minutes": 10, "school_most_minutes": 15, "road": ["close", "far"],
        "orientation": ["E", "S"], "balcony_or_garden": True, "no_traps": ["share_of_ownership", "tenants"],
    },
)  # fmt: skip


SURROUNDED = profile(weights={"nearby": 10})
"""Who asks what is near."""


def seen(one: Flat, by: Yardstick = BY) -> FlatFacts:
    return look(one, lambda _cell: by)


def score(one: Flat, by_profile: Profile = WISHES, by: Yardstick = BY) -> Score:
    return Scorer(by_profile).score(seen(one, by))


def part(
    one: Flat, criterion: str, name: str, by_profile: Profile = WISHES, by: Yardstick = BY
) -> CriterionPart:
    """One part of one criterion."""
    found = {each.name: each for each in score(one, by_profile, by).criteria}[criterion]
    return {each.name: each for each in found.parts}[name]


def finding(one: Flat, breaker: str, by_profile: Profile = EVERY_CONDITION) -> BreakerFinding:
    """What one deal breaker says."""
    return {each.name: each for each in score(one, by_profile).findings}[breaker]
