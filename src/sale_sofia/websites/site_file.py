"""The site file of a portal: its addresses, its politeness, and the table of its fields.

`defaults.yaml` is for all portals, `sites/<site>.yaml` overrides it, and a user's file of the same name
(SITES_DIR) overrides that, or replaces it when it names its `site`. A file is checked whole when it is
loaded, and every mistake is reported with file and key.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urljoin, urlsplit, urlunsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from sale_sofia.history.settings import SECONDS_PER_HOUR, HistoryRules, HistorySettings
from sale_sofia.listings.settings import SITE_FILES_REMEMBERED
from sale_sofia.settings.files import YamlTooMuch, file_text, read_yaml
from sale_sofia.settings.types import at_key, why_refused
from sale_sofia.settings.words import Said
from sale_sofia.websites.patterns import checked, with_a_group
from sale_sofia.websites.settings import PROOF_MIN_LENGTH

# Where a text may be on a page: the parts of a site file's tables.

CARD = "card"
"""The name by which a link reads the JSON of its own card."""


class Table(BaseModel):
    """A section of a site file. An unknown key is an error that lists the known ones."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:  # noqa: ANN401 - whatever the file holds
        allowed = {field.alias or name for name, field in cls.model_fields.items()}
        if isinstance(data, Mapping) and (unknown := sorted(map(str, data.keys() - allowed))):
            raise ValueError(f"unknown key {', '.join(unknown)}; allowed: {', '.join(sorted(allowed))}")
        return data


Pattern = Annotated[str, AfterValidator(checked)]
GroupPattern = Annotated[str, AfterValidator(checked), AfterValidator(with_a_group)]
Paths = Annotated[
    tuple[str, ...], BeforeValidator(lambda paths: (paths,) if isinstance(paths, str) else paths)
]


class Link(Table):
    """One place where a text may be: exactly one of css, row, jsonld, json and page says which."""

    css: str | None = None
    row: str | None = None
    jsonld: str | None = None
    json_: Annotated[str | None, Field(alias="json")] = None
    """A JSON of the site file's `json` section by its name, or `card`: the JSON of the card itself."""
    page: Literal["id", "url", "source"] | None = None
    """The page's id, its address, or its source as it stands: with `match`, cheaper than any selector."""
    rows: str = "params"
    """With `row`: in which set of labelled rows."""
    path: Paths = ()
    """With `json`, `jsonld`, or `css` and `attr` whose value is JSON: dotted keys, `*` for every element, a
    number for one. Several are joined."""
    form: str | None = None
    """With `path`: the text into which the values are put, a `{}` for each."""
    markup: bool = False
    """With `json`: the value is HTML, of which the text counts."""
    attr: str | None = None
    own_text: bool = False
    """Leave out the text of inner elements."""
    without: str | None = None
    """With `css`: inner elements whose text does not count, like a crossed-out price."""
    glue: bool = False
    """Join the pieces of text without a line break, as the portal's own plain text does."""
    match: GroupPattern | None = None
    """Only what the first group finds in the text counts; a text without it does not."""
    all: bool = False
    """Every element counts, not the first alone; with `match`, everything it finds in each text."""

    @model_validator(mode="after")
    def _one_source(self) -> "Link":
        sources = (self.css, self.row, self.jsonld, self.json_, self.page)
        if sum(source is not None for source in sources) != 1:
            raise ValueError("a link has exactly one of css, row, jsonld, json, page")
        if (self.jsonld or self.json_) and not self.path:
            raise ValueError("a link with json or jsonld needs a path")
        if self.path and not (self.jsonld or self.json_ or (self.css and self.attr)):
            raise ValueError("a path needs json, jsonld, or css and attr")
        if self.form is not None and not self.path:
            raise ValueError("form is for links with a path: it puts the values of their paths in a text")
        if self.form is not None and self.form.count("{}") != len(self.path):
            raise ValueError(f"form needs one {{}} for each of the {len(self.path)} paths")
        return self


class FieldTable(Table):
    """One field: links (the first with a text wins), its parser, and what must agree with it."""

    links: Annotated[tuple[Link, ...], Field(alias="from", min_length=1)]
    parse: str | Annotated[dict[str, dict[str, Any]], Field(min_length=1, max_length=1)]
    agree: tuple[Link, ...] = ()

    @cached_property
    def parser(self) -> tuple[str, Mapping[str, Any]]:
        """The parser's name and its arguments."""
        return (self.parse, {}) if isinstance(self.parse, str) else next(iter(self.parse.items()))


