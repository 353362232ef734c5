"""Where an advert is. All place names of portals are parsed here and nowhere else."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any

from sale_sofia.geography.gazetteer import Area, Centre, areas_of, centres, drawn
from sale_sofia.listings.text import LOOKALIKES, fold_lookalikes, match_key, squeeze
from sale_sofia.settings.files import read_shipped

# Spellings of the same place name: keys, kinds of place, Latin letters.

LONGEST = 60
"""Characters. A longer text is a sentence, not a place."""

_SIGNS = str.maketrans(dict.fromkeys('.-"()', " "))
_CYRILLIC = re.compile(r"[Ѐ-ӿ]")
_SEAM = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_NUMBERED = re.compile(r"(?<!\d)\d+$")
_DISTRICT = "район"
_ROMAN = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X")


@cache
def place_data() -> Mapping[str, Any]:
    """Load all of `places.yaml`, once."""
    loaded: dict[str, Any] = read_shipped("sale_sofia.listings", "places.yaml")
    return loaded


def place_key(text: str) -> str:
    """Return the key of a place name: case, punctuation, spaces and look-alikes do not count."""
    plain = text.translate(LOOKALIKES) if _CYRILLIC.search(text) else text
    return squeeze(_SEAM.sub(" ", match_key(plain).translate(_SIGNS)))


@dataclass(frozen=True, slots=True)
class Name:
    """A place name in parts. `kind` is empty for a plain name and for one that only says "quarter"."""

    kind: str
    core: str


def split_name(text: str) -> Name:
    """Split a name from the words for its kind; a name without them is its own core."""
    key = place_key(text)
    for pattern, kinds in _kind_patterns():
        if match := pattern.fullmatch(key):
            return Name(kinds[match["word"]], match["core"])
    return Name("", key)


def spellings(name: str, *, latin: bool = True) -> Iterator[str]:
    """Yield all spellings of a Bulgarian name: as it is, with a Roman number, in Latin letters."""
    written, number = [name], _NUMBERED.search(name)
    if number and int(number[0]) < len(_ROMAN):
        written.append(name[: number.start()] + _ROMAN[int(number[0])])
    yield from written
    rules = place_data()["transliteration"]
    letters = str.maketrans(rules["letters"])
    for text in written if latin else ():
        folded = text.casefold()
        used = [rule for rule in rules["variants"] if rule["letter"] in folded]
        for choice in product(*(rule["spellings"] for rule in used)):
            spelled = folded
            for rule, spelling in zip(used, choice, strict=True):
                spelled = spelled.replace(rule["letter"], spelling)
            yield spelled.translate(letters)


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for any of these words."""
    return "|".join(map(re.escape, words))


@cache
def _kind_patterns() -> tuple[tuple[re.Pattern[str], Mapping[str, str]], ...]:
    before, after = (
        {
            place_key(word): "" if kind == "quarter" else kind
            for kind, words in place_data()["kinds"].items()
            for word in words[side]
        }
        for side in ("before", "after")
    )
    return (
        (re.compile(rf"(?P<word>{any_of(before)}) (?P<core>.+)"), before),
        (re.compile(rf"(?P<core>.+) (?P<word>{any_of(after)})"), after),
    )


# The town or province of a part of an address, in all of Bulgaria.

SOFIA = "София"

_TOWN_NAME = r"(?P<name>(?:св\. ?)?[^\W\d_]+(?:[ -][^\W\d_]+){0,2})"
_ORDINAL = re.compile(r"(?<=\d) (?=(?:[вмрт]и|[вмрт]а|[вмрт]о)(?: |$))")
_INITIALS = re.compile(r"[б-дж-зй-нп-тф-щ]+")
"""Consonants alone, which are no word."""
_SETTLEMENTS = frozenset({"resort", "town", "village"})


def town(text: str) -> str | None:
    """Return the town or village of a text, without its "гр." or "с."; Sofia in any spelling is `SOFIA`.

    `None` for a name that neither says that it is a settlement nor is one of the large towns.
    """
    name = split_name(text)
    large = _large_towns().get(name.core if name.kind == "town" else place_key(text))
    match = None if large else _town_pattern().fullmatch(fold_lookalikes(squeeze(text)))
    if not match:
        return large
    words = place_key(match["name"]).split()
    begins_with_large = any(" ".join(words[:end]) in _large_towns() for end in range(1, len(words) + 1))
    return None if begins_with_large else town_name(match["name"])


@lru_cache(maxsize=4096)
def town_name(text: str) -> str:
    """Return the canonical name of a town, village or resort, for a text known to name one."""
    if len(text) > LONGEST:
        return text
    name = split_name(text)
    core = name.core if name.kind in _SETTLEMENTS else place_key(text)
    return _large_towns().get(core) or _resorts().get(core) or _written(core) or text.strip()


