"""What is known about one portal: its addresses, its politeness, and the table of its fields.

Two levels: `defaults.yaml` for all portals, `sites/<site>.yaml` over it. A file is checked whole when it is
loaded, and what is wrong is named by file and key.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from sale_sofia.config.fetching import PROOF_MIN_LENGTH

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CONFIG_FOLDER = Path(str(files("sale_sofia.config")))
SITES_VARIABLE = "SITES_DIR"


class SiteConfigError(ValueError):
    """A site file that cannot be used, said in one sentence per mistake: file, key, what is allowed."""


class Table(BaseModel):
    """A section of a site file. An unknown key is an error that lists the known ones."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _know_every_key(cls, data: Any) -> Any:  # noqa: ANN401 - whatever the file holds
        known = {field.alias or name for name, field in cls.model_fields.items()}
        if isinstance(data, Mapping) and (unknown := sorted(data.keys() - known)):
            raise ValueError(f"unknown key {', '.join(unknown)}; allowed: {', '.join(sorted(known))}")
        return data


def _compile(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


Pattern = Annotated[str, AfterValidator(_compile)]


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
    search: Pattern
    project: Pattern | None = None


class Link(Table):
    """One place where a text may stand: exactly one of css, row, jsonld and page says which."""

    css: str | None = None
    row: str | None = None
    jsonld: str | None = None
    page: Literal["id", "url"] | None = None
    rows: str = "params"
    """With `row`: in which set of labelled rows."""
    path: tuple[str, ...] = ()
    """With `jsonld`: the keys whose values are joined, each a dotted path."""
    attr: str | None = None
    own_text: bool = False
    """Leave out the text of inner elements."""
    glue: bool = False
    """Join the pieces of text without a line break, as the portal's own plain text does."""
    match: Pattern | None = None
    """Only what the first group finds in the text counts; a text without it does not."""
    all: bool = False
    """Every element counts, not the first alone."""

    @model_validator(mode="after")
    def _one_source(self) -> "Link":
        if sum(source is not None for source in (self.css, self.row, self.jsonld, self.page)) != 1:
            raise ValueError("a link has exactly one of css, row, jsonld, page")
        return self


class FieldTable(Table):
    """One field: links (the first with a text wins), its parser, and what must agree with it."""

    links: Annotated[tuple[Link, ...], Field(alias="from", min_length=1)]
    parse: str | dict[str, dict[str, Any]]
    agree: tuple[Link, ...] = ()

    @property
    def parser(self) -> tuple[str, Mapping[str, Any]]:
        """The parser's name and its arguments."""
        return (self.parse, {}) if isinstance(self.parse, str) else next(iter(self.parse.items()))


class RowsTable(Table):
    """Labelled rows: label and value are elements of the row, or its text before and after a colon."""

    css: str
    label: str | None = None
    value: str | None = None


class ListingTable(Table):
    """How an advert's page is read."""

    skip: tuple[tuple[str, str], ...] = ()
    """Marks between which nothing of the advert stands: that is cut out before parsing, to save its cost."""
    ids: Annotated[tuple[Link, ...], Field(min_length=1)]
    rows: dict[str, RowsTable] = {}
    fields: Annotated[dict[str, FieldTable], Field(min_length=1)]


class SearchTable(Table):
    """How a page of results is read."""

    cards: str
    hidden: str | None = None
    """Elements among the cards that are templates or advertising."""
    card_id: Link
    card_url: Link
    fields: dict[str, FieldTable] = {}
    total: tuple[Link, ...]
    capped: Link | None = None
    next: tuple[Link, ...]
    empty: Annotated[tuple[str, ...], Field(min_length=1)]
    """The portal's own words for "nothing found"."""


class SplitTable(Table):
    """How a capped search is cut into smaller ones: by neighbourhood of the city, then by type."""

    city: str
    types: Annotated[tuple[str, ...], Field(min_length=1)]


class Inventory(Table):
    """How much there is to read, for an estimate before the first sweep."""

    adverts: Annotated[int, Field(ge=1)]
    per_page: Annotated[int, Field(ge=1)]


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
    listing: ListingTable
    search: SearchTable
    split: SplitTable | None = None


def load_site_config(site: str, folder: Path = CONFIG_FOLDER) -> SiteConfig:
    """The checked configuration of one portal, its defaults filled in."""
    path = _files(folder).get(site, folder / "sites" / f"{site}.yaml")
    merged = merge(load_yaml(folder / "defaults.yaml"), load_yaml(path))
    try:
        return SiteConfig.model_validate(merged)
    except ValidationError as error:
        raise SiteConfigError(sentences(path, error)) from None


def sentences(path: Path, error: ValidationError) -> str:
    """What is wrong with a file, a line for each mistake."""
    return "\n".join(f"{path}: {_sentence(one)}" for one in error.errors())


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
    try:
        loaded = yaml.load(path.read_text("utf-8"), Loader=_LOADER)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SiteConfigError(f"{path}: line {line}: not valid YAML: {error.problem}") from None
    except OSError as error:
        raise SiteConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if not isinstance(loaded, dict):
        raise SiteConfigError(f"{path}: must hold a mapping of keys to values")
    return loaded


@cache
def available_sites(folder: Path = CONFIG_FOLDER) -> tuple[str, ...]:
    """The portals that have a site file, in alphabetical order."""
    return tuple(sorted(_files(folder)))


def _files(folder: Path) -> dict[str, Path]:
    """Every portal's file; one of the user's own (SITES_DIR) goes before the installed one of its name."""
    own = os.environ.get(SITES_VARIABLE)
    folders = (folder / "sites", *((Path(own),) if own else ()))
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


def start_urls_of(site: str) -> tuple[str, ...]:
    """Where a crawl of this portal begins: as its file says, else as `start_urls.yaml` does.

    Raises:
        SiteConfigError: neither says.
    """
    found = load_site_config(site).start_urls or load_start_urls().get(site, ())
    if not found:
        raise SiteConfigError(f"{site}: its file names no start_urls; give one with --start-url")
    return found
