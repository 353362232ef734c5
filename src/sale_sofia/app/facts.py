"""The facts of a flat in words: what is known, who says so and since when, and who says otherwise."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.app import formatting as shown
from sale_sofia.app.words import named, say
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


def _walked(found: Nearest, more: str = "") -> str:
    """`5 мин · Lidl`, and what else is told of it."""
    return " · ".join(
        one for one in (shown.walk(found.least, found.most), found.name and plain(found.name), more) if one
    )


def _school(found: Nearest) -> str:
    ranks = "–".join(dict.fromkeys(map(str, found.ranks or ())))
    return _walked(found, say("nearby.rank", rank=ranks, of=ranked_schools()) if ranks else "")


def _line_names(lines: Sequence[str]) -> str:
    """`трамвай 10, 15; автобус Х9`."""
    kinds: dict[str, list[str]] = {}
    for line in lines:
        kinds.setdefault(line_kind(line), []).append(plain(line_number(line)))
    return "; ".join(
        f"{say(f'line.{kind}')} {', '.join(some)}" if kind else ", ".join(some)
        for kind, some in kinds.items()
    )


def _road(found: Road) -> str:
    """Its class; of several what holds for all of them."""
    if found.known:
        return named("road", found.known)
    if found.most < len(ROAD_CLASS_METRES):
        return say("road.within", m=f"{ROAD_CLASS_METRES[found.most]:g}")
    return say("road.over", m=f"{ROAD_CLASS_METRES[found.least - 1]:g}") if found.least else shown.UNKNOWN


_NUMBERS: Final[Mapping[str, Callable[[Any], str]]] = {
    "area_sqm": shown.area,
    "area_net_sqm": shown.area,
    "yard_sqm": shown.area,
    "rooms": lambda value: named("rooms", min(value, 5)),
    "floor": lambda value: say("floor.ground") if value == 0 else str(value),
    "metro_walk": lambda walk: shown.walk(walk.least, walk.most),
    "centre_travel": lambda travel: shown.walk(travel.least, travel.most),
    "metro_distance_m": shown.distance,
    "metro_minutes": lambda value: shown.distance(None, value),
    "school": _school,
    "shop": _walked,
    "stop": lambda found: _walked(found, _line_names(found.lines)),
    "road": _road,
}


class Fact(NamedTuple):
    """One fact, ready to be shown."""

    key: str
    name: str
    value: str
    source: str
    others: str
    """What other adverts say instead."""

    @property
    def known(self) -> bool:
        """Whether anybody tells it."""
        return self.value != shown.UNKNOWN


def value_of(name: str, flat: Flat) -> Any:  # noqa: ANN401 - a fact of any kind
    """What is known of one of `FACTS`."""
    return getattr(flat.nearby if name in Nearby._fields else flat, name)


def fact(name: str, value: Any) -> str:  # noqa: ANN401 - a fact of any kind
    """A fact's value in words; unknown is "?"."""
    if value is None or value in ((), []):
        return shown.UNKNOWN
    if name in _NUMBERS:
        return _NUMBERS[name](value)
    if isinstance(value, bool):
        return shown.yes_no(value)
    if name in _LISTED:
        return ", ".join(named(name, one) for one in value)
    return named(name, value) if name in _NAMED else plain(value)


def facts_of(flat: Flat, fields: Mapping[str, Mapping[str, Any]]) -> list[Fact]:
    """All facts; `fields` are those that portals print."""
    return [_fact(name, flat, fields.get(name)) for name in FACTS]


def _fact(name: str, flat: Flat, told: Mapping[str, Any] | None) -> Fact:
    value = fact(name, value_of(name, flat))
    if name in Nearby._fields:
        return Fact(name, say(f"fact.{name}"), value, _nearby_source(name, flat, value), "")
    others: Sequence[Mapping[str, Any]] = told["others"] if told else ()
    said = "; ".join(
        f"{fact(name, one['value'])} ({one['site']}, {shown.day(one['seen_at'])})" for one in others
    )
    differs = say("facts.differs", others=said) if said else ""
    walk = getattr(flat, name) if name in {"metro_walk", "centre_travel"} else None
    source = say(f"walk.{walk.source}") if walk and walk.source != "advert" else _source(value, told)
    if name == "metro_walk" and (near := metro_stations(flat)):
        source += ": " + ", ".join(f"{one['name']} {one['minutes']}" for one in near)
    return Fact(name, say(f"fact.{name}"), value, source, differs)


def _nearby_source(name: str, flat: Flat, value: str) -> str:
    """From where it is known: which data, and by what of the flat."""
    if value == shown.UNKNOWN:
        return say("nearby.unknown")
    by = say("walk.position" if flat.exact_place else "walk.neighbourhood")
    return f"{say(f'nearby.{name}', file=schools_file())}, {by}"


def own_places(flat: Flat, profile: Profile) -> list[Fact]:
    """Minutes to each of the places that the buyer names."""
    found = [(one.name, flat.travel_to(one.place)) for one in profile.places]
    return [
        Fact(
            f"place.{name}",
            say("fact.own_place", name=name),
            fact("centre_travel", travel),
            say(f"walk.{travel.source}") if travel else "",
            "",
        )
        for name, travel in found
    ]


def metro_words(flat: Flat) -> str:
    """The walk to the metro: worked out, or else what adverts say."""
    walk = flat.metro_walk
    if walk is None or walk.source == "advert":
        return shown.distance(flat.metro_distance_m, flat.metro_minutes)
    return shown.walk(walk.least, walk.most)


def _source(value: str, told: Mapping[str, Any] | None) -> str:
    if told is not None:
        who = say("facts.you") if told["site"] == YOU else plain(told["site"])
        return f"{who}, {shown.day(told['seen_at'])}"
    return "" if value == shown.UNKNOWN else say("facts.description")


def contradiction(one: Contradiction) -> str:
    """What contradicts what, and what is believed all the same."""
    least, most = one.other if isinstance(one.other, tuple) else (one.other, one.other)
    told = {"one": _said(one, one.one), "other": _said(one, one.other), "least": least, "most": most}
    doubted = ", ".join(say(f"fact.{name}") for name in one.facts)
    outcome = "facts.doubted" if one.kept is None else "facts.kept"
    return f"{say(f'contradiction.{one.code}', **told)} {say(outcome, facts=doubted)}"


def _said(one: Contradiction, value: Any) -> str:  # noqa: ANN401 - a fact of any kind
    """A number as it is; a word of any of the facts by its name."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return plain(value)  # three rooms have a word, three bedrooms none
    names = (f"{name}.{value}" for name in (*one.facts, *_NAMED))
    return next((say(name) for name in names if name in dictionary()), plain(value))