class RowsTable(Table):
    """Labelled rows: label and value are elements of the row, or its text before and after a colon.

    With `beside` the rows are their labels alone, and each value is the element after its label.

    With `json` the rows are the elements of the list at `path`, label and value two of their keys.
    """

    css: str | None = None
    json_: Annotated[str | None, Field(alias="json")] = None
    path: str = ""
    label: str | None = None
    value: str | None = None
    attr: str | None = None
    """With `css` and `value`: the value is this attribute of its element."""
    beside: bool = False
    """With `css`: the element is a label; the next one beside it that is no line break holds the value."""
    before: str | None = None
    """With `css`: from the first such element on, rows belong to other adverts, whatever encloses them."""

    @model_validator(mode="after")
    def _one_source(self) -> "RowsTable":
        if (self.css is None) == (self.json_ is None):
            raise ValueError("rows have either css or json")
        if self.json_ is not None and None in (self.label, self.value):
            raise ValueError("rows of a json need label and value: the keys of an element")
        if self.attr is not None and (self.css is None or None in (self.label, self.value)):
            raise ValueError("rows with attr need css, label and value")
        return self


class JsonTable(Table):
    """A JSON in a page: the whole body, an element, or what stands right after the place a pattern finds.

    A JSON that is a string holding JSON is opened too. `path` leads to the part that links see; what stands
    beside it is not read.
    """

    body: bool = False
    css: str | None = None
    """The first such element: its text is the JSON, or with `attr` that attribute."""
    attr: str | None = None
    after: Pattern | None = None
    pieces: Pattern | None = None
    """With `after`: it is looked for in all the strings that stand right after this pattern, joined. A page
    of Next.js sends its data so: `self.__next_f.push([1,"…"])`."""
    path: str = ""

    @model_validator(mode="after")
    def _one_place(self) -> "JsonTable":
        if self.body + (self.after is not None) + (self.css is not None) != 1:
            raise ValueError(
                "a JSON is either the body (body: true), an element (css: …) "
                "or stands after a pattern (after: …)"
            )
        if self.attr is not None and self.css is None:
            raise ValueError("attr needs css: the element that has it")
        if self.pieces is not None and self.after is None:
            raise ValueError("pieces need after: what to look for in them")
        return self


class PagingTable(Table):
    """How the next page of results is addressed where the page itself does not link to it."""

    more: Link | None = None
    """A text here says that there is a next page."""
    last: Link | None = None
    """The number of the last page."""
    path: str | None = None
    """What a page's number follows at the end of the path, like `/page-`."""
    query: dict[str, tuple[int, int]] = {}
    """Numbers in the query: what each is on the first page, and by how much it grows."""
    window: tuple[str, str] | None = None
    """Two numbers in the query, the first and the last result asked for: the next page is as large."""

    @model_validator(mode="after")
    def _one_way(self) -> "PagingTable":
        if (self.more is None) == (self.last is None):
            raise ValueError("paging needs either more or last")
        if sum(map(bool, (self.path, self.query, self.window))) != 1:
            raise ValueError("paging needs exactly one of path, query, window")
        return self


# History of adverts: when they are opened again, and when they are gone.


class HistoryTable(Table):
    """When an advert whose card did not change is opened again; the interval adapts within these bounds."""

    first_hours: Annotated[float, Field(ge=1, le=8760)]
    least_hours: Annotated[float, Field(ge=1, le=8760)]
    most_hours: Annotated[float, Field(ge=1, le=8760)]
    conditional: bool
    """Whether the portal answers "not modified" to a request that names what we have."""

    @model_validator(mode="after")
    def _in_order(self) -> "HistoryTable":
        if not self.least_hours <= self.first_hours <= self.most_hours:
            raise ValueError("must be least_hours <= first_hours <= most_hours")
        return self

    def rules(self, settings: HistorySettings) -> HistoryRules:
        """Return the same in the units of the database, with those of the settings."""
        return HistoryRules(
            first_seconds=self.first_hours * SECONDS_PER_HOUR,
            least_seconds=self.least_hours * SECONDS_PER_HOUR,
            most_seconds=self.most_hours * SECONDS_PER_HOUR,
            odd_price_visits=settings.odd_price_visits,
            gone_value_visits=settings.gone_value_visits,
        )


class DelistingTable(Table):
    """When an advert is gone."""

    absence: bool
    """Whether a complete sweep without an advert says anything; one of a rolling window does not."""
    sweeps: Annotated[int, Field(ge=1, le=100)]
    """With `absence`: so many complete sweeps without it."""
    look: bool
    """Whether its own page must say so too; without `absence` that alone decides."""

    @model_validator(mode="after")
    def _some_evidence(self) -> "DelistingTable":
        if not self.absence and not self.look:
            raise ValueError("without absence and without a look nothing is ever gone; allow one of them")
        return self


# Proxies of a portal: without this section none is used.

