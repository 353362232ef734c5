"""Where a text of a page may stand: the pieces of which the tables of a site file are made."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from sale_sofia.config.site_patterns import checked, with_a_group

CARD = "card"
"""The name by which a link reads the JSON of the card it stands in."""


class Table(BaseModel):
    """A section of a site file. An unknown key is an error that lists the known ones."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _know_every_key(cls, data: Any) -> Any:  # noqa: ANN401 - whatever the file holds
        known = {field.alias or name for name, field in cls.model_fields.items()}
        if isinstance(data, Mapping) and (unknown := sorted(map(str, data.keys() - known))):
            raise ValueError(f"unknown key {', '.join(unknown)}; allowed: {', '.join(sorted(known))}")
        return data


def _several(given: Any) -> Any:  # noqa: ANN401 - whatever the file holds
    return (given,) if isinstance(given, str) else given


Pattern = Annotated[str, AfterValidator(checked)]
GroupPattern = Annotated[str, AfterValidator(checked), AfterValidator(with_a_group)]
Paths = Annotated[tuple[str, ...], BeforeValidator(_several)]


class Link(Table):
    """One place where a text may stand: exactly one of css, row, jsonld, json and page says which."""

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

    @property
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
