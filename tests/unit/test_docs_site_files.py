"""docs/adding-a-portal.md explains every key, parser and fact of a site file, and its examples are so."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from inspect import getfullargspec
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
import yaml
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from sale_sofia.listings.model import FACTS, Listing
from sale_sofia.listings.parsers import NAMED_BY_FIELD, PARSERS
from sale_sofia.websites import site_file as tables
from sale_sofia.websites.site_file import (
    CONFIG_FOLDER,
    DelistingTable,
    FieldTable,
    HistoryTable,
    JsonTable,
    Link,
    PagingTable,
    ProxyTable,
    RowsTable,
    SiteConfig,
    Table,
    load_yaml,
    merge,
)
from tables import each_row

GUIDE = (Path(__file__).parents[2] / "docs" / "adding-a-portal.md").read_text("utf-8")
DEFAULTS = load_yaml(CONFIG_FOLDER / "defaults.yaml")
SECTIONS: Mapping[str, type[Table]] = {
    "The file": SiteConfig,
    "`inventory`": tables.Inventory,
    "`politeness`": tables.Politeness,
    "`urls`": tables.Urls,
    "A link": Link,
    "`json.NAME`": JsonTable,
    "`listing`": tables.ListingTable,
    "`rows.NAME`": RowsTable,
    "`fields.NAME`": FieldTable,
    "`search`": tables.SearchTable,
    "`search.paging`": PagingTable,
    "`split`": tables.SplitTable,
    "`split.path`": tables.PathSplit,
    "`split.ids`": tables.IdSplit,
    "`split.price`": tables.PriceSplit,
    "`sitemap`": tables.SitemapTable,
    "`at_least`": tables.FloorTable,
    "`history`": HistoryTable,
    "`delisting`": DelistingTable,
    "`proxies`": ProxyTable,
}
"""The heading of each table of keys, and the model it explains."""
Rows = list[list[str]]


def table_rows(text: str, head: str) -> Iterator[Rows]:
    """The cells of every table whose first line begins so."""
    for found in re.finditer(rf"^{re.escape(head)}[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)", text, re.MULTILINE):
        yield [
            [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in found[1].splitlines()
        ]


def section(heading: str) -> Rows:
    text = GUIDE.partition(f"\n### {heading}\n")[2].partition("\n### ")[0]
    return next(table_rows(text, "| key | what it says | example |"))


def code(cell: str) -> str:
    return cell.removeprefix("`").removesuffix("`")


def reachable(model: Any) -> set[type[Table]]:  # noqa: ANN401 - any annotation
    """The tables a section of a site file is made of, itself included."""
    if isinstance(model, type) and issubclass(model, Table):
        inner = (reachable(field.annotation) for field in model.model_fields.values())
        return {model}.union(*inner)
    return set[type[Table]]().union(*map(reachable, get_args(model)))


def keys_of(model: type[Table]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def is_needed(model: type[Table], key: str, field: FieldInfo) -> bool:
    filled = {**DEFAULTS} if model is SiteConfig else {}
    whole = {type_of.annotation for name, type_of in keys_of(SiteConfig).items() if name in DEFAULTS}
    return field.is_required() and key not in filled and model not in whole


def test_every_section_of_a_site_file_has_its_table() -> None:
    assert set(SECTIONS.values()) == reachable(SiteConfig)
    headings = re.findall(r"^### (.*)$", GUIDE.partition("\n## Every key\n")[2], re.MULTILINE)
    assert headings == list(SECTIONS)


@each_row("heading", SECTIONS)
def test_every_key_is_explained_and_no_other(heading: str) -> None:
    fields = keys_of(SECTIONS[heading])
    rows = section(heading)
    assert sorted(code(row[0]) for row in rows) == sorted(fields)
    needed = {code(key) for key, said, _ in rows if "**Needed.**" in said}
    assert needed == {key for key, field in fields.items() if is_needed(SECTIONS[heading], key, field)}


@each_row("heading", SECTIONS)
def test_every_example_is_understood(heading: str) -> None:
    """One in braces is a whole section; any other is its one key."""
    model = SECTIONS[heading]
    for key, _, example in section(heading):
        given = yaml.safe_load(code(example))
        assert code(key) in given, example
        if example.startswith("`{"):
            model.model_validate(given)
        else:
            check_key(model, code(key), given)


def check_key(model: type[Table], key: str, given: Mapping[str, Any]) -> None:
    assert list(given) == [key]
    field = keys_of(model)[key]
    kind: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    value = merge(DEFAULTS, given)[key] if model is SiteConfig else given[key]
    TypeAdapter(kind).validate_python(value)


def parser_rows() -> list[tuple[str, Mapping[str, Any], tuple[str, ...], dict[str, Any], bool]]:
    """Parser, arguments, texts, facts, and whether it stands in the table of those named by their field."""
    told = []
    for place, rows in enumerate(table_rows(GUIDE, "| parse | text | becomes |")):
        for parse, texts, becomes, _ in rows:
            given = yaml.safe_load(code(parse))
            name, arguments = (given, {}) if isinstance(given, str) else next(iter(given.items()))
            facts = {} if becomes == "nothing" else yaml.safe_load(f"{{{code(becomes)}}}")
            told.append((name, arguments, tuple(re.findall(r"`([^`]+)`", texts)), facts, place == 0))
    return told


def test_every_parser_is_explained_with_all_its_arguments() -> None:
    rows = parser_rows()
    assert {name for name, *_ in rows} == set(PARSERS)
    assert {name for name, *_, by_field in rows if by_field} == set(NAMED_BY_FIELD)
    shown = {(name, one) for name, arguments, *_ in rows for one in arguments}
    assert shown == {
        (name, one) for name, parser in PARSERS.items() for one in getfullargspec(parser).kwonlyargs
    }
    assert {name for name, _, _, facts, _ in rows if facts} == set(PARSERS)


@each_row("row", parser_rows())
def test_a_text_becomes_what_the_page_says(
    row: tuple[str, Mapping[str, Any], tuple[str, ...], dict[str, Any], bool],
) -> None:
    name, arguments, texts, expected, by_field = row
    field = next(iter(expected), "views") if by_field else "x"
    facts = PARSERS[name](field, texts, **arguments)
    assert {key: plain(value) for key, value in facts.items() if value is not None} == expected


def plain(value: Any) -> Any:  # noqa: ANN401 - facts have many types
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def test_every_fact_is_named_and_every_closed_list_is_whole() -> None:
    listed = GUIDE.partition("The facts of an advert: ")[2].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", listed) == list(FACTS)
    (rows,) = table_rows(GUIDE, "| fact | values |")
    told = {code(fact): re.findall(r"`(\w+)`", values) for fact, values in rows}
    closed = {name: words(Listing.model_fields[name].annotation) for name in FACTS}
    assert told == {name: values for name, values in closed.items() if values}


def words(annotation: Any) -> list[str]:  # noqa: ANN401 - any annotation
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [word for inner in get_args(annotation) for word in words(inner)]


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL))
def test_every_piece_of_a_file_has_known_keys(block: str) -> None:
    """What it has whole is read: a list, or a section that is not a part of one."""
    for key, value in yaml.safe_load(block).items():
        assert key in keys_of(SiteConfig)
        if key in {"split", "sitemap", "urls", "start_urls", "json"}:
            check_key(SiteConfig, key, {key: value})