SiteTier = Literal["own", "free", "paid"]


class ProxyTable(Table):
    """Whether a portal is requested through proxies, which, and what is done when none helps."""

    use: bool = False
    tiers: Annotated[tuple[SiteTier, ...], Field(min_length=1)] = ("own", "free", "paid")
    """In the order in which they are tried; the next one only when the ones before do not help."""
    direct_allowed: bool = False
    """Whether, at the very end, the portal may be asked from our own address."""
    canary: Annotated[str, Field(pattern=r"^/")] = "/robots.txt"
    """A small page by which a check learns whether the portal lets a proxy in."""


CONFIG_FOLDER = Path(str(files("sale_sofia.websites")))
_SITES_VARIABLE = "SITES_DIR"


class SiteConfigError(ValueError):
    """A site file that cannot be used; one sentence per mistake: file, key, what is allowed."""


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
    retries: Annotated[int, Field(ge=0, le=99)] | None = None
    """How often a page is asked for again, within RETRY_MAX_ATTEMPTS; None: as often as that allows."""


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
    """Marks between which nothing of the advert stands, in the page's order: cut out before parsing, to save
    its cost."""
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
    enabled: bool = True
    """Whether it is crawled at all."""
    hosts: Annotated[tuple[str, ...], Field(min_length=1)]
    photo_hosts: tuple[str, ...] = ()
    """Where its photos are, beside its own hosts; each stands for all hosts below it too."""
    copies: bool = False
    """Whether adverts with a family id are copies of other portals': where they agree, one is opened."""
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
    def _refuse_unknown_json(self) -> "SiteConfig":
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
    """Load and check the configuration of one portal, with its defaults."""
    return _checked(tuple((path, read_text(path)) for path in _layers(site, folder)))


def may_name(site: str, texts: Iterable[str]) -> bool:
    """Whether the portal's own files or start addresses hold one of these lower-case texts.

    Tells in a hundredth of the time of loading it that a portal has nothing to do with a host.
    """
    own_files = _layers(site, CONFIG_FOLDER)[1:]
    held = "\n".join([*map(read_text, own_files), *load_start_urls().get(site, ())]).lower()
    return any(text in held for text in texts)


@lru_cache(SITE_FILES_REMEMBERED)
def _checked(files: tuple[tuple[Path, str], ...]) -> SiteConfig:
    """Check each text once: files are loaded often, and hardly ever change."""
    merged: dict[str, Any] = {}
    for _, values in _in_effect(files):
        merged = merge(merged, values)
    path = files[-1][0]
    try:
        config = SiteConfig.model_validate(merged)
    except ValidationError as error:
        raise SiteConfigError(sentences(path, error, SiteConfig)) from None
    if config.site != path.stem:  # adverts are stored under the one and looked for under the other
        raise SiteConfigError(f"{path}: site: must be {path.stem}, as the file is called, not {config.site}")
    return config


def _layers(site: str, folder: Path) -> list[Path]:
    """Return the files of a portal, each overriding those before it."""
    installed, own = folder / "sites" / f"{site}.yaml", own_sites_folder()
    mine = own / f"{site}.yaml" if own else None
    found = [path for path in (installed, mine) if path and path.exists()]
    return [folder / "defaults.yaml", *(found or [installed])]


def _in_effect(files: Iterable[tuple[Path, str]]) -> list[tuple[Path, dict[str, Any]]]:
    """Return the files' values; a user's file that names its `site` replaces the installed one."""
    defaults, *others = ((path, parse_yaml(path, text)) for path, text in files)
    whole = [place for place, (_, values) in enumerate(others) if "site" in values]
    return [defaults, *others[max(whole, default=0) :]]


def sources(site: str, folder: Path = CONFIG_FOLDER) -> dict[str, tuple[Any, Path]]:
    """Return every value of the portal's files by its dotted key, with its file."""
    load_site_config(site, folder)  # raises for mistakes first
    entries: dict[str, tuple[Any, Path]] = {}
    for path, values in _in_effect((path, read_text(path)) for path in _layers(site, folder)):
        for key, value in _leaves(values):
            within = [name for name in entries if f"{name}.".startswith(f"{key}.")]
            if value == {} and within:
                continue  # an empty section is laid over another: nothing changes
            # A value replaces a whole section, and a section a value.
            above = [name for name in entries if f"{key}.".startswith(f"{name}.")]
            entries = {name: entry for name, entry in entries.items() if name not in (*within, *above)}
            entries[key] = value, path
    return entries


