"""Cuts a search that its portal caps into smaller ones that together find the same."""

from collections.abc import Iterator
from itertools import pairwise
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from sale_sofia.config.site_config import SplitTable
from sale_sofia.listings.places import neighbourhoods

_SMALLEST = 2


def split_search(url: str, table: SplitTable, page_mark: str | None) -> tuple[str, ...]:
    """Smaller searches; empty when this one cannot be cut."""
    if table.city:
        return tuple(_by_place(url, table, table.city, page_mark))
    return tuple(_by_price(url, table))


def _by_place(url: str, table: SplitTable, city: str, page_mark: str | None) -> Iterator[str]:
    """By neighbourhood, then by type; a search that names both cannot be cut further."""
    parts = urlsplit(url)
    root, _, rest = parts.path.partition(f"/{city}")
    if (
        not root.startswith(table.root)
        or root.count("/") != table.root.count("/") + 1
        or rest[:1] not in {"", "/"}
    ):
        return
    words = [word for word in rest.split("/") if word and not (page_mark and word.startswith(page_mark))]
    kinds = [word for word in words if word in table.types]
    places = [word for word in words if word not in table.types]
    for path in _smaller(f"{root}/{city}", places, kinds, table):
        yield urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _smaller(base: str, places: list[str], kinds: list[str], table: SplitTable) -> list[str]:
    if places and kinds:
        return []
    if places:
        return [f"{base}/{places[0]}/{kind}" for kind in table.types]
    tail = f"/{kinds[0]}" if kinds else ""
    return [f"{base}/{one.slug}{tail}" for one in neighbourhoods()]


def _by_price(url: str, table: SplitTable) -> Iterator[str]:
    """At the steps of the table, then each part in halves, down to a single price."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    low, high = query.get(table.price_from or ""), query.get(table.price_to or "")
    for one, other in _ranges(low, high, table.steps):
        cut = {**query, str(table.price_from): one, str(table.price_to): other, "offset": "0"}
        kept = {key: value for key, value in cut.items() if value and (key != "offset" or key in query)}
        yield urlunsplit(parts._replace(query=urlencode(kept, safe="[]:", quote_via=quote)))


def _ranges(low: str | None, high: str | None, steps: tuple[int, ...]) -> list[tuple[str, str]]:
    if low is None and high is None:
        edges = [0, *steps]
        return [*((str(one), str(other - 1)) for one, other in pairwise(edges)), (str(edges[-1]), "")]
    if not high:  # the last step of all: it doubles until nothing is left above
        return [(low or "0", str(2 * int(low or 1) - 1)), (str(2 * int(low or 1)), "")]
    return _halves(int(low or 0), int(high))


def _halves(low: int, high: int) -> list[tuple[str, str]]:
    if high - low < _SMALLEST:
        return []
    middle = (low + high) // 2
    return [(str(low), str(middle)), (str(middle + 1), str(high))]
