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
    """At the steps of the table, then each part in halves, down to a euro.

    Parts share their border: a price of 49 999.50 € would stand between two that do not.
    """
    parts, least, most = urlsplit(url), str(table.price_from), str(table.price_to)
    query = parse_qsl(parts.query, keep_blank_values=True)
    asked = dict(query)
    kept = [(key, "0" if key == "offset" else value) for key, value in query if key not in {least, most}]
    for low, high in _ranges(asked.get(least) or "0", asked.get(most) or "", table.steps):
        prices = [(least, str(low)), *([(most, str(high))] if high is not None else [])]
        yield urlunsplit(parts._replace(query=urlencode(kept + prices, safe="[]:", quote_via=quote)))


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
