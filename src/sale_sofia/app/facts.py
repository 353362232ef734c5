"""The facts of a flat as text: the value, its source and date, and what other adverts say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.app import formatting as fmt
from sale_sofia.app.words import say, word_for
from sale_sofia.flats.flat import Contradiction, Flat
from sale_sofia.flats.merging import MERGED
from sale_sofia.flats.views import YOU, metro_stations
from sale_sofia.geography.nearby import ranked_schools, schools_file
from sale_sofia.geography.settings import ROAD_CLASS_METRES
from sale_sofia.geography.surroundings import Nearby, Nearest, Road, line_kind, line_number
from sale_sofia.listings.text import plain
from sale_sofia.settings.words import dictionary

_NAMED: Final = (
    "deal", "property_type", "construction", "act_status", "furnishing", "condition", "parking_status",
)  # fmt: skip
_LISTED: Final = ("heating", "orientation", "parking", "storage")
_ORDERED: Final = (
    "deal", "property_type", "rooms", "bedrooms", "bathrooms", "wc_separate", "area_sqm", "area_net_sqm",
    "yard_sqm", "floor", "floors_total", "elevator", "construction", "year_built", "under_construction",
    "act_status", "condition", "furnishing", "heating", "orientation", "has_balcony", "balconies", "storage",
    "parking", "parking_status", "city", "district", "neighbourhood", "street", "metro_walk",
    "metro_station", "metro_distance_m", "metro_minutes", "centre_travel", *Nearby._fields,
)  # fmt: skip
FACTS: Final = (*_ORDERED, *(name for name in MERGED if name not in _ORDERED))
"""Every fact that is shown, in the order of the page."""


def _nearest_text(nearest: Nearest, more: str = "") -> str:
    """`5 мин · Lidl`, and more if given."""
    return " · ".join(
        part
        for part in (fmt.walk(nearest.least, nearest.most), nearest.name and plain(nearest.name), more)
        if part
    )


def _school(nearest: Nearest) -> str:
    ranks = "–".join(dict.fromkeys(map(str, nearest.ranks or ())))
    return _nearest_text(nearest, say("nearby.rank", rank=ranks, of=ranked_schools()) if ranks else "")


def _line_names(lines: Sequence[str]) -> str:
    """`трамвай 10, 15; автобус Х9`."""
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(line_kind(line), []).append(plain(line_number(line)))
    return "; ".join(
        f"{say(f'line.{kind}')} {', '.join(numbers)}" if kind else ", ".join(numbers)
        for kind, numbers in kinds.items()
    )


def _road(road: Road) -> str:
    """The class of the road; where several are possible, what holds for all of them."""
    if road.known:
        return word_for("road", road.known)
    if road.most < len(ROAD_CLASS_METRES):
        return say("road.within", m=f"{ROAD_CLASS_METRES[road.most]:g}")
    return say("road.over", m=f"{ROAD_CLASS_METRES[road.least - 1]:g}") if road.least else fmt.UNKNOWN


_NUMBERS: Final[Mapping[str, Callable[[Any], str]]] = {
    "area_sqm": fmt.area,
    "area_net_sqm": fmt.area,
    "yard_sqm": fmt.area,
    "rooms": lambda value: word_for("rooms", min(value, 5)),
    "floor": lambda value: say("floor.ground") if value == 0 else str(value),
    "metro_walk": lambda walk: fmt.walk(walk.least, walk.most),
    "centre_travel": lambda travel: fmt.walk(travel.least, travel.most),
    "metro_distance_m": fmt.distance,
    "metro_minutes": lambda value: fmt.distance(None, value),
    "school": _school,
    "shop": _nearest_text,
    "stop": lambda nearest: _nearest_text(nearest, _line_names(nearest.lines)),
    "road": _road,
}


class Fact(NamedTuple):
    """A fact as text."""

    key: str
    name: str
    value: str
    source: str
    others: str
    """What other adverts say instead."""

    @property
    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.value != fmt.UNKNOWN


def value_of(name: str, flat: Flat) -> Any:  # noqa: ANN401 - a fact of any kind
    """The flat's value of one of `FACTS`."""
    return getattr(flat.nearby if name in Nearby._fields else flat, name)


def fact(name: str, value: Any) -> str:  # noqa: ANN401 - a fact of any kind
    """A fact's value as text; "?" where it is unknown."""
    if value is None or value in ((), []):
        return fmt.UNKNOWN
    if name in _NUMBERS:
        return _NUMBERS[name](value)
    if isinstance(value, bool):
        return fmt.yes_no(value)
    if name in _LISTED:
        return ", ".join(word_for(name, part) for part in value)
    return word_for(name, value) if name in _NAMED else plain(value)


