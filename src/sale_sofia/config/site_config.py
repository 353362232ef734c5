"""What is known about one portal: its addresses, its politeness, and the table of its fields.

Two levels: `defaults.yaml` for all portals, `sites/<site>.yaml` over it. A file is checked whole when it is
loaded, and what is wrong is named by file and key.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urljoin, urlsplit, urlunsplit

import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from sale_sofia.config.fetching import PROOF_MIN_LENGTH
from sale_sofia.config.reading import SITE_FILES_REMEMBERED
from sale_sofia.config.site_history import DelistingTable, HistoryTable
from sale_sofia.config.site_links import (
    CARD,
    FieldTable,
    JsonTable,
    Link,
    PagingTable,
    Pattern,
    RowsTable,
    Table,
)
from sale_sofia.config.site_proxies import ProxyTable
from sale_sofia.config.yaml_text import YamlTooMuch, file_text, read_yaml

CONFIG_FOLDER = Path(str(files("sale_sofia.config")))
_SITES_VARIABLE = "SITES_DIR"


class SiteConfigError(ValueError):
    """A site file that cannot be used, said in one sentence per mistake: file, key, what is allowed."""


def _ascii(mark: bytes) -> bytes:
    if not mark.isascii():
        raise ValueError("must be ASCII, which is the same in every charset")
    return mark


ProofMark = Annotated[bytes, Field(min_length=PROOF_MIN_LENGTH), AfterValidator(_ascii)]


class Politeness(Table):
    """How gently a portal is read, unless the environment says otherwise."""

    delay_seconds: Annotated[float, Field(ge=0.05, le=600)]
    concurrency: Annotated[int, Field(ge=1, le=32)]
    connect_timeout_seconds: Annotated[float, Field(gt=0, le=120)]
    read_timeout_seconds: Annotated[float, Field(gt=0, le=300)]
    retries: Annotated[int, Field(ge=0, le=10)]


class Urls(Table):
    """Which path is what; a listing's pattern names its id `(?P<id>…)`."""

    listing: Pattern
    search: Pattern | None = None
    project: Pattern | None = None
    digits: Annotated[str | None, Field(min_length=2)] = None
    """Where the id in an address is the advert's number written in other digits: those digits, from zero."""


OWN_ADDRESS = (
    Link(css='link[rel="canonical"]', attr="href"),
    Link(css='meta[property="og:url"]', attr="content"),
)


class ListingTable(Table):
    """How an advert's page is read."""

    skip: tuple[tuple[str, str], ...] = ()
    """Marks between which nothing of the advert stands: that is cut out before parsing, to save its cost."""
    ids: Annotated[tuple[Link, ...], Field(min_length=1)]
    gone: tuple[Link, ...] = ()
    """A text here says that the advert is not offered any more."""
    rows: dict[str, RowsTable] = Field(default_factory=dict)
    fields: Annotated[dict[str, FieldTable], Field(min_length=1)]


class SearchTable(Table):
    """How a page of results is read, in one of the layouts the portal has."""

    cards: str
    """A selector; with `json`, the dotted path of a list."""
    json_: Annotated[str | None, Field(alias="json")] = None
    hidden: str | None = None
    """Elements among the cards that are templates or advertising."""
    card_id: Link
    card_url: Link
    rows: dict[str, RowsTable] = Field(default_factory=dict)
    fields: dict[str, FieldTable] = Field(default_factory=dict)
    fills: tuple[str, ...] = ()
    """Facts that stand on the card alone: an advert whose own page lacks one has it from its card."""
    total: tuple[Link, ...]
    capped: Link | None = None
    most: Annotated[int | None, Field(ge=1)] = None
    """The portal shows no more results of one search than this, whatever their total."""
    most_pages: Annotated[int | None, Field(ge=1)] = None
    """The portal answers no page of a search after this one."""
    stale_pages: Annotated[int | None, Field(ge=2, le=1000)] = None
    """A search ends after so many pages in a row without an advert new to it; unset: as the settings say."""
    last_page: tuple[Link, ...] = ()
    """Where a page of results names the number of the last one: it announces where no total does."""
    next: tuple[Link, ...] = ()
    paging: PagingTable | None = None
    empty: tuple[str, ...] = ()
    """The portal's own words for "nothing found"."""
    none_found: Link | None = None
    """The same where no words say it: a text here means that nothing was found."""

    @model_validator(mode="after")
    def _says_when_empty(self) -> "SearchTable":
        if not self.empty and self.none_found is None:
            raise ValueError("a search needs empty or none_found: how the portal says that nothing was found")
        return self


