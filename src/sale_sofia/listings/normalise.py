"""From an advert's texts to a `Listing`. A value that a page contradicts is dropped."""

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
from sale_sofia.listings.settings import (
    LABEL_MOST_CHARACTERS,
    LONGEST_NEIGHBOURHOOD,
    REMEMBERED_LABELS,
    REMEMBERED_TOWNS,
)
from sale_sofia.listings.text import fold_lookalikes, match_key, one_line_end, without_controls
from sale_sofia.listings.vocabulary import vocabulary

# Adverts filed under one town whose text is about another.

_BEGINNING = 300
"""Characters of a description in which a seller names the place."""
_IN = r"(?:^|, |(?<!\w)(?:в|във|гр\.?|град|к\.?к\.?|курорт|с\.|село|обл\.|област|край|in) ?)"
_STREET_OF = r"(?<!ул\. )(?<!бул\. )(?<!улица )(?<!булевард )(?<!на )(?<!пл\. )(?<!площад )"
_WORD = re.compile(r"\w+")


def names_other_town(city: str, title: str | None, description: str | None) -> bool:
    """Whether the seller's text places the advert in another town or country than the portal does.

    A title counts if it names one; a description if it begins with one and never names the portal's town.
    """
    words, elsewhere = _other_places(city)

    def names_another(text: str) -> bool:
        # Nearly every advert, and cheap to see.
        if words.isdisjoint(_WORD.findall(fold_lookalikes(text).casefold())):
            return False
        return bool(elsewhere.search(match_key(text)))

    if names_another(title or ""):
        return match_key(city) not in match_key(title or "")
    if not names_another((description or "")[:_BEGINNING]):
        return False
    return match_key(city) not in match_key(f"{title} {description}")