@lru_cache(maxsize=4096)
def quarter_name(text: str) -> str:
    """Return the canonical name of a quarter outside Sofia, for a text known to name one.

    The word for a quarter is dropped; that for a villa zone, a locality or a village belongs to the name.
    """
    if len(text) > LONGEST:
        return text
    name = split_name(text)
    kind = f"{place_data()['kinds'][name.kind]['before'][0]} " if name.kind else ""
    return f"{kind}{_written(name.core)}" if name.core else text.strip()


def _written(key: str) -> str:
    """Format a name as people write it: equal keys give equal names."""
    first, *others = _ORDINAL.sub("-", key).split() or [""]
    return " ".join([_capital(first), *map(_inner_word, others)])


def _inner_word(word: str) -> str:
    roman = word.upper().replace("Х", "X")  # the key has the Cyrillic letter
    if roman in _ROMAN:
        return str(_ROMAN.index(roman))
    return word if word in place_data()["small_words"] else _capital(word)


def _capital(word: str) -> str:
    if word in place_data()["shortened"]:
        return f"{word.capitalize()}."
    return word.upper() if _INITIALS.fullmatch(word) else word.capitalize()


def province(text: str) -> str | None:
    """Return the key of the province of a text ("област София" gives "софия"); `None` without one."""
    match = _province_pattern().fullmatch(place_key(text))
    return match and (match["after"] or match["before"])


def is_address(text: str) -> bool:
    """Whether a part of an address is a street, a block, a municipality: anything but a neighbourhood."""
    return bool(_address_pattern().match(place_key(text)))


@cache
def _large_towns() -> Mapping[str, str]:
    data = place_data()
    sofia = {place_key(alias): SOFIA for alias in (SOFIA, *data["city_aliases"])}
    towns = {place_key(text): name for name in data["towns"] for text in spellings(name)}
    aliases = {place_key(text): name for text, name in data["town_aliases"].items() if name in data["towns"]}
    return sofia | towns | aliases


@cache
def _resorts() -> Mapping[str, str]:
    data = place_data()
    resorts = {place_key(text): name for name in data["resorts"] for text in spellings(name)}
    return resorts | {place_key(text): name for text, name in data["town_aliases"].items()}


@cache
def _keys(section: str) -> frozenset[str]:
    return frozenset(map(place_key, place_data()[section]))


@cache
def _town_pattern() -> re.Pattern[str]:
    """Return the pattern of a settlement; an abbreviation needs its dot: "с. Лозен", not "с гараж"."""
    words = [word for kind in ("resort", "town", "village") for word in place_data()["kinds"][kind]["before"]]
    heads = (re.escape(word) + (r"\s*" if word.endswith(".") else r"\s+") for word in words)
    return re.compile(rf"(?:{'|'.join(heads)}){_TOWN_NAME}", re.IGNORECASE)


@cache
def _province_pattern() -> re.Pattern[str]:
    words = any_of(_keys("province_words"))
    return re.compile(rf"(?:{words}) (?P<after>.+)|(?P<before>.+) (?:{words})")


@cache
def _address_pattern() -> re.Pattern[str]:
    return re.compile(rf"(?:{any_of(_keys('address_words'))})(?: |$)")


# The neighbourhoods of Sofia, and the only canonicaliser of their names. Nothing is loaded on import.


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A place as the imot.bg family numbers it. `lat`, `lon` are its centre, never an address."""

    id: int
    name: str
    slug: str
    district: str | None
    """The administrative district; `None` where it is unknown, or the place lies in several."""
    lat: float | None
    lon: float | None
    basis: str
    """The source of the centre, or why there is none."""


@cache
def neighbourhoods() -> tuple[Neighbourhood, ...]:
    """Return every neighbourhood, village and villa zone of Sofia that portals have, in the data's order."""
    return tuple(_neighbourhood(entry, centres()[entry["id"]]) for entry in place_data()["neighbourhoods"])


def _neighbourhood(entry: Mapping[str, Any], centre: Centre) -> Neighbourhood:
    lat, lon = centre.point or (None, None)
    return Neighbourhood(
        entry["id"], entry["name"], entry["slug"], entry["district"], lat, lon, centre.basis
    )  # fmt: skip


@cache
def districts() -> tuple[str, ...]:
    """The names of the 24 administrative districts."""
    return tuple(place_data()["districts"])


def district_key(text: str) -> str:
    """Return the key of a district's name, with or without the word for it."""
    return place_key(text).removeprefix(f"{_DISTRICT} ")


@lru_cache(maxsize=4096)
def find_neighbourhood(text: str) -> Neighbourhood | None:
    """Return the neighbourhood of Sofia that a text names, or `None`.

    The whole text must be the name in a known spelling: nothing is guessed from a part of it, a similar
    name, or a name that several places share. The caller knows that the text is about Sofia.
    """
    if len(text) > LONGEST:
        return None
    name = split_name(text)
    found = _look_up(name)
    head, _, rest = name.core.partition(" ")
    return _look_up(split_name(rest)) if found is None and head in _latin_city() else found


def _look_up(name: Name) -> Neighbourhood | None:
    return _index(latin=not _CYRILLIC.search(name.core)).get(name)