class PathSplit(Table):
    """Parts that stand in the path behind the city: its neighbourhoods, then the types of property."""

    root: str = ""
    """What stands in the path before the kind of deal."""
    city: str
    neighbourhoods: bool = True
    types: Annotated[tuple[str, ...], Field(min_length=1)]
    added_types: str | None = None
    """The key of a query that adds types to the path's, by their place in `types`, from 1: `2~3~`."""


class IdSplit(Table):
    """Parts that a query names by ids, several at once: as many as should fit under the cap.

    The ids are those of `known`, the numbers of the imot.bg family (`neighbourhoods`), those that a page of
    results names (`from`), or those that a page of their own lists (`page`), read there by `from`. What was
    learnt is kept for the next crawl.
    """

    query: str
    known: tuple[str, ...] = ()
    neighbourhoods: bool = False
    links: Annotated[tuple[Link, ...], Field(alias="from")] = ()
    page: Annotated[str | None, Field(pattern=r"^/")] = None
    between: str | None = None
    """What follows each id where all stand in one value, like `6~10~`; without it the key is repeated."""

    @model_validator(mode="after")
    def _some_ids(self) -> "IdSplit":
        if sum(map(bool, (self.known, self.neighbourhoods, self.links))) != 1:
            raise ValueError(
                "ids are exactly one of known, neighbourhoods: true, or learnt from a page (from)"
            )
        return self


class PriceSplit(Table):
    """Parts by price: at the steps, then each in halves."""

    least: Annotated[str, Field(alias="from")]
    most: Annotated[str, Field(alias="to")]
    steps: Annotated[tuple[int, ...], Field(min_length=1)]
    """Prices at which a search without any is cut; what lies above the last is doubled."""


class SplitTable(Table):
    """One way to cut a search that its portal caps into smaller ones; the first that can is taken."""

    at: Pattern | None = None
    """Only for searches whose path has this: a portal's pages and its interface take other filters."""
    path: PathSplit | None = None
    ids: IdSplit | None = None
    price: PriceSplit | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "SplitTable":
        if sum(way is not None for way in (self.path, self.ids, self.price)) != 1:
            raise ValueError("a way to cut a search is exactly one of path, ids, price")
        return self

    @property
    def name(self) -> str:
        """What the way is called in reports."""
        return self.ids.query if self.ids else "price" if self.price else "path"


class SitemapTable(Table):
    """Which addresses are sitemaps, and which of what they list counts."""

    path: Pattern
    """Of an index, and of the sitemaps it leads to."""
    follow: Pattern | None = None
    """Of an index, the sitemaps whose address has this; without it all."""
    adverts: Pattern | None = None
    """The adverts whose address has this; without it all."""


class Inventory(Table):
    """How much there is to read, for an estimate before the first sweep."""

    adverts: Annotated[int, Field(ge=1)]
    per_page: Annotated[int, Field(ge=1)]


Part = Annotated[float, Field(ge=0, le=1)]


class FloorTable(Table):
    """Of the adverts a run opens, the share that has each of these at least; below it the run is unhealthy.

    It needs no earlier run: a site file that never read a price is found by its first.
    """

    price: Part
    """A price, or the page's own word that there is none to be told ("по договаряне")."""
    area: Part
    place: Part
    """The city, at least."""
    type: Part


