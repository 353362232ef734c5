"""Every condition of a search as an option of the command line, made from the query's own fields."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from inspect import Parameter, signature
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer

from sale_sofia.commands.moments import ALLOWED, moment_of
from sale_sofia.insights.searching import SearchQuery, is_list

_PANELS: Final = {
    "Where": ("neighbourhood", "not_neighbourhood", "district", "city", "metro_m", "metro_minutes"),
    "What": ("deal", "property_type", "rooms", "bathrooms_min", "area_min", "area_max", "net_area_min",
             "net_area_max", "balcony", "parking", "orientation", "condition", "furnishing", "heating"),
    "Price": ("price_min", "price_max", "eur_sqm_min", "eur_sqm_max", "cut_days", "cut_percent"),
    "Building": ("floor_min", "floor_max", "not_ground", "not_last", "elevator", "construction", "no_panel",
                 "year_min", "year_max", "act"),
    "Advert": ("seller", "portal", "days_min", "days_max", "new_since", "word", "not_word", "gone",
               "place_conflict"),
    "You": ("status", "profile", "passing", "unknown", "sort"),
}  # fmt: skip
_PANEL_OF: Final = {field: panel for panel, fields in _PANELS.items() for field in fields}


def with_conditions(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each condition, instead of its `**conditions`."""
    own = signature(command)
    named = [one for one in own.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    options = [_option(field) for field in SearchQuery.model_fields]
    command.__signature__ = own.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return command


def query_of(conditions: Mapping[str, Any]) -> SearchQuery:
    """The query that was given; a list may also be written with commas.

    Raises:
        WrongSearch: it cannot be.
    """
    return SearchQuery.from_params(
        {field: _texts(field, value) for field, value in conditions.items() if value not in (None, False, [])}
    )


def _option(field: str) -> Parameter:
    info = SearchQuery.model_fields[field]
    switch = info.annotation is bool
    kind: Any = bool if switch else list[str] | None if is_list(field) else str | None
    option = typer.Option(
        f"--{field.replace('_', '-')}",
        help=_help(field),
        metavar=None if switch else _metavar(info.annotation),
        rich_help_panel=_PANEL_OF[field],
    )
    default = False if switch else None
    return Parameter(field, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _help(field: str) -> str:
    sentence = SearchQuery.model_fields[field].description or ""
    allowed = _literals(SearchQuery.model_fields[field].annotation)
    words = f"{sentence} ({', '.join(allowed)})" if allowed else sentence
    return f"{words} It is {ALLOWED}." if field == "new_since" else words


def _literals(annotation: Any) -> tuple[str, ...]:  # noqa: ANN401 - a type
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for part in get_args(annotation) if (found := _literals(part))), ())


def _metavar(annotation: Any) -> str:  # noqa: ANN401 - a type
    kinds = {part for part in _plain_types(annotation) if part is not NoneType}
    return "NUMBER" if kinds & {int, float} else "WORD"


def _plain_types(annotation: Any) -> set[Any]:  # noqa: ANN401 - a type
    parts = get_args(annotation)
    return set().union(*map(_plain_types, parts)) if parts else {annotation}


def _texts(field: str, value: Any) -> list[str]:  # noqa: ANN401 - as the option gives it
    if value is True:
        return ["true"]
    if field == "new_since":
        return [datetime.fromtimestamp(moment_of(value, datetime.now(UTC)), UTC).isoformat()]
    if isinstance(value, list):
        return [part.strip() for one in value for part in one.split(",") if part.strip()]
    return [value]
