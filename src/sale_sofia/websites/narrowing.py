"""Narrows a search to what somebody looks for, by the filters in its site file."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia.listings.vocabulary import meaning
from sale_sofia.websites.addresses import with_query
from sale_sofia.websites.patterns import compiled
from sale_sofia.websites.site_file import IdSplit, PathSplit, PriceSplit, SplitTable
from sale_sofia.websites.splitting import PathSearch, read_path

Kind = tuple[str | None, int | None]
"""A type of property and its rooms, each as far as it is known."""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """What a search is narrowed to."""

    may_hold: Callable[[Kind, Neighbourhood | None], bool]
    """Whether properties of a kind in a neighbourhood may match."""
    least: float | None = None
    """Euros; None where there is no such bound."""
    most: float | None = None


def narrow_search(url: str, ways: Sequence[SplitTable], criteria: SearchFilter) -> tuple[str, ...]:
    """Return searches that together hold all matches of this one; itself where it cannot be narrowed.

    Empty where nothing can match. Adverts without a neighbourhood, or without a price, are in none of the
    searches that are narrowed by these.
    """
    own = [way for way in ways if compiled(way.at or "").search(urlsplit(url).path)]
    paths = [way.path for way in own if way.path]
    cuts = [(url, _kinds(url, paths))]
    for way in own:
        if way.path:
            cuts = [part for cut, _ in cuts for part in _by_path(cut, way.path, criteria)]
    for way in own:
        if way.ids and way.ids.neighbourhoods:
            cuts = [part for cut, kinds in cuts for part in _by_ids(cut, kinds, way.ids, criteria)]
        elif way.price:
            cuts = [(_by_price(cut, way.price, criteria), kinds) for cut, kinds in cuts]
    return tuple(cut for cut, kinds in cuts if any(criteria.may_hold(kind, None) for kind in kinds))


def filtered_facts(ways: Sequence[SplitTable]) -> frozenset[str]:
    """Return the facts that a portal's filters can restrict."""
    facts: set[str] = set()
    for way in ways:
        facts |= {"property_type", "rooms"} if way.path else {"price_eur"} if way.price else set()
        if (way.path and way.path.neighbourhoods) or (way.ids and way.ids.neighbourhoods):
            facts |= {"neighbourhood", "district", "city"}
    return frozenset(facts)


def _kinds(url: str, tables: Sequence[PathSplit]) -> Sequence[Kind]:
    """Return the kinds of a search; one unknown kind where it names none."""
    words = [word for table in tables if (search := read_path(url, table)) for word in search.kinds]
    return [_kind(word) for word in words] or [(None, None)]


def _kind(word: str) -> Kind:
    kind, rooms = meaning("type_slugs", word) or (None, None)
    return kind, rooms


_Cut = tuple[str, Sequence[Kind]]


def _by_path(url: str, table: PathSplit, criteria: SearchFilter) -> Iterator[_Cut]:
    search = read_path(url, table)
    if search is None:
        yield url, [(None, None)]
        return
    of = search.kinds or table.types
    own_place = next((place for place in neighbourhoods() if place.slug in search.places), None)
    kinds = [word for word in of if criteria.may_hold(_kind(word), own_place)]
    places = [
        (place, [word for word in kinds if criteria.may_hold(_kind(word), place)])
        for place in neighbourhoods()
    ]
    everywhere = not table.neighbourhoods or search.places or all(some == kinds for _, some in places)
    for place, some in [(None, kinds)] if everywhere else places:
        yield from _with_kinds(search, table, f"/{place.slug}" if place else search.place, some, url)


def _with_kinds(
    search: PathSearch, table: PathSplit, place: str, kinds: Sequence[str], url: str
) -> Iterator[_Cut]:
    """Yield searches of these kinds in a place: one if the address can name several, else one for each."""
    meant = [_kind(word) for word in kinds]
    if place == search.place and len(kinds) == len(search.kinds or table.types):
        yield url, meant
    elif not search.kinds and len(kinds) == len(table.types):
        yield with_query(search.parts._replace(path=f"{search.base}{place}"), search.query), meant
    else:
        for some in filter(None, [kinds] if table.added_types else [[kind] for kind in kinds]):
            more = "".join(f"{table.types.index(kind) + 1}~" for kind in some[1:])
            query = [*search.query, (table.added_types or "", more)] if more else search.query
            path = f"{search.base}{place}/{some[0]}"
            yield with_query(search.parts._replace(path=path), query), [_kind(word) for word in some]


def _by_ids(url: str, kinds: Sequence[Kind], table: IdSplit, criteria: SearchFilter) -> Iterator[_Cut]:
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    places = neighbourhoods()
    some = [place for place in places if any(criteria.may_hold(kind, place) for kind in kinds)]
    if len(some) == len(places) or any(key == table.query for key, _ in query):
        yield url, kinds
    elif some:
        values = [str(place.id) for place in some]
        if table.between is not None:
            values = ["".join(value + table.between for value in values)]
        yield with_query(parts, query + [(table.query, value) for value in values]), kinds


def _by_price(url: str, table: PriceSplit, criteria: SearchFilter) -> str:
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    bounded = {table.least, table.most} & {key for key, _ in query}
    if bounded or (criteria.least is None and criteria.most is None):
        return url
    bounds = [] if criteria.least is None else [(table.least, str(math.floor(criteria.least)))]
    if criteria.most is not None:
        bounds.append((table.most, str(math.ceil(criteria.most))))
    return with_query(parts, [*query, *bounds])