class SiteConfig(Table):
    """One portal."""

    site: str
    hosts: Annotated[tuple[str, ...], Field(min_length=1)]
    inventory: Inventory
    politeness: Politeness
    urls: Urls
    proof: tuple[ProofMark, ...] = ()
    """Markup of which every page we can read holds one and no challenge any; no words, no addresses."""
    start_urls: tuple[str, ...] = ()
    """Where a crawl begins, unless `start_urls.yaml` says so."""
    other_starts: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] = ()
    """Where it begins instead, in this order, when robots.txt forbids the start before."""
    json_: dict[str, JsonTable] = Field(default_factory=dict, alias="json")
    """JSON that pages hold, by the name under which links read it."""
    address: Annotated[tuple[Link, ...], Field(min_length=1)] = OWN_ADDRESS
    """Where a page gives its own address."""
    listing: ListingTable
    search: SearchTable | None = None
    """Without it adverts come from a sitemap, or from a list of their addresses."""
    other_searches: tuple[SearchTable, ...] = ()
    """Further layouts of the pages of results, tried in this order after `search`."""
    split: tuple[SplitTable, ...] = ()
    """Ways to cut a search that the portal caps, in the order in which they are tried."""
    sitemap: SitemapTable | None = None
    at_least: FloorTable
    history: HistoryTable
    delisting: DelistingTable
    proxies: ProxyTable = ProxyTable()
    browser_allowed: bool = False
    """Whether a page that answers with a JavaScript challenge may be taken to a browser (BROWSER_ENABLED)."""

    @property
    def searches(self) -> dict[str, SearchTable]:
        """Every layout of the pages of results, by its section of the file."""
        others = {f"other_searches.{place}": table for place, table in enumerate(self.other_searches)}
        return {**({"search": self.search} if self.search else {}), **others}

    @property
    def field_tables(self) -> dict[str, dict[str, FieldTable]]:
        """The fields of each section that has any."""
        cards = {section: table.fields for section, table in self.searches.items()}
        return {"listing": self.listing.fields, **cards}

    @property
    def rows_tables(self) -> dict[str, dict[str, RowsTable]]:
        """The sets of labelled rows of each section."""
        cards = {section: table.rows for section, table in self.searches.items()}
        return {"listing": self.listing.rows, **cards}

    @model_validator(mode="after")
    def _search_is_whole(self) -> "SiteConfig":
        if (self.search is None) != (self.urls.search is None) or (self.other_searches and not self.search):
            raise ValueError(
                "search and urls.search belong together: name both, or neither and no other_searches"
            )
        return self

    @model_validator(mode="after")
    def _know_every_json(self) -> "SiteConfig":
        unknown = sorted(set(_json_names(self.model_dump(by_alias=True))) - {CARD, *self.json_})
        if unknown:
            raise ValueError(f"no json named {', '.join(unknown)}; allowed: {', '.join([CARD, *self.json_])}")
        return self


def _json_names(section: Any) -> Iterator[str]:  # noqa: ANN401 - any part of a file
    if isinstance(section, Mapping):
        if isinstance(section.get("json"), str):
            yield section["json"]
        yield from (name for part in section.values() for name in _json_names(part))
    elif isinstance(section, list | tuple):
        yield from (name for part in section for name in _json_names(part))


def load_site_config(site: str, folder: Path = CONFIG_FOLDER) -> SiteConfig:
    """The checked configuration of one portal, its defaults filled in."""
    path, defaults = _files(folder).get(site, folder / "sites" / f"{site}.yaml"), folder / "defaults.yaml"
    return _checked(defaults, read_text(defaults), path, read_text(path))


@lru_cache(SITE_FILES_REMEMBERED)
def _checked(defaults: Path, defaults_text: str, path: Path, text: str) -> SiteConfig:
    """A file is asked for at every turn and changes hardly ever: the same text is checked once."""
    merged = merge(parse_yaml(defaults, defaults_text), parse_yaml(path, text))
    try:
        return SiteConfig.model_validate(merged)
    except ValidationError as error:
        raise SiteConfigError(sentences(path, error)) from None


def sentences(path: Path, error: ValidationError) -> str:
    """What is wrong with a file, a line for each mistake."""
    wrong = error.errors()
    told = [one for one in wrong if not _follows_from_others(one, wrong)]
    return "\n".join(f"{path}: {_sentence(one)}" for one in told)


def _follows_from_others(error: Mapping[str, Any], errors: Iterable[Mapping[str, Any]]) -> bool:
    """A list is too short because its elements are wrong, which is told of each of them."""
    place = error["loc"]
    inner = (one for one in errors if one["loc"] != place and one["loc"][: len(place)] == place)
    return error["type"] == "too_short" and any(inner)