def own_areas(place: Neighbourhood) -> tuple[Area, ...]:
    """Return the areas that are the neighbourhood itself; none where it is only part of one, as Дружба 1."""
    return tuple(area for area in areas_of(place.id) if area.whole or find_neighbourhood(area.name) == place)


def borders_of(text: str) -> tuple[str, tuple[Area, ...]] | None:
    """Return name and areas of a neighbourhood with known borders, else of the imported district."""
    found = find_neighbourhood(text)
    if found and (areas := own_areas(found)):
        return found.name, areas
    key = district_key(text)
    name = next((name for name in districts() if place_key(name) == key), key)
    return next(
        ((f"{_DISTRICT} {name}", (area,)) for area in drawn("districts") if district_key(area.name) == key),
        None,
    )


@cache
def _latin_city() -> frozenset[str]:
    return frozenset(place_key(name) for name in place_data()["city_aliases"] if name.isascii())


@cache
def _index(*, latin: bool) -> Mapping[Name, Neighbourhood]:
    """Return each name of exactly one place. A bare name means a quarter before a village or a zone.

    Latin names have an index of their own: there are seven for each place, and portals print few.
    """
    own, bare = defaultdict(set), defaultdict(set)
    for place, entry in zip(neighbourhoods(), place_data()["neighbourhoods"], strict=True):
        for written in (place.name, *entry.get("aliases", ())):
            for name in map(split_name, spellings(written, latin=latin)):
                own[name].add(place)
                bare[Name("", name.core)].add(place)
    claims = bare | own
    for shared in place_data()["ambiguous"]:
        for name in map(split_name, spellings(shared, latin=latin)):
            claims.pop(name, None)
    return {name: places.pop() for name, places in claims.items() if len(places) == 1}


_CUTS = re.compile(r"\s{0,9}/\s{0,9}|\s[-‐‑‒–—―]\s")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an advert says it is. `conflict`: the text contradicts itself, and nothing else is set."""

    city: str | None = None
    district: str | None = None
    neighbourhood: str | None = None
    conflict: bool = False
    unknown: bool = False
    """Part of the text is neither a known place nor a street or the like."""


@lru_cache(maxsize=4096)
def parse_place(text: str) -> Place:
    """Parse a place such as "град София, Белите брези", "жк. Изток, София" or "гр. София / кв. Бояна".

    In Sofia the neighbourhood is one that `find_neighbourhood` knows, else `None`; in another town it is what
    is printed, as `quarter_name` writes it, for Лозенец near Burgas is not Sofia's. A province may be printed
    too, and is not a city; a street is ignored. Other words set `unknown`, and leave the rest as it is.
    A text without a town gives no place; one with two towns, a conflict.
    """
    parts = _parts(text)
    provinces = [key for part in parts if (key := province(part))]
    rest = [part for part in parts if not province(part)]
    if len(provinces) > 1 or not rest:
        return Place(unknown=bool(text.strip()) and len(provinces) != 1)
    capital = _keys("capital_provinces")  # nothing but Sofia's own municipality
    if len(rest) == 1 and not capital.isdisjoint(provinces):
        rest = [SOFIA, *rest]
    place = _read(rest)
    misplaced = place.city == SOFIA and not capital | _keys("own_provinces") >= set(provinces)
    return Place(conflict=True) if misplaced else place


def _parts(text: str) -> Sequence[str]:
    text = text.strip()
    if len(text) > LONGEST or len(text.splitlines()) != 1:
        return ()
    parts = [squeeze(piece) for part in text.split(",") for piece in _pieces(part)]
    return parts if all(parts) else ()


def _pieces(part: str) -> Sequence[str]:
    """Cut a part at a slash or dash with a town on one side; those inside a name have none."""
    if town(part) or province(part):
        return (part,)
    for cut in _CUTS.finditer(part):
        sides = part[: cut.start()], part[cut.end() :]
        if any(map(town, sides)):
            return part.split("/") if "/" in cut[0] else sides
    return (part,)


def _read(parts: Sequence[str]) -> Place:
    towns = {part: town(part) for part in parts}
    names = {name for name in towns.values() if name}
    if SOFIA in names:
        return _in_sofia([part for part, name in towns.items() if name != SOFIA])
    if len(names) != 1:
        return Place(conflict=bool(names), unknown=not names)
    printed = [part for part, name in towns.items() if not name and not is_address(part)]
    only = quarter_name(printed[0]) if len(printed) == 1 else None
    return Place(names.pop(), neighbourhood=only, unknown=len(printed) > 1)


def _in_sofia(others: Sequence[str]) -> Place:
    by_part = {part: find_neighbourhood(part) for part in others}
    unmatched = [part for part, place in by_part.items() if not place]
    if any(map(town, unmatched)):
        return Place(conflict=True)
    unknown = not all(map(is_address, unmatched))
    places = {place for place in by_part.values() if place}
    if len(places) != 1:
        return Place(SOFIA, unknown=unknown or bool(places))
    place = places.pop()
    return Place(SOFIA, place.district, place.name, unknown=unknown)
