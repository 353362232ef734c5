"""A portal's reader against pages, data and texts made to be hard to read: trials for `growths`."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urljoin

from pydantic import BaseModel

from sale_sofia.config.pattern_texts import pieces_for, text_of
from sale_sofia.config.site_config import SiteConfig, SitemapTable, SplitTable, Urls
from sale_sofia.config.site_links import CARD, JsonTable, Link
from sale_sofia.config.site_patterns import compiled
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError
from sale_sofia.monitoring.growth import Trial
from sale_sofia.monitoring.hostile_html import END, HEAD, HTML
from sale_sofia.monitoring.hostile_shapes import JSONS, TEXTS, Shape, nested, repeated
from sale_sofia.websites.table_site import TableSite

_PATTERNS_OF: Final[Mapping[type[BaseModel], tuple[str, ...]]] = {
    Link: ("match",),
    JsonTable: ("after", "pieces"),
    Urls: ("listing", "search", "project"),
    SplitTable: ("at",),
    SitemapTable: ("path", "follow", "adverts"),
}
_COMPOUND: Final = re.compile(
    r"(?P<tag>^[a-z][a-z0-9]*)|#(?P<id>[\w-]+)|\.(?P<cls>[\w-]+)|\[(?P<attr>[^\[\]]+)\]"
)
_ATTRIBUTE: Final = re.compile(r"(?P<name>[\w:-]+)(?:[~|^$*]?=[\"']?(?P<value>[^\"']*)[\"']?)?")
_SITEMAPS: Final[Mapping[str, Shape]] = {
    "entries": repeated("<url><loc>https://x.bg/#</loc></url>", "<urlset>", "</urlset>"),
    "open entries": repeated("<url>", "<urlset>", "</urlset>"),
    "open sitemaps": repeated("<sitemap><url>", "<urlset>", "</urlset>"),
    "crossed entries": repeated("<url></sitemap>", "<urlset>", "</urlset>"),
    "spaces": repeated(" ", "<urlset><url><loc>", "</url></urlset>"),
    "addresses": repeated("<loc>", "<urlset><url>", "</url></urlset>"),
    "remarks": repeated("<!---->", "<urlset></urlset>", "x"),
    "ended remarks": repeated("-->", "<urlset></urlset>"),
}


def site_trials(site: TableSite) -> list[Trial]:
    """Everything that is tried of a portal's site file."""
    return [*pattern_trials(site.config), *page_trials(site)]


def pattern_trials(config: SiteConfig) -> Iterator[Trial]:
    """Each of its patterns on the texts made for it."""
    for pattern in dict.fromkeys(patterns_of(config)):
        for piece in pieces_for(pattern, re.DOTALL):
            name = f"the pattern {pattern!r} on {piece[0]!r} with {piece[1]!r} repeated"
            yield Trial(name, partial(text_of, piece), partial(_all_found, compiled(pattern)))


def _all_found(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


def patterns_of(config: SiteConfig) -> Iterator[str]:
    """Every regular expression of a site file."""
    for model in _models(config):
        for name in _PATTERNS_OF.get(type(model), ()):
            if pattern := getattr(model, name):
                yield pattern


def _models(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        value = [getattr(value, name) for name in type(value).model_fields]
    elif isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _models(one)


def page_trials(site: TableSite) -> Iterator[Trial]:
    """The portal's reader on pages of every shape, those of its own selectors among them."""
    shapes = {**HTML, **TEXTS, **dict(_own_shapes(site.config))}
    read = partial(read_all, site)
    for name, shape in shapes.items():
        yield Trial(f"a page of {name}", partial(_page, site, shape), read)
    for name, shape in _data_shapes(site.config):
        yield Trial(f"data of {name}", partial(_data, site, shape), read)
    if site.config.sitemap:
        for name, shape in _SITEMAPS.items():
            yield Trial(f"a sitemap of {name}", partial(_data, site, shape), read)


def _page(site: TableSite, shape: Shape, size: int) -> Page:
    return _data(site, lambda wanted: f"{HEAD}{shape(wanted)}{END}", size)


def _data(site: TableSite, shape: Shape, size: int) -> Page:
    return Page(f"https://{site.config.hosts[0]}/", shape(size).encode("utf-8", "replace"))


def _own_shapes(config: SiteConfig) -> Iterator[tuple[str, Shape]]:
    """What the portal's own selectors find, very often and very long."""
    for css in dict.fromkeys(_selectors(config)):
        opening, closing = element(css)
        yield f"{css} again and again", repeated(f"{opening}1 x{closing}")
        yield f"{css} in each other", repeated(opening)
        yield f"{css} in each other, closed", nested(opening, closing)
        yield f"{css} full of text", repeated("1 x\n", opening, closing)


def _selectors(config: SiteConfig) -> Iterator[str]:
    for model in _models(config):
        css = getattr(model, "css", None)
        if css:
            yield css
    yield from (table.cards for table in config.searches.values() if table.json_ is None)


def element(css: str) -> tuple[str, str]:
    """The tags of an element that a plain selector finds: what stands last in it, as far as it says."""
    last = css.split(",", maxsplit=1)[0].split(":not", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    found = list(_COMPOUND.finditer(last))
    tag = next((one["tag"] for one in found if one["tag"]), "div")
    classes = " ".join(one["cls"] for one in found if one["cls"])
    given = [_ATTRIBUTE.match(one["attr"]) for one in found if one["attr"]]
    more = "".join(f' {one["name"]}="{one["value"] or 1}"' for one in given if one)
    ids = "".join(f' id="{one["id"]}"' for one in found if one["id"])
    return f'<{tag}{ids} class="{classes}"{more} href="/1" content="1">', f"</{tag}>"


def _data_shapes(config: SiteConfig) -> Iterator[tuple[str, Shape]]:
    for name, table in config.json_.items():
        for kind, shape in JSONS.items():
            if table.body:
                yield f"{name}: {kind}", shape
            elif table.after:
                yield f"{name}: {kind}", partial(_after, table.after, shape)


def _after(pattern: str, shape: Shape, size: int) -> str:
    begin = pieces_for(pattern, re.DOTALL)[0][1]
    return f"{HEAD}<script>{begin}{shape(size)}</script>{END}"


def read_all(site: TableSite, page: Page) -> None:
    """Every way in which the site file reads a page, whatever the page is."""
    ways: tuple[Callable[[], Any], ...] = (
        lambda: normalise(site.listing(page)),
        lambda: [card.facts for card in site.search(page).cards],
        lambda: site.search(Page(urljoin(page.url, _sitemap_path(site)), page.body)),
        lambda: _read_links(site, page),
    )
    for way in ways:
        with suppress(PageError):
            way()


def _sitemap_path(site: TableSite) -> str:
    table = site.config.sitemap
    return pieces_for(table.path, re.DOTALL)[0][1] if table else ""


def _read_links(site: TableSite, page: Page) -> None:
    document = site.open(page)
    for name in site.config.listing.rows:
        document.rows(name)
    for link in _models(site.config):
        if isinstance(link, Link) and link.json_ != CARD and link.row is None:
            document.texts(link)