def _sentence(error: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in error["loc"]) or "the file"
    return f"{key}: {error['msg'].removeprefix('Value error, ')}"


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` laid on `base`, section by section; a list or a value replaces what was there."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        nested = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(below, value) if nested else value  # type: ignore[arg-type]
    return merged


def load_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file, or a `SiteConfigError` that says where it breaks."""
    return parse_yaml(path, read_text(path))


def read_text(path: Path) -> str:
    """The text of a user's file, or a `SiteConfigError` that says why there is none."""
    try:
        return file_text(path)
    except UnicodeDecodeError:
        raise SiteConfigError(f"{path}: is no text") from None
    except OSError as error:
        raise SiteConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except YamlTooMuch as error:
        raise SiteConfigError(f"{path}: {error}") from None


def parse_yaml(path: Path, text: str) -> dict[str, Any]:
    """The mapping in the text of a YAML file, or a `SiteConfigError` that says where it breaks."""
    try:
        loaded = read_yaml(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SiteConfigError(f"{path}: line {line}: not valid YAML: {error.problem}") from None
    except YamlTooMuch as error:
        raise SiteConfigError(f"{path}: {error}") from None
    except yaml.YAMLError as error:
        reason = str(error).partition("\n")[0]
        raise SiteConfigError(f"{path}: not valid YAML: {reason}") from None
    if not isinstance(loaded, dict):
        raise SiteConfigError(f"{path}: must hold a mapping of keys to values")
    return loaded


@cache
def available_sites(folder: Path = CONFIG_FOLDER) -> tuple[str, ...]:
    """The portals that have a site file, in alphabetical order."""
    return tuple(sorted(_files(folder)))


def own_sites_folder() -> Path | None:
    """The folder of the user's own site files (SITES_DIR), where one is named."""
    own = os.environ.get(_SITES_VARIABLE)
    # An unknown `~name` stays as it is: the settings refuse it with a sentence.
    return Path(os.path.expanduser(own)) if own else None  # noqa: PTH111 - the other one raises


def _files(folder: Path) -> dict[str, Path]:
    """Every portal's file; one of the user's own (SITES_DIR) goes before the installed one of its name."""
    own = own_sites_folder()
    folders = (folder / "sites", *((own,) if own else ()))
    return {path.stem: path for place in folders for path in sorted(place.glob("*.yaml"))}


@cache
def load_start_urls(folder: Path = CONFIG_FOLDER) -> Mapping[str, tuple[str, ...]]:
    """Where a crawl of each portal begins."""
    path = folder / "start_urls.yaml"
    start_urls = load_yaml(path)
    for site, urls in start_urls.items():
        if site not in available_sites(folder):
            allowed = ", ".join(available_sites(folder))
            raise SiteConfigError(f"{path}: {site}: no such site; allowed: {allowed}")
        if not isinstance(urls, list) or not all(str(url).startswith("https://") for url in urls):
            raise SiteConfigError(f"{path}: {site}: must be a list of https:// addresses")
    return {site: tuple(urls) for site, urls in start_urls.items()}


def known_starts(site: str) -> tuple[str, ...]:
    """Where a crawl of this portal begins: as its file says, else as `start_urls.yaml` does; or nothing."""
    return load_site_config(site).start_urls or load_start_urls().get(site, ())


def start_urls_of(site: str) -> tuple[str, ...]:
    """Where a crawl of this portal begins: as its file says, else as `start_urls.yaml` does.

    Raises:
        SiteConfigError: neither says.
    """
    found = known_starts(site)
    if not found:
        raise SiteConfigError(f"{site}: its file names no start_urls; give one with --start-url")
    return found


def all_starts(site: str) -> tuple[tuple[str, ...], ...]:
    """Where a crawl of this portal may begin: the next where robots.txt forbids the one before.

    A copy of a portal, which begins at another host, is never left for the portal itself.
    """
    first, config = start_urls_of(site), load_site_config(site)
    if urlsplit(first[0]).hostname in config.hosts:
        return first, *config.other_starts
    return first, *(
        tuple(urljoin(first[0], path_and_query(url)) for url in urls) for urls in config.other_starts
    )


def path_and_query(url: str) -> str:
    """An address without its host."""
    return urlunsplit(urlsplit(url)._replace(scheme="", netloc="", fragment=""))