def _leaves(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{key}.")
        else:
            yield key, value


def sentences(path: Path, error: ValidationError, model: type[BaseModel]) -> Said:
    """Return what is wrong with a file, a line for each mistake."""
    lines, mistakes = [], error.errors()
    for mistake in mistakes:
        place = mistake["loc"]
        inner = (other["loc"] for other in mistakes if other["loc"] != place)
        if mistake["type"] == "too_short" and any(other[: len(place)] == place for other in inner):
            continue  # a list is too short because its elements are wrong, which are reported themselves
        why = at_key(place, why_refused(mistake, model))
        lines.append(Said("wrong_file.at", path=str(path), why=why))
    return Said("wrong_file.lines", lines=lines)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` overridden by `over`, section by section; a list or a value is replaced."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        nested = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(below, value) if nested else value  # type: ignore[arg-type]
    return merged


def load_yaml(path: Path) -> dict[str, Any]:
    """Load the mapping of a YAML file, or raise `SiteConfigError` with the place of the mistake."""
    return parse_yaml(path, read_text(path))


def _wrong(path: Path, why: Said) -> SiteConfigError:
    return SiteConfigError(Said("wrong_file.at", path=str(path), why=why))


def read_text(path: Path) -> str:
    """Read a user's file, or raise `SiteConfigError` with the reason."""
    try:
        return file_text(path)
    except UnicodeDecodeError:
        raise SiteConfigError(f"{path}: is no text") from None
    except OSError as error:
        raise _wrong(path, Said("wrong_file.unreadable", why=error.strerror)) from None
    except YamlTooMuch as error:
        raise SiteConfigError(f"{path}: {error}") from None


def parse_yaml(path: Path, text: str) -> dict[str, Any]:
    """Parse the mapping of a YAML text, or raise `SiteConfigError` with the place of the mistake."""
    try:
        loaded = read_yaml(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _wrong(path, Said("wrong_file.yaml", line=line, why=error.problem)) from None
    except YamlTooMuch as error:
        raise SiteConfigError(f"{path}: {error}") from None
    except yaml.YAMLError as error:
        reason = str(error).partition("\n")[0]
        raise SiteConfigError(f"{path}: not valid YAML: {reason}") from None
    if not isinstance(loaded, dict):
        raise _wrong(path, Said("wrong_file.mapping"))
    return loaded


@cache
def available_sites(folder: Path = CONFIG_FOLDER) -> tuple[str, ...]:
    """Return the portals that have a site file, in alphabetical order."""
    return tuple(sorted(_files(folder)))


def enabled_sites() -> tuple[str, ...]:
    """Return the portals that a crawl of all includes, in alphabetical order.

    Raises:
        SiteConfigError: there are none.
    """
    found = tuple(site for site in available_sites() if load_site_config(site).enabled)
    if not found:
        raise SiteConfigError("every portal is switched off (enabled: false in its site file)")
    return found


def own_sites_folder() -> Path | None:
    """Return the folder of the user's own site files (SITES_DIR), if set."""
    own = os.environ.get(_SITES_VARIABLE)
    # An unknown `~name` stays as it is: the settings refuse it with a message.
    return Path(os.path.expanduser(own)) if own else None  # noqa: PTH111 - the other one raises


def _files(folder: Path) -> dict[str, Path]:
    """Return every portal's file; one of the user's own (SITES_DIR) before the installed one."""
    own = own_sites_folder()
    folders = (folder / "sites", *((own,) if own else ()))
    return {path.stem: path for place in folders for path in sorted(place.glob("*.yaml"))}


@cache
def load_start_urls(folder: Path = CONFIG_FOLDER) -> Mapping[str, tuple[str, ...]]:
    """Load the start addresses of each portal."""
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
    """Return the start addresses of a portal from its file, else from `start_urls.yaml`; or none."""
    return load_site_config(site).start_urls or load_start_urls().get(site, ())


def start_urls_of(site: str) -> tuple[str, ...]:
    """As `known_starts`, but there must be some.

    Raises:
        SiteConfigError: there are none.
    """
    found = known_starts(site)
    if not found:
        raise SiteConfigError(f"{site}: its file names no start_urls; give one with --start-url")
    return found


def all_starts(site: str) -> tuple[tuple[str, ...], ...]:
    """Return the sets of start addresses of a portal: the next is for when robots.txt forbids the first.

    A crawl of a copy, at another host, never leaves it for the portal itself.
    """
    first, config = start_urls_of(site), load_site_config(site)
    if urlsplit(first[0]).hostname in config.hosts:
        return first, *config.other_starts
    return first, *(
        tuple(urljoin(first[0], path_and_query(url)) for url in urls) for urls in config.other_starts
    )


def path_and_query(url: str) -> str:
    """Return an address without its host."""
    return urlunsplit(urlsplit(url)._replace(scheme="", netloc="", fragment=""))
