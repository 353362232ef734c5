"""From an advert's words to a `Listing`. Facts that contradict each other are dropped, not chosen from."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from pydantic import ValidationError

from sale_sofia.listings.dates import family_created
from sale_sofia.listings.model import FieldSeen, Listing, RawField, RawListing
from sale_sofia.listings.numbers import same_sum
from sale_sofia.listings.page import LayoutChanged
from sale_sofia.listings.parsers import PARSERS, Facts
from sale_sofia.listings.places import SOFIA, any_of, place_data
from sale_sofia.listings.settings import REMEMBERED_TOWNS
from sale_sofia.listings.text import match_key, one_line_end, without_controls
from sale_sofia.listings.vocabulary import vocabulary

# Adverts that were filed under one town and tell of another: their own words give them away.

_BEGINNING = 300
"""Characters of a description in which a seller says where the thing is."""
_IN = r"(?:^|, |(?<!\w)(?:в|във|гр\.?|град|к\.?к\.?|курорт|с\.|село|обл\.|област|край|in) ?)"
_STREET_OF = r"(?<!ул\. )(?<!бул\. )(?<!улица )(?<!булевард )(?<!на )(?<!пл\. )(?<!площад )"
_WORD = re.compile(r"\w+")


def told_elsewhere(city: str, title: str | None, description: str | None) -> bool:
    """Whether the seller's words place the advert in another town or country than the portal does.

    A title is believed when it names one; a description when it begins so and never names the portal's town.
    """
    if _names_another(title or "", city):
        return match_key(city) not in match_key(title or "")
    if not _names_another((description or "")[:_BEGINNING], city):
        return False
    return match_key(city) not in match_key(f"{title} {description}")


def _names_another(text: str, city: str) -> bool:
    if _first_words(city).isdisjoint(_WORD.findall(text.casefold())):  # nearly every advert, and cheap to see
        return False
    return bool(_pattern(city).search(match_key(text)))


def _towns(city: str) -> tuple[str, ...]:
    """Every town and resort but this one."""
    data = place_data()
    names = map(match_key, (SOFIA, *data["towns"], *data["resorts"]))
    return tuple(name for name in names if name != match_key(city))


@cache
def _countries() -> tuple[str, ...]:
    return tuple(map(match_key, place_data()["countries"]))


@lru_cache(REMEMBERED_TOWNS)
def _first_words(city: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name)[0] for name in (*_towns(city), *_countries()))


@lru_cache(REMEMBERED_TOWNS)
def _pattern(city: str) -> re.Pattern[str]:
    inside, abroad = any_of(_towns(city)), any_of(_countries())
    return re.compile(rf"{_IN}(?:{inside})(?!\w)|{_STREET_OF}(?<!\w)(?:{abroad})(?!\w)")


_COLLECTED = frozenset({"flags", "heating", "parking", "phones", "photo_urls"})
_CONTESTED = frozenset({"deal", "rooms"})
_MANY_ROOMS = 5
_MOST_STOREYS = 99  # a year stands where the storeys should
_NOTHING = (None, ())
_WHO_IT_IS = frozenset({"family_id", "posted_at", "title", "deal", "property_type", "rooms", "flags"})
"""An advert's id, its title, and what may be made of the two and of its address."""
SeenFields = Mapping[str, FieldSeen]
_WITH_STOREYS = frozenset({"house", "villa", "hotel", "industrial"})


def normalise(raw: RawListing) -> Listing:
    """The listing this page states. A value that the page contradicts is None and named in `flags`.

    Raises:
        LayoutChanged: it states nothing but who it is.
    """
    return normalise_seen(raw)[0]


def normalise_seen(raw: RawListing) -> tuple[Listing, SeenFields]:
    """The listing this page states, and how each of its fields was found.

    Raises:
        LayoutChanged: it states nothing but who it is.
    """
    facts, seen = read_seen(raw.fields)
    _settle(facts)
    _refuse_bare(facts)
    try:
        return _listing(raw, facts), seen
    except ValidationError as error:
        return _listing(raw, _possible(facts, error)), seen


def _refuse_bare(facts: Facts) -> None:
    """An advert says more than its name: a page of which nothing else is read has another layout."""
    if not any(value not in _NOTHING for name, value in facts.items() if name not in _WHO_IT_IS):
        raise LayoutChanged("of the advert nothing is found but its id and its title")


def _listing(raw: RawListing, facts: Facts) -> Listing:
    return Listing(site=raw.site, url=raw.url, external_id=raw.external_id, **facts)


