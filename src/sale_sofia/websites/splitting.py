"""Cuts a search that its portal caps into smaller ones that together find the same."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.listings.settings import SPLIT_FILL, SPLIT_GROUPS
from sale_sofia.websites.patterns import compiled
from sale_sofia.websites.site_file import IdSplit, PathSplit, PriceSplit, SplitTable

_SMALLEST = 2
Ids = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hints:
    """What is known of a search beyond its address."""

    total: int | None = None
    """How many adverts it has, where the portal says it exactly."""
    most: int | None = None
    """How many of them the portal shows."""
    ids: Mapping[str, Ids] = field(default_factory=dict)
    """What was learnt of a portal's filters, by the key of their query."""
    useless: frozenset[str] = frozenset()
    """Ways that are known to cut nothing."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Smaller searches that together cover one; none where it cannot be cut."""

    way: str = ""
    """Which of the site file's ways made them."""
    urls: tuple[str, ...] = ()
    ids_page: str | None = None
    """Without `urls`: the page that has to be read first, for it lists the ids that name the parts."""


def split_search(url: str, ways: Sequence[SplitTable], hints: Hints, page_mark: str | None) -> Parts:
    """The parts by the first way that cuts this search, each from its first page."""
    url = _first_page(url, page_mark)
    for way in ways:
        if way.name in hints.useless or not compiled(way.at or "").search(urlsplit(url).path):
            continue
        if urls := tuple(_cut(url, way, hints)):
            return Parts(way.name, urls)
        if way.ids and way.ids.page and way.ids.query not in hints.ids:
            return Parts(way.name, ids_page=urljoin(url, way.ids.page))
    return Parts()


def _first_page(url: str, page_mark: str | None) -> str:
    parts = urlsplit(url)
    head, _, last = parts.path.rpartition("/")
    return urlunsplit(parts._replace(path=head)) if page_mark and last.startswith(page_mark) else url


def _cut(url: str, way: SplitTable, hints: Hints) -> Iterator[str]:
    if way.path:
        return _by_path(url, way.path)
    if way.price:
        return _by_price(url, way.price)
    return _by_ids(url, way.ids, hints) if way.ids else iter(())


def _by_path(url: str, table: PathSplit) -> Iterator[str]:
    """By neighbourhood, then by type; a search that names both cannot be cut further."""
    parts = urlsplit(url)
    root, _, rest = parts.path.partition(f"/{table.city}")
    if (
        not root.startswith(table.root)
        or root.count("/") != table.root.count("/") + 1
        or rest[:1] not in {"", "/"}
    ):
        return
    words = list(filter(None, rest.split("/")))
    kinds = [word for word in words if word in table.types]
    places = [word for word in words if word not in table.types]
    base = f"{root}/{table.city}"
    if table.neighbourhoods and not places:
        tail = f"/{kinds[0]}" if kinds else ""
        for one in neighbourhoods():
            yield urlunsplit(parts._replace(path=f"{base}/{one.slug}{tail}", fragment=""))
        return
    query = _query(parts)
    place = f"/{places[0]}" if places else ""
    for kind in _types(kinds, query, table):
        kept = [(key, value) for key, value in query if key != table.added_types]
        yield _asking(parts._replace(path=f"{base}{place}/{kind}"), kept)


def _types(kinds: Sequence[str], query: Sequence[tuple[str, str]], table: PathSplit) -> Sequence[str]:
    """The types of which the search is: all where it names none; one alone is no smaller search."""
    added = dict(query).get(table.added_types or "", "")
    numbers = [int(one) for one in added.split("~") if one.isdecimal()]
    more = [table.types[number - 1] for number in numbers if 0 < number <= len(table.types)]
    named = list(dict.fromkeys([*kinds, *more]))
    return table.types if not named else named if len(named) >= _SMALLEST else ()


def _by_ids(url: str, table: IdSplit, hints: Hints) -> Iterator[str]:
    """So many groups of ids that each should fit under the cap; a group that does not is cut again."""
    parts = urlsplit(url)
    query = _query(parts)
    kept = [(key, value) for key, value in query if key != table.query]
    for group in _groups(_asked_ids(query, table) or _all_ids(table, hints), hints):
        named = (
            [(table.query, one) for one in group]
            if table.between is None
            else [(table.query, "".join(one + table.between for one in group))]
        )
        yield _asking(parts, kept + named)


def _asked_ids(query: Sequence[tuple[str, str]], table: IdSplit) -> Ids:
    values = [value for key, value in query if key == table.query]
    pieces = (
        values if table.between is None else [one for value in values for one in value.split(table.between)]
    )
    return tuple(filter(None, pieces))


def _all_ids(table: IdSplit, hints: Hints) -> Ids:
    if table.neighbourhoods:
        return tuple(str(one.id) for one in neighbourhoods())
    return table.known or hints.ids.get(table.query, ())


def _groups(ids: Ids, hints: Hints) -> Iterator[Ids]:
    wanted = (
        math.ceil(hints.total / (hints.most * SPLIT_FILL)) if hints.total and hints.most else SPLIT_GROUPS
    )
    count = min(len(ids), max(wanted, _SMALLEST))
    if count >= _SMALLEST:
        edges = [round(place * len(ids) / count) for place in range(count + 1)]
        yield from (ids[first:last] for first, last in pairwise(edges))


def _by_price(url: str, table: PriceSplit) -> Iterator[str]:
    """At the steps of the table, then each part in halves, down to a euro.

    Parts share their border: a price of 49 999.50 € would stand between two that do not.
    """
    parts, least, most = urlsplit(url), table.least, table.most
    query = _query(parts)
    asked = dict(query)
    kept = [(key, "0" if key == "offset" else value) for key, value in query if key not in {least, most}]
    for low, high in _ranges(asked.get(least) or "0", asked.get(most) or "", table.steps):
        prices = [(least, str(low)), *([(most, str(high))] if high is not None else [])]
        yield _asking(parts, kept + prices)


def _ranges(low: str, high: str, steps: tuple[int, ...]) -> list[tuple[int, int | None]]:
    """Smaller ranges of prices, the last of them open where this one is; none for what is no whole number."""
    if not low.isdecimal() or not (high or "0").isdecimal():
        return []
    least = int(low)
    if high:
        return _halves(least, int(high))
    edges = [least, 2 * least] if least else [0, *steps]  # what lies above the last step is doubled
    return [*pairwise(edges), (edges[-1], None)]


def _halves(low: int, high: int) -> list[tuple[int, int | None]]:
    middle = (low + high) // 2
    return [(low, middle), (middle, high)] if high - low >= _SMALLEST else []


def _query(parts: SplitResult) -> list[tuple[str, str]]:
    return parse_qsl(parts.query, keep_blank_values=True)


def _asking(parts: SplitResult, query: Sequence[tuple[str, str]]) -> str:
    return urlunsplit(parts._replace(query=urlencode(query, safe="[]:~,", quote_via=quote), fragment=""))