def facts_of(flat: Flat, fields: Mapping[str, Mapping[str, Any]]) -> list[Fact]:
    """All facts; `fields` are those that portals print."""
    return [_fact(name, flat, fields.get(name)) for name in FACTS]


def _fact(name: str, flat: Flat, printed: Mapping[str, Any] | None) -> Fact:
    value = fact(name, value_of(name, flat))
    if name in Nearby._fields:
        return Fact(name, say(f"fact.{name}"), value, _nearby_source(name, flat, value), "")
    others: Sequence[Mapping[str, Any]] = printed["others"] if printed else ()
    differing = "; ".join(
        f"{fact(name, other['value'])} ({other['site']}, {fmt.day(other['seen_at'])})" for other in others
    )
    differs = say("facts.differs", others=differing) if differing else ""
    walk = getattr(flat, name) if name in {"metro_walk", "centre_travel"} else None
    source = say(f"walk.{walk.source}") if walk and walk.source != "advert" else _source(value, printed)
    if name == "metro_walk" and (near := metro_stations(flat)):
        source += ": " + ", ".join(f"{station['name']} {station['minutes']}" for station in near)
    return Fact(name, say(f"fact.{name}"), value, source, differs)


def _nearby_source(name: str, flat: Flat, value: str) -> str:
    """The data it comes from, and whether it is measured from the flat or its neighbourhood."""
    if value == fmt.UNKNOWN:
        return say("nearby.unknown")
    by = say("walk.position" if flat.exact_place else "walk.neighbourhood")
    return f"{say(f'nearby.{name}', file=schools_file())}, {by}"


def own_places(flat: Flat, profile: Profile) -> list[Fact]:
    """Minutes to each of the buyer's own places."""
    travels = [(own.name, flat.travel_to(own.place)) for own in profile.places]
    return [
        Fact(
            f"place.{name}",
            say("fact.own_place", name=name),
            fact("centre_travel", travel),
            say(f"walk.{travel.source}") if travel else "",
            "",
        )
        for name, travel in travels
    ]


def metro_words(flat: Flat) -> str:
    """The walk to the metro: computed, or else what adverts say."""
    walk = flat.metro_walk
    if walk is None or walk.source == "advert":
        return fmt.distance(flat.metro_distance_m, flat.metro_minutes)
    return fmt.walk(walk.least, walk.most)


def _source(value: str, printed: Mapping[str, Any] | None) -> str:
    if printed is not None:
        who = say("facts.you") if printed["site"] == YOU else plain(printed["site"])
        return f"{who}, {fmt.day(printed['seen_at'])}"
    return "" if value == fmt.UNKNOWN else say("facts.description")


def asked(flat: Flat) -> str:
    """The price as printed; where a description says so, that prices only begin there."""
    price, begins = fmt.euro(flat.price_eur), "price_from" in flat.traps
    return say("card.from", price=price) if begins and flat.price_eur is not None else price


def contact(flat: Flat, rows: Mapping[int, Mapping[Any, Any]]) -> tuple[str | None, str | None]:
    """Whom to call: name and phone of one advert, the cheapest with a phone; without any, a name alone."""
    own = [rows[advert.listing_id] for advert in flat.adverts]
    row = next((row for name in ("phones", "seller_name") for row in own if row[name]), None)
    if row is None:
        return None, None
    return plain(row["seller_name"] or "") or None, next(map(dialled, row["phones"]), None)


def dialled(phone: str) -> str:
    """A phone as it is dialled."""
    return "".join(sign for sign in str(phone) if sign.isdigit() or sign == "+")


def contradiction(clash: Contradiction) -> str:
    """A contradiction in a sentence, with what is believed nevertheless."""
    least, most = clash.other if isinstance(clash.other, tuple) else (clash.other, clash.other)
    values = {
        "one": _side_text(clash, clash.one),
        "other": _side_text(clash, clash.other),
        "least": least,
        "most": most,
    }
    names = ", ".join(say(f"fact.{name}") for name in clash.facts)
    outcome = "facts.doubted" if clash.kept is None else "facts.kept"
    return f"{say(f'contradiction.{clash.code}', **values)} {say(outcome, facts=names)}"


def _side_text(clash: Contradiction, value: Any) -> str:  # noqa: ANN401 - a fact of any kind
    """A number as it is; a value of a vocabulary by its name."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain(value)  # three rooms have a word, three bedrooms none
    names = (f"{name}.{value}" for name in (*clash.facts, *_NAMED))
    return next((say(name) for name in names if name in dictionary()), plain(value))
