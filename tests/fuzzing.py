"""Pages and texts made to break readers: what comes from them is data, none, or an error with a name."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from hypothesis import strategies as st

from sale_sofia.listings.model import RawField, RawListing
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import read_page
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.render import TWIN_PORTALS, render_twin, render_world
from sale_sofia_simulator.world import make_world

ARGUMENTS: dict[str, dict[str, Any]] = {
    "expiry": {"days": 31},
    "heating": {"yes": "district"},
    "offer_code": {"codes": {524: ["sale", "apartment"]}},
}
PIECES = (
    "2-стаен", "Продава", "99 000 €", "193 627.17 лв.", "1,234,567 EUR", "5-ти от 8", "Партер", "70 кв.м",
    "1.5 дка", "град София, Лозенец", "гр. Бургас", "Тухла, 2008 г.", "2026-04-08T13:49:44+03:00",
    "17:03 на 16 април, 2026 год.", "0888 000 123", "02/465-19-50", "https://x.bg/1.jpg", "42.6977", "0",
    "-1", "999999999999", "true", "ТEЦ", "\n", " ", ",", "/", "(", ")", "{}", "[", "<br>", "&nbsp;", "\u00a0",
    "\u200b", "\ud83c\udfe0", "1e309", "NaN", "null", "٣", "²",
)  # fmt: skip
TAG = re.compile(rb"<[a-zA-Z/][^<>]*>|\"[^\"<>]{1,40}\"|\d+")

words = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=8).map("".join)
texts = st.lists(words.filter(bool), min_size=1, max_size=4).map(tuple)
keys = st.sampled_from(("id", "url", "key", "value", "label", "price", "type", "title")) | words
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@cache
def seeds(site: str) -> list[Page]:
    """Small sound pages to begin with: an advert and a page of results."""
    world = make_world(2, 3)
    pages = render_twin(world, site) if site in TWIN_PORTALS else render_world(world)
    kinds = {page.truth["kind"]: Page(page.url, page.body) for page in pages if page.site == site}
    return [kinds["listing"], kinds["search"]]


FIELDS = {
    "area": "area_sqm", "condition": "condition", "coordinate": "lat", "expiry": "updated_at",
    "features": "features", "furnishing": "furnishing", "iso": "posted_at", "lines": "description",
    "moment": "updated_at", "names": "features", "number": "floors_total", "text": "title",
    "urls": "photo_urls", "year": "year_built", "yes_no": "elevator",
}  # fmt: skip
"""The field under which each parser is used, where its facts bear the field's name."""


def parse_any(name: str, given: tuple[str, ...]) -> None:
    """A parser takes any texts; what it makes of them fits a listing or is dropped."""
    field = RawField(given, 0, name, ARGUMENTS.get(name, {}))
    fields = {"views": RawField(("1",), 0, "number", {}), FIELDS.get(name, name): field}
    normalise(RawListing("imot.bg", "https://www.imot.bg/", "1", fields))


def read_any(site: str, page: Page) -> dict[str, Any]:
    """An adapter takes any bytes, and its answer is always JSON."""
    answer = read_page(get_scraper(site), page)
    json.dumps(answer)
    return answer


def spoiled(body: bytes, rng: Any, changes: int) -> bytes:  # noqa: ANN401 - a random.Random, also hypothesis's own
    """The page with some tags, values and numbers dropped, doubled or exchanged."""
    for _ in range(changes):
        spans = [found.span() for found in TAG.finditer(body)]
        if not spans:
            break
        start, end = rng.choice(spans)
        body = body[:start] + CHANGES[rng.randrange(len(CHANGES))](body[start:end], rng) + body[end:]
    return body


CHANGES: tuple[Callable[[bytes, Any], bytes], ...] = (
    lambda _piece, _rng: b"",
    lambda piece, _rng: piece * 2,
    lambda _piece, rng: rng.choice(PIECES).encode("utf-8", "surrogatepass"),
    lambda piece, rng: piece[: rng.randrange(len(piece))],
    lambda piece, _rng: piece[::-1],
)
