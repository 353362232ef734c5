"""Cuts a search down to what somebody looks for, by the filters that its site file knows."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia.listings.vocabulary import meaning
from sale_sofia.websites.addresses import asking
from sale_sofia.websites.patterns import compiled
from sale_sofia.websites.site_file import IdSplit, PathSplit, PriceSplit, SplitTable
from sale_sofia.websites.splitting import PathSearch, read_path

Kind = tuple[str | None, int | None]
"""A type of property and its rooms, each as far as it is known."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What a search is cut down to."""

    may_hold: Callable[[Kind, Neighbourhood | None], bool]
    """Whether there may be something among properties of a kind in a neighbourhood."""
    least: float | None = None
    """Euros; None where there is no such bound."""
    most: float | None = None


def narrow_search(url: str, ways: Sequence[SplitTable], wanted: Filter) -> tuple[str, ...]:
    """Searches that together hold all of this one that is wanted; itself where its filters cannot say less.

    None where nothing of it can be wanted. What the portal files under no neighbourhood, or tells no price
    of, is in none of those that are cut by these.
    """
    own = [way for way in ways if compiled(way.at or "").search(urlsplit(url).path)]
    paths = [way.path for way in own if way.path]
    found = [(url, _kinds(url, paths))]
    for way in own:
        if way.path:
            found = [part for one, _ in found for part in _by_path(one, way.path, wanted)]
    for way in own:
        if way.ids and way.ids.neighbourhoods:
            found = [part for one, kinds in found for part in _by_ids(one, kinds, way.ids, wanted)]
        elif way.price:
            found = [(_by_price(one, way.price, wanted), kinds) for one, kinds in found]
    return tuple(one for one, kinds in found if any(wanted.may_hold(kind, None) for kind in kinds))


def filtered_facts(ways: Sequence[SplitTable]) -> frozenset[str]:
    """The facts of adverts that a portal's filters can ask for."""
    facts: set[str] = set()
    for way in ways:
        facts |= {"property_type", "rooms"} if way.path else {"price_eur"} if way.price else set()
        if (way.path and way.path.neighbourhoods) or (way.ids and way.ids.neighbourhoods):
            facts |= {"neighbourhood", "district", "city"}
    return frozenset(facts)


def _kinds(url: str, tables: Sequence[PathSplit]) -> Sequence[Kind]:
    """The kinds that a search names; one that is not known where it names none."""
    named = [word for table in tables if (search := read_path(url, table)) for word in search.kinds]
    return [_kind(word) for word in named] or [(None, None)]


def _kind(word: str) -> Kind:
    kind, rooms = meaning("type_slugs", word) or (None, None)
    return kind, rooms


_Cut = tuple[str, Sequence[Kind]]


def _by_path(url: str, table: PathSplit, wanted: Filter) -> Iterator[_Cut]:
    search = read_path(url, table)
    if search is None:
        yield url, [(None, None)]
        return
    of = search.kinds or table.types
    named = next((one for one in neighbourhoods() if one.slug in search.places), None)
    kinds = [word for word in of if wanted.may_hold(_kind(word), named)]
    places = [
        (place, [word for word in kinds if wanted.may_hold(_kind(word), place)]) for place in neighbourhoods()
    ]
    everywhere = not table.neighbourhoods or search.places or all(some == kinds for _, some in places)
    for place, some in [(None, kinds)] if everywhere else places:
        yield from _with_kinds(search, table, f"/{place.slug}" if place else search.place, some, url)


def _with_kinds(
    search: PathSearch, table: PathSplit, place: str, kinds: Sequence[str], url: str
) -> Iterator[_Cut]:
    """The search of these kinds in a place: one where the address can name several, else one of each."""
    meant = [_kind(word) for word in kinds]
    if place == search.place and len(kinds) == len(search.kinds or table.types):
        yield url, meant
    elif not search.kinds and len(kinds) == len(table.types):
        yield asking(search.parts._replace(path=f"{search.base}{place}"), search.query), meant
    else:
        for some in filter(None, [kinds] if table.added_types else [[one] for one in kinds]):
            more = "".join(f"{table.types.index(one) + 1}~" for one in some[1:])
            query = [*search.query, (table.added_types or "", more)] if more else search.query
            path = f"{search.base}{place}/{some[0]}"
            yield asking(search.parts._replace(path=path), query), [_kind(word) for word in some]


def _by_ids(url: str, kinds: Sequence[Kind], table: IdSplit, wanted: Filter) -> Iterator[_Cut]:
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    places = neighbourhoods()
    some = [place for place in places if any(wanted.may_hold(kind, place) for kind in kinds)]
    if len(some) == len(places) or any(key == table.query for key, _ in query):
        yield url, kinds
    elif some:
        values = [str(place.id) for place in some]
        if table.between is not None:
            values = ["".join(one + table.between for one in values)]
        yield asking(parts, query + [(table.query, value) for value in values]), kinds


def _by_price(url: str, table: PriceSplit, wanted: Filter) -> str:
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    bounded = {table.least, table.most} & {key for key, _ in query}
    if bounded or (wanted.least is None and wanted.most is None):
        return url
    bounds = [] if wanted.least is None else [(table.least, str(math.floor(wanted.least)))]
    if wanted.most is not None:
        bounds.append((table.most, str(math.ceil(wanted.most))))
    return asking(parts, [*query, *bounds])