@lru_cache(REMEMBERED_TOWNS)
def _other_places(city: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """Return a word of each other town, resort and country, and a pattern for their names.

    The longest one: a name may begin with a word that nearly every text has, as "В. Търново" does.
    """
    data = place_data()
    names = (SOFIA, *data["towns"], *data["resorts"], *data["town_aliases"])
    towns = [match_key(name) for name in names if town_name(name) != town_name(city)]
    countries = [match_key(name) for name in data["countries"]]
    words = frozenset(max(_WORD.findall(name), key=len) for name in (*towns, *countries))
    inside, abroad = any_of(towns), any_of(countries)
    pattern = re.compile(rf"{_IN}(?:{inside})(?!\w)|{_STREET_OF}(?<!\w)(?:{abroad})(?!\w)")
    return words, pattern


_COLLECTED = frozenset({"flags", "heating", "parking", "phones", "photo_urls"})
_CONTESTED = frozenset({"deal", "rooms"})
_MANY_ROOMS = 5
_MOST_STOREYS = 99  # a year stands where the storeys should
_NOTHING = (None, ())
_IDENTITY = frozenset({"family_id", "posted_at", "title", "deal", "property_type", "rooms", "flags"})
"""An advert's id, its title, and what can be derived from them and its address."""
SeenFields = Mapping[str, FieldSeen]
_WITH_STOREYS = frozenset({"house", "villa", "hotel", "industrial"})


def normalise(raw: RawListing) -> Listing:
    """Return the listing of a page. A value that the page contradicts is None and named in `flags`.

    Raises:
        LayoutChanged: nothing is found but its id and title.
    """
    return normalise_seen(raw)[0]


def normalise_seen(raw: RawListing) -> tuple[Listing, SeenFields]:
    """Return the listing of a page, and how each of its fields was found.

    Raises:
        LayoutChanged: nothing is found but its id and title.
    """
    facts, seen = read_seen(raw.fields)
    listing = _listing({"site": raw.site, "url": raw.url, "external_id": raw.external_id}, facts)
    if listing is None:
        raise LayoutChanged("of the advert nothing is found but its id and its title")
    return listing, seen


def card_listing(site: str, url: str, external_id: str, facts: Mapping[str, Any]) -> Listing | None:
    """Return the listing of a card on a page of results; None where nothing is found but id and title."""
    return _listing({"site": site, "url": url, "external_id": external_id}, dict(facts))


def _listing(identity: Mapping[str, Any], facts: Facts) -> Listing | None:
    _settle(facts)
    if not any(value not in _NOTHING for name, value in facts.items() if name not in _IDENTITY):
        return None
    try:
        return Listing(**identity, **facts)
    except ValidationError as error:
        # Drop impossible values, such as a building of no storeys.
        wrong = {str(mistake["loc"][0]) for mistake in error.errors()}
        possible = {name: value for name, value in facts.items() if name not in wrong}
        possible["flags"] = (*possible.get("flags", ()), *(f"{name}_impossible" for name in sorted(wrong)))
        return Listing(**identity, **possible)


_seen = cache(FieldSeen)
"""Equal values are one object, which a pickle holds once."""


def read_facts(fields: Mapping[str, RawField]) -> Facts:
    """Return all facts of the fields; the first field with a fact wins, contested ones must agree."""
    return read_seen(fields)[0]


def read_seen(fields: Mapping[str, RawField]) -> tuple[Facts, SeenFields]:
    """Return all facts of the fields, and how each field was found."""
    facts: Facts = {}
    seen: dict[str, FieldSeen] = {}
    for name, field in fields.items():
        stated, read = _parse(name, field)
        seen[name] = _seen(field.link, read)
        for key, value in stated.items():
            _add(facts, key, value)
    _name_places(facts)
    return facts, seen


def _name_places(facts: Facts) -> None:
    """Normalise the names of towns, and of quarters outside Sofia; a long text is no name of one."""
    if len(facts.get("neighbourhood") or "") > LONGEST_NEIGHBOURHOOD:
        facts["neighbourhood"] = None
        _add(facts, "flags", ("place_unknown",))
    if city := facts.get("city"):
        facts["city"] = town_name(city)
        if facts["city"] != SOFIA and (quarter := facts.get("neighbourhood")):
            facts["neighbourhood"] = quarter_name(quarter)


def _parse(name: str, field: RawField) -> tuple[Facts, bool]:
    """Parse a field, and say whether it has a value; short texts, which portals repeat, are cached."""
    texts, _, parser, arguments, others = field
    length = len(texts[0]) if len(texts) == 1 and not others else sum(map(len, chain(texts, *others)))
    if arguments or length > LABEL_MOST_CHARACTERS:
        return _parse_texts(name, parser, texts, others, **arguments)
    return _parse_cached(name, parser, texts, others)


def _parse_texts(
    name: str, parser: str, texts: Texts, others: tuple[Texts, ...], **arguments: object
) -> tuple[Facts, bool]:
    facts = _confirmed(name, partial(PARSERS[parser], name, **arguments), texts, others)
    return facts, any(value not in _NOTHING for key, value in facts.items() if key != "flags")


_parse_cached = lru_cache(REMEMBERED_LABELS)(_parse_texts)


def _confirmed(name: str, parser: Parser, printed: Texts, others: tuple[Texts, ...]) -> Facts:
    """Parse the texts, if the other places of the page agree.

    All texts of a portal pass here: control characters are removed, and flagged, as they may be an attack;
    foreign line ends alone are not.
    """
    texts = tuple(map(without_controls, printed))
    facts = parser(texts)
    for other in (parser(tuple(map(without_controls, place))) for place in others if place != printed):
        shared = (facts.keys() & other.keys()) - {"flags"}
        if not all(_same(facts[key], other[key]) for key in shared):
            return {"flags": (f"{name}_conflict",)}
    if texts == printed or all(map(_is_only_other_lines, printed, texts)):
        return facts
    return {**facts, "flags": (*facts.get("flags", ()), f"{name}_controls")}


def _is_only_other_lines(text: str, cleaned: str) -> bool:
    return one_line_end(text) == cleaned


def _same(first: Any, second: Any) -> bool:  # noqa: ANN401 - facts have many types
    if first is None or second is None or first == second:
        return True
    return isinstance(first, float) and isinstance(second, float) and same_sum(first, second)


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
    """Apply the rules that need more than one fact."""
    _settle_storeys(facts)
    # A maisonette has no room count unless stated; portals without the type file it under "five or more".
    if facts.get("property_type") == "maisonette" and facts.get("rooms") == _MANY_ROOMS:
        facts["rooms"] = None
    # Sorted; "no heating" together with a kind of heating is a contradiction.
    heating = facts.get("heating", ())
    if len(heating) > 1 and "none" in heating:
        _contradict(facts, "heating")
        del facts["heating"]
    elif heating:
        facts["heating"] = tuple(sorted(heating, key=vocabulary()["heating_order"].index))
    # An advert whose text names another town keeps the portal's, and is flagged.
    city = facts.get("city")
    if city and names_other_town(city, facts.get("title"), facts.get("description")):
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
        # Both stay as printed; a flat uses neither (`flats/contradictions.py`).
        _add(facts, "flags", ("floor_conflict",))
