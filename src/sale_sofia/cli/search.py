"""Commands to look for flats: search, and saved searches."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from enum import EnumType
from functools import partial
from inspect import Parameter, signature
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer
from rich.table import Table
from sqlalchemy import Connection, select

from sale_sofia.advice.scoring.profile import load_profile
from sale_sofia.advice.search.conditions import Around
from sale_sofia.advice.search.query import SHOWN_FLATS, SHOWN_UNKNOWN, SearchQuery, WrongSearch, is_list
from sale_sofia.advice.search.run import JudgedFlat, saved_query
from sale_sofia.advice.search.run import search as find
from sale_sofia.alerts.rules import check_unused
from sale_sofia.buyer.searches import forget_search, list_searches, save_search
from sale_sofia.cli.console import (
    ALLOWED,
    AsJson,
    has_subcommand,
    log,
    moment_of,
    out,
    plain_table,
    print_answer,
    print_json,
    refuse,
    tell,
)
from sale_sofia.cli.evaluation import me
from sale_sofia.cli.progress import NO_FLATS, merge_flats, moment, number
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.prices import asked_eur_sqm, price_band, vat_due
from sale_sofia.flats.tables import flats
from sale_sofia.flats.views import nearby_record
from sale_sofia.geography.imported import use
from sale_sofia.geography.settings import ATTRIBUTION
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import load_settings
from sale_sofia.storage.database import Database

_PANELS: Final = {
    "Where": ("neighbourhood", "not_neighbourhood", "district", "within", "polygon", "near", "near_m", "city",
              "metro_m", "metro_minutes", "travel", "stop_minutes", "line", "shop_minutes", "school_minutes",
              "school_rank", "road"),
    "What": ("deal", "property_type", "rooms", "bathrooms_min", "area_min", "area_max", "net_area_min",
             "net_area_max", "balcony", "parking", "orientation", "condition", "furnishing", "heating"),
    "Price": ("price_min", "price_max", "eur_sqm_min", "eur_sqm_max", "cut_days", "cut_percent"),
    "Building": ("floor_min", "floor_max", "not_ground", "not_last", "elevator", "construction", "no_panel",
                 "year_min", "year_max", "act"),
    "Advert": ("seller", "portal", "days_min", "days_max", "new_since", "word", "not_word", "gone",
               "place_conflict", "flag", "contradictions"),
    "You": ("status", "all_like", "waits_for_you", "profile", "passing", "unknown", "sort"),
}  # fmt: skip
_PANEL_OF: Final = {field: panel for panel, fields in _PANELS.items() for field in fields}


def with_conditions(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command an option for each condition instead of its `**conditions`."""
    own = signature(command)
    named = [
        parameter for parameter in own.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD
    ]
    options = [_option(field) for field in SearchQuery.model_fields]
    command.__signature__ = own.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return command


def query_of(conditions: Mapping[str, Any]) -> SearchQuery:
    """The query of these options; a list may also be written with commas. Raises WrongSearch."""
    return SearchQuery.from_params(
        {field: _texts(field, value) for field, value in conditions.items() if value not in (None, False, [])}
    )


