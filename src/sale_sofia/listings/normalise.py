"""From an advert's words to a `Listing`. What a page says in two ways is dropped, not chosen from."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any

from pydantic import ValidationError

from sale_sofia.listings.dates import family_created
from sale_sofia.listings.model import FieldSeen, Listing, RawField, RawListing
from sale_sofia.listings.numbers import same_sum
from sale_sofia.listings.page import LayoutChanged
from sale_sofia.listings.parsers import PARSERS, Facts, Parser, Texts
from sale_sofia.listings.places import SOFIA, any_of, place_data, quarter_name, town_name
from sale_sofia.listings.settings import LABEL_MOST_CHARACTERS, REMEMBERED_LABELS, REMEMBERED_TOWNS
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
    first_words, elsewhere = _other_places(city)

    def names_another(text: str) -> bool:
        if first_words.isdisjoint(_WORD.findall(text.casefold())):  # nearly every advert, and cheap to see
            return False
        return bool(elsewhere.search(match_key(text)))

    if names_another(title or ""):
        return match_key(city) not in match_key(title or "")
    if not names_another((description or "")[:_BEGINNING]):
        return False
    return match_key(city) not in match_key(f"{title} {description}")


@lru_cache(REMEMBERED_TOWNS)
def _other_places(city: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """The first words of all other towns, resorts and countries, and a pattern that finds their names."""
    data = place_data()
    known = (SOFIA, *data["towns"], *data["resorts"], *data["town_aliases"])
    towns = [match_key(name) for name in known if town_name(name) != town_name(city)]
    countries = [match_key(name) for name in data["countries"]]
    first_words = frozenset(_WORD.findall(name)[0] for name in (*towns, *countries))
    inside, abroad = any_of(towns), any_of(countries)
    named = re.compile(rf"{_IN}(?:{inside})(?!\w)|{_STREET_OF}(?<!\w)(?:{abroad})(?!\w)")
    return first_words, named


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
    listing = _listing({"site": raw.site, "url": raw.url, "external_id": raw.external_id}, facts)
    if listing is None:
        raise LayoutChanged("of the advert nothing is found but its id and its title")
    return listing, seen


def card_listing(site: str, url: str, external_id: str, facts: Mapping[str, Any]) -> Listing | None:
    """The advert as a card on a page of results states it; None where it says no more than who it is."""
    return _listing({"site": site, "url": url, "external_id": external_id}, dict(facts))


def _listing(who: Mapping[str, Any], facts: Facts) -> Listing | None:
    _settle(facts)
    if not any(value not in _NOTHING for name, value in facts.items() if name not in _WHO_IT_IS):
        return None
    try:
        return Listing(**who, **facts)
    except ValidationError as error:
        # Without what cannot be, such as a building of no storeys.
        wrong = {str(mistake["loc"][0]) for mistake in error.errors()}
        kept = {name: value for name, value in facts.items() if name not in wrong}
        kept["flags"] = (*kept.get("flags", ()), *(f"{name}_impossible" for name in sorted(wrong)))
        return Listing(**who, **kept)


_seen = cache(FieldSeen)
"""One object for all that are equal: a pickle holds it once."""


def read_facts(fields: Mapping[str, RawField]) -> Facts:
    """All facts of the fields; the first field to state a fact wins, contested ones must agree."""
    return read_seen(fields)[0]


def read_seen(fields: Mapping[str, RawField]) -> tuple[Facts, SeenFields]:
    """All facts of the fields, and how each field was found."""
    facts: Facts = {}
    seen: dict[str, FieldSeen] = {}
    for name, field in fields.items():
        stated, read = _stated(name, field)
        seen[name] = _seen(field.link, read)
        for key, value in stated.items():
            _add(facts, key, value)
    _name_places(facts)
    return facts, seen


def _name_places(facts: Facts) -> None:
    """One form of the names of towns, and of quarters outside Sofia, however a site file reads them."""
    if city := facts.get("city"):
        facts["city"] = town_name(city)
        if facts["city"] != SOFIA and (quarter := facts.get("neighbourhood")):
            facts["neighbourhood"] = quarter_name(quarter)


def _stated(name: str, field: RawField) -> tuple[Facts, bool]:
    """What the field says, and whether that is a value; what portals say again and again is read once."""
    texts, _, parser, arguments, others = field
    if arguments or sum(map(len, chain(texts, *others))) > LABEL_MOST_CHARACTERS:
        return _read(name, parser, texts, others, **arguments)
    return _remembered(name, parser, texts, others)


def _read(
    name: str, parser: str, texts: Texts, others: tuple[Texts, ...], **arguments: object
) -> tuple[Facts, bool]:
    facts = _confirmed(name, partial(PARSERS[parser], name, **arguments), texts, others)
    return facts, any(value not in _NOTHING for key, value in facts.items() if key != "flags")


_remembered = lru_cache(REMEMBERED_LABELS)(_read)


def _confirmed(name: str, parser: Parser, printed: Texts, others: tuple[Texts, ...]) -> Facts:
    """What the field says, where the other places of the page agree.

    The one way of all that a portal writes into an advert: nothing in it is a command to anybody. Who puts
    such signs into a text may mean harm and is named; line ends of another machine mean nothing.
    """
    texts = tuple(map(without_controls, printed))
    facts = parser(texts)
    for other in (parser(tuple(map(without_controls, one))) for one in others if one != printed):
        shared = (facts.keys() & other.keys()) - {"flags"}
        if not all(_same(facts[key], other[key]) for key in shared):
            return {"flags": (f"{name}_conflict",)}
    if texts == printed or all(map(_is_only_other_lines, printed, texts)):
        return facts
    return {**facts, "flags": (*facts.get("flags", ()), f"{name}_controls")}


def _is_only_other_lines(text: str, cleaned: str) -> bool:
    return one_line_end(text) == cleaned


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


def _contradict(facts: Facts, key: str) -> None:
    facts[key] = None
    _add(facts, "flags", (f"{key}_conflict",))


def _settle(facts: Facts) -> None:
    """Rules that need more than one fact."""
    _settle_storeys(facts)
    # A maisonette has no room count unless stated; portals without the type file it under "five or more".
    if facts.get("property_type") == "maisonette" and facts.get("rooms") == _MANY_ROOMS:
        facts["rooms"] = None
    # In one order; "no heating" beside some kind of it is a contradiction.
    heating = facts.get("heating", ())
    if len(heating) > 1 and "none" in heating:
        _contradict(facts, "heating")
        del facts["heating"]
    elif heating:
        facts["heating"] = tuple(sorted(heating, key=vocabulary()["heating_order"].index))
    # An advert that its seller filed under another town keeps the portal's, and says so.
    city = facts.get("city")
    if city and told_elsewhere(city, facts.get("title"), facts.get("description")):
        _add(facts, "flags", ("place_conflict",))
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
        # Both stay as they are printed; of a flat neither is believed (`flats/contradictions.py`).
        _add(facts, "flags", ("floor_conflict",))
