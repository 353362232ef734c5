"""Splits a search that its portal caps into smaller ones that together find the same."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit, urlunsplit

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.listings.settings import SPLIT_FILL, SPLIT_GROUPS
from sale_sofia.websites.addresses import with_query
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
    """Ids learnt of a portal's filters, by the key of their query."""
    useless: frozenset[str] = frozenset()
    """Ways known to split nothing."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Smaller searches that together cover one; none where it cannot be cut."""

    way: str = ""
    """Which of the site file's ways made them."""
    urls: tuple[str, ...] = ()
    ids_page: str | None = None
    """Without `urls`: the page to read first, which lists the ids of the parts."""


def split_search(url: str, ways: Sequence[SplitTable], hints: Hints, page_mark: str | None) -> Parts:
    """Return the parts by the first way that splits this search, each from its first page."""
    parts = urlsplit(url)
    head, _, last = parts.path.rpartition("/")
    if page_mark and last.startswith(page_mark):
        url = urlunsplit(parts._replace(path=head))
    for way in ways:
        if way.name in hints.useless or not compiled(way.at or "").search(urlsplit(url).path):
            continue
        urls: tuple[str, ...] = ()
        if way.path:
            urls = tuple(_by_path(url, way.path))
        elif way.price:
            urls = tuple(_by_price(url, way.price))
        elif way.ids:
            urls = tuple(_by_ids(url, way.ids, hints))
        if urls:
            return Parts(way.name, urls)
        if way.ids and way.ids.page and way.ids.query not in hints.ids:
            return Parts(way.name, ids_page=urljoin(url, way.ids.page))
    return Parts()


@dataclass(frozen=True, slots=True)
class PathSearch:
    """A search whose path names its city, and perhaps a neighbourhood and types."""

    parts: SplitResult
    base: str
    """The path up to the city."""
    places: Sequence[str]
    kinds: Sequence[str]
    """The types that it names, in its path and its query; none where it is of all."""
    query: Sequence[tuple[str, str]]

    @property
    def place(self) -> str:
        """The neighbourhood that it names, as it stands in the path."""
        return f"/{self.places[0]}" if self.places else ""


def read_path(url: str, table: PathSplit) -> PathSearch | None:
    """Parse the path of a search; None for one that is not of the table's city."""
    parts = urlsplit(url)._replace(fragment="")
    root, _, rest = parts.path.partition(f"/{table.city}")
    if (
        not root.startswith(table.root)
        or root.count("/") != table.root.count("/") + 1
        or rest[:1] not in {"", "/"}
    ):
        return None
    words = list(filter(None, rest.split("/")))
    query = parse_qsl(parts.query, keep_blank_values=True)
    added = dict(query).get(table.added_types or "", "")
    numbers = [int(digits) for digits in added.split("~") if digits.isdecimal()]
    more = [table.types[number - 1] for number in numbers if 0 < number <= len(table.types)]
    kinds = [word for word in words if word in table.types]
    places = [word for word in words if word not in table.types]
    others = [(key, value) for key, value in query if key != table.added_types]
    base = f"{root}/{table.city}"
    return PathSearch(parts, base, places, list(dict.fromkeys([*kinds, *more])), others)


def _by_path(url: str, table: PathSplit) -> Iterator[str]:
    """Split by neighbourhood, then by type; a search with both, or one type alone, is not split further."""
    search = read_path(url, table)
    if search is None:
        return
    if table.neighbourhoods and not search.places:
        tail = search.parts.path.removeprefix(search.base).rstrip("/")
        for place in neighbourhoods():
            yield urlunsplit(search.parts._replace(path=f"{search.base}/{place.slug}{tail}"))
        return
    kinds = search.kinds or table.types
    for kind in kinds if len(kinds) >= _SMALLEST else ():
        yield with_query(search.parts._replace(path=f"{search.base}{search.place}/{kind}"), search.query)


def _by_ids(url: str, table: IdSplit, hints: Hints) -> Iterator[str]:
    """Split into groups of ids that should each fit under the cap; one that does not is split again."""
    parts = urlsplit(url)._replace(fragment="")
    query = parse_qsl(parts.query, keep_blank_values=True)
    others = [(key, value) for key, value in query if key != table.query]
    present = [value for key, value in query if key == table.query]
    if table.between is not None:
        present = [part for value in present for part in value.split(table.between)]
    ids: Sequence[str] = list(filter(None, present))
    if not ids and table.neighbourhoods:
        ids = [str(place.id) for place in neighbourhoods()]
    ids = ids or table.known or hints.ids.get(table.query, ())
    groups = SPLIT_GROUPS
    if hints.total and hints.most:
        groups = math.ceil(hints.total / (hints.most * SPLIT_FILL))
    count = min(len(ids), max(groups, _SMALLEST))
    edges = [round(place * len(ids) / count) for place in range(count + 1)] if count >= _SMALLEST else []
    for first, last in pairwise(edges):
        values = ids[first:last]
        if table.between is not None:
            values = ["".join(value + table.between for value in values)]
        yield with_query(parts, others + [(table.query, value) for value in values])


def _by_price(url: str, table: PriceSplit) -> Iterator[str]:
    """Split at the steps of the table, then each part in halves, down to a euro.

    Parts share their border: a price of 49 999.50 € would be between two that do not.
    """
    parts, least, most = urlsplit(url)._replace(fragment=""), table.least, table.most
    query = parse_qsl(parts.query, keep_blank_values=True)
    current = dict(query)
    others = [(key, "0" if key == "offset" else value) for key, value in query if key not in {least, most}]
    for low, high in _ranges(current.get(least) or "0", current.get(most) or "", table.steps):
        prices = [(least, str(low)), *([(most, str(high))] if high is not None else [])]
        yield with_query(parts, others + prices)


def _ranges(low: str, high: str, steps: tuple[int, ...]) -> list[tuple[int, int | None]]:
    """Return smaller ranges of prices, the last open where this one is; none for what is no whole number."""
    if not low.isdecimal() or not (high or "0").isdecimal():
        return []
    least = int(low)
    if high:
        middle = (least + int(high)) // 2
        return [(least, middle), (middle, int(high))] if int(high) - least >= _SMALLEST else []
    edges = [least, 2 * least] if least else [0, *steps]  # what lies above the last step is doubled
    return [*pairwise(edges), (edges[-1], None)]