def _option(field: str) -> Parameter:
    info = SearchQuery.model_fields[field]
    switch = info.annotation is bool
    kind: Any = bool if switch else list[str] | None if is_list(field) else str | None
    words = info.description or ""
    if allowed := _literals(info.annotation):
        words = f"{words} ({', '.join(allowed)})"
    numeric = not _plain_types(info.annotation).isdisjoint({int, float})
    option = typer.Option(
        f"--{field.replace('_', '-')}",
        help=f"{words} It is {ALLOWED}." if field == "new_since" else words,
        metavar=None if switch else "NUMBER" if numeric else "WORD",
        rich_help_panel=_PANEL_OF.get(field, "What"),
    )
    default = False if switch else None
    return Parameter(field, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _literals(annotation: Any) -> tuple[str, ...]:  # noqa: ANN401 - a type
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if isinstance(annotation, EnumType):
        return tuple(annotation)
    return next((found for part in get_args(annotation) if (found := _literals(part))), ())


def _plain_types(annotation: Any) -> set[Any]:  # noqa: ANN401 - a type
    parts = get_args(annotation)
    return set().union(*map(_plain_types, parts)) if parts else {annotation}


def _texts(field: str, value: Any) -> list[str]:  # noqa: ANN401 - as the option gives it
    if value is True:
        return ["true"]
    if field == "new_since":
        return [datetime.fromtimestamp(moment_of(value, datetime.now(UTC)), UTC).isoformat()]
    if isinstance(value, list) and field != "polygon":  # whose corners have commas
        parts = [part.strip() for text in value for part in text.split(",") if part.strip()]
        if not parts:
            raise WrongSearch(f"{field} is empty; write a value, or leave the option out")
        value = parts
    words = {word.lower(): word for word in _literals(SearchQuery.model_fields[field].annotation)}
    texts: list[str] = value if isinstance(value, list) else [value]
    return [words.get(text.lower(), text) for text in texts]


_SAID_BY: Final = {"posted": "posted", "id": "id", "first_seen": "seen"}
_FACTS = (
    "title", "price_eur", "vat", "area_sqm", "area_net_sqm", "rooms", "floor", "floors_total", "construction",
    "year_built", "act_status", "condition", "furnishing", "elevator", "city", "district", "neighbourhood",
    "exactness", "lat", "lon", "metro_distance_m", "metro_minutes", "offered",
    "first_seen_at", "last_seen_at",
)  # fmt: skip


def _flats_table(title: str, found: Sequence[JudgedFlat], around: Around) -> Table:
    numbers = ("rooms", "m²", "floor", "€", "€/m²", "days", *(("score",) if around.scores else ()))
    table = plain_table(title, ("id", "neighbourhood"), numbers)
    table.add_column("status", no_wrap=True)
    table.add_column("not known" if any(judged.unknown for judged in found) else "portals")
    for judged in found:
        flat = judged.flat
        score: tuple[str, ...] = ()
        if around.scores:
            scored = around.scores.get(flat.property_id)
            score = ("?" if scored is None else f"{scored.points:.2f} ({scored.known:.0%})",)
        status = around.statuses.get(flat.property_id, "new")
        table.add_row(
            str(flat.property_id),
            flat.neighbourhood or "?",
            number(flat.rooms),
            number(flat.area_sqm),
            f"{number(flat.floor)}/{number(flat.floors_total)}",
            f"{number(flat.price_eur)}{' +VAT' if vat_due(flat) else ''}",
            number(asked_eur_sqm(flat)),
            f"{flat.days_on_market(around.now):.0f} ({_SAID_BY[flat.since.source]})",
            *score,
            status if flat.offered else f"{status}, gone",
            ", ".join([_unknown(name, flat) for name in judged.unknown] or flat.portals),
        )
    return table


def _unknown(name: str, flat: Flat) -> str:
    """The name of what is unknown; where only the VAT of a price is, it says so."""
    price = price_band(flat) if name == "price" or (name == "eur_sqm" and flat.area_sqm) else None
    vat_alone = price is not None and price.most is not None and not price.exact
    return "VAT of the price" if vat_alone else name


def _record(judged: JudgedFlat, around: Around) -> dict[str, Any]:
    """One flat for programs."""
    flat = judged.flat
    per_sqm = asked_eur_sqm(flat)
    scored = (around.scores or {}).get(flat.property_id)
    return {
        "property_id": flat.property_id,
        "url": flat.adverts[0].url,
        **{name: getattr(flat, name) for name in _FACTS},
        "eur_sqm": None if per_sqm is None else round(per_sqm, 2),
        "days": round(flat.days_on_market(around.now), 2),
        "centre_travel": flat.centre_travel._asdict() if flat.centre_travel else None,
        "metro_walk": flat.metro_walk._asdict() if flat.metro_walk else None,
        "nearby": nearby_record(flat),
        "on_market": {"since": flat.since.at, "source": flat.since.source},
        "offered_before": [offer._asdict() for offer in flat.offered_before],
        "status": around.statuses.get(flat.property_id, "new"),
        "score": None if scored is None else scored._asdict(),
        "adverts": len(flat.adverts),
        "portals": flat.portals,
        "contradictions": [found._asdict() for found in flat.contradictions],
        "corrected": sorted(flat.corrected),
        "unknown": list(judged.unknown),
    }


app = typer.Typer()
Limit = Annotated[int, typer.Option(min=1, help="Show this many; the total is always printed.")]
SearchName = Annotated[str, typer.Argument(help="The name of a saved search.")]


@app.callback(invoke_without_command=True)
@with_conditions
def search(
    context: typer.Context,
    limit: Limit = SHOWN_FLATS,
    save: Annotated[
        str | None, typer.Option(metavar="NAME", help="Save this search under this name.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the saved search of this name.")
    ] = False,
    as_json: AsJson = False,
    **conditions: Any,  # noqa: ANN401 - one option for each field of the query
) -> None:
    """Show the flats for sale in Sofia that fit; listed separately, those where something is unknown.

    Options that take a word may be given more than once, or with commas: any of the values is enough; of
    --word, --line and --travel all must hold.

    For example: sale-sofia search --neighbourhood Лозенец,Изток --rooms 3 --price-max 250000 --save mine
    """
    wrong = save or replace or any(value not in (None, False, []) for value in conditions.values())
    word = context.invoked_subcommand
    refuse(word and wrong, f"conditions do not go with `search {word}`; leave them out")
    if has_subcommand(context):
        return
    settings = load_settings()
    use(settings.data_dir)  # the query may name places of this DATA_DIR
    query, database = query_of(conditions), open_ready(settings)
    _check_profile(query)
    if save is not None:
        stored = query.model_dump(mode="json")
        store = partial(save_search, name=save, query=stored, now=time.time(), replace=replace, by=me().who)
        saved_name = database.run_write(store)
        log.print(f"saved; `sale-sofia search run {saved_name!r}` runs it again")
    _show(database, query, limit, as_json=as_json)


@app.command()
def run(name: SearchName, limit: Limit = SHOWN_FLATS, as_json: AsJson = False) -> None:
    """Run a saved search, on the flats as they are now."""
    database = open_ready(load_settings())
    query = database.run_read(partial(saved_query, name=name))
    _check_profile(query)
    _show(database, query, limit, as_json=as_json)


@app.command()
def saved(as_json: AsJson = False) -> None:
    """List the saved searches."""
    found = open_ready(load_settings()).run_read(list_searches)
    lines = []
    for row in found:
        by = f" by {row.saved_by}" if row.saved_by else ""
        lines.append(f"{row.name}: {_conditions(row.query)} (saved {moment(row.saved_at)}{by})")
    none_yet = "no search is saved; `sale-sofia search … --save NAME` keeps one"
    print_answer({"searches": list(map(asdict, found))}, *lines, as_json=as_json, empty=none_yet)


def _conditions(stored: Mapping[str, Any]) -> str:
    """The conditions of a saved search, or why it can no longer be used."""
    try:
        params = SearchQuery.of(stored).to_params()
    except WrongSearch as error:
        return f"cannot be used: {error}"
    return "; ".join(f"{name} {', '.join(values)}" for name, values in params.items()) or "every flat"


@app.command()
def forget(name: SearchName) -> None:
    """Forget a saved search that no rule of alerts names."""
    settings = load_settings()
    check_unused(settings.data_dir, name)
    open_ready(settings).run_write(partial(forget_search, name=name, by=me()))
    log.print(f"the search {name!r} is forgotten")


def _check_profile(query: SearchQuery) -> None:
    """Refuse an unknown profile."""
    if query.profile is not None:
        load_profile(load_settings().data_dir, query.profile)


def _has_none(connection: Connection) -> bool:
    return connection.scalar(select(flats.c.property_id).limit(1)) is None


def _show(database: Database, query: SearchQuery, limit: int, *, as_json: bool) -> None:
    def first(_total: int) -> slice:
        return slice(limit)

    merge_flats(database)
    found = find(database, query, now=time.time(), part=first, unknown_part=first)
    if query.profile is not None and found.around.scores is None:
        log.print(f"no flat is scored for {query.profile}; `sale-sofia score` does it")
    if as_json:
        answer = {
            "total": found.total,
            "flats": [_record(judged, found.around) for judged in found.passed],
            "unknown_total": found.unknown_total,
            "unknown": [_record(judged, found.around) for judged in found.unknown],
            "attribution": ATTRIBUTION,
        }
        print_json(answer)
        return
    if found.passed:
        out.print(_flats_table("Flats", found.passed, found.around))
    if not (found.total or found.unknown_total) and database.run_read(_has_none):
        tell(NO_FLATS)
        return
    log.print(f"{len(found.passed)} of {found.total} flats shown")
    if found.unknown:
        listed = found.unknown[:SHOWN_UNKNOWN]
        out.print(_flats_table("Perhaps", listed, found.around))
        tell(
            f"{found.unknown_total} more where something is unknown, {len(listed)} shown; "
            "`--unknown ok` counts them in, `--unknown no` leaves them out"
        )