def _possible(facts: Facts, error: ValidationError) -> Facts:
    """The facts without those that cannot be, such as a building of no storeys."""
    wrong = {str(one["loc"][0]) for one in error.errors()}
    flags = (f"{name}_impossible" for name in sorted(wrong))
    kept = {name: value for name, value in facts.items() if name not in wrong}
    return {**kept, "flags": (*kept.get("flags", ()), *flags)}


def read_facts(fields: Mapping[str, RawField]) -> Facts:
    """All facts of the fields; the first field to state a fact wins, contested ones must agree."""
    return read_seen(fields)[0]


def read_seen(fields: Mapping[str, RawField]) -> tuple[Facts, SeenFields]:
    """All facts of the fields, and how each field was found."""
    facts: Facts = {}
    seen: dict[str, FieldSeen] = {}
    for name, field in fields.items():
        said = _confirmed(name, field)
        seen[name] = FieldSeen(field.link, _says_something(said))
        for key, value in said.items():
            _add(facts, key, value)
    return facts, seen


def _says_something(said: Facts) -> bool:
    return any(value not in _NOTHING for key, value in said.items() if key != "flags")


def _confirmed(name: str, field: RawField) -> Facts:
    parser, texts = PARSERS[field.parser], _cleaned(field.texts)
    facts = parser(name, texts, **field.arguments)
    for others in field.confirmations:
        if not _agree(facts, parser(name, _cleaned(others), **field.arguments)):
            return {"flags": (f"{name}_conflict",)}
    return facts if texts == field.texts else _with_controls_told(name, facts, field.texts)


def _cleaned(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The one way of all that a portal writes into an advert: nothing in it is a command to anybody."""
    return tuple(map(without_controls, texts))


def _with_controls_told(name: str, facts: Facts, texts: tuple[str, ...]) -> Facts:
    """Who puts such signs into a text may mean harm; line ends of another machine mean nothing."""
    if all(one_line_end(one) == without_controls(one) for one in texts):
        return facts
    return {**facts, "flags": (*facts.get("flags", ()), f"{name}_controls")}


def _agree(facts: Facts, others: Facts) -> bool:
    shared = (facts.keys() & others.keys()) - {"flags"}
    return all(_same(facts[key], others[key]) for key in shared)


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - facts have many types
    if one is None or other is None or one == other:
        return True
    return isinstance(one, float) and isinstance(other, float) and same_sum(one, other)


def _add(facts: Facts, key: str, value: Any) -> None:  # noqa: ANN401 - facts have many types
    if value is None:
        return
    if key in _COLLECTED:
        facts[key] = tuple(dict.fromkeys((*facts.get(key, ()), *value)))
    elif key in _CONTESTED and facts.get(key, value) != value:
        _contradict(facts, key)
    else:
        facts.setdefault(key, value)


def _contradict(facts: Facts, *keys: str) -> None:
    for key in keys:
        facts[key] = None
    _add(facts, "flags", (f"{keys[0]}_conflict",))


def _settle(facts: Facts) -> None:
    """Rules that need more than one fact."""
    _settle_storeys(facts)
    _settle_rooms(facts)
    _settle_heating(facts)
    _settle_place(facts)
    if not {"lat", "lon"} <= facts.keys():
        facts.pop("lat", None), facts.pop("lon", None)
    if family_id := facts.get("family_id"):
        facts.setdefault("posted_at", family_created(family_id))


def _settle_storeys(facts: Facts) -> None:
    storeys = facts.pop("storeys", None)
    if storeys and facts.get("property_type") in _WITH_STOREYS:
        facts.setdefault("floors_total", storeys)
    floor, total = facts.get("floor"), facts.get("floors_total")
    if total is not None and total > _MOST_STOREYS:
        _contradict(facts, "floors_total")
    elif floor is not None and total is not None and floor > total:
        _contradict(facts, "floor", "floors_total")


def _settle_rooms(facts: Facts) -> None:
    """A maisonette has no room count unless stated; portals without the type file it under "five or more"."""
    if facts.get("property_type") == "maisonette" and facts.get("rooms") == _MANY_ROOMS:
        facts["rooms"] = None


def _settle_heating(facts: Facts) -> None:
    """In one order; "no heating" beside some kind of it is a contradiction."""
    heating = facts.get("heating", ())
    if len(heating) > 1 and "none" in heating:
        _contradict(facts, "heating")
        del facts["heating"]
    elif heating:
        facts["heating"] = tuple(sorted(heating, key=vocabulary()["heating_order"].index))


def _settle_place(facts: Facts) -> None:
    """An advert that its seller filed under another town keeps the portal's, and says so."""
    city = facts.get("city")
    if city and told_elsewhere(city, facts.get("title"), facts.get("description")):
        _add(facts, "flags", ("place_conflict",))
