"""Commands to look for flats: search, and the searches that are kept."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import typer

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.crawl_tables import moment
from sale_sofia.commands.search_options import query_of, with_conditions
from sale_sofia.commands.search_tables import flat_record, flats_table
from sale_sofia.config.searching import SHOWN_FLATS, SHOWN_UNKNOWN
from sale_sofia.config.settings import load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.saved_searches import forget_search, list_searches, save_search
from sale_sofia.insights.profiles import load_profile
from sale_sofia.insights.searching import SearchQuery
from sale_sofia.insights.searching_run import Found, Judged
from sale_sofia.insights.searching_run import search as find
from sale_sofia.insights.searching_saved import saved_query
from sale_sofia.scraping.store import open_ready

app = typer.Typer()
Limit = Annotated[int, typer.Option(min=1, help="Show so many; how many there are is always said.")]
SearchName = Annotated[str, typer.Argument(help="The name of a saved search.")]


@app.callback(invoke_without_command=True)
@with_conditions
def search(
    context: typer.Context,
    limit: Limit = SHOWN_FLATS,
    save: Annotated[str | None, typer.Option(metavar="NAME", help="Keep this search by this name.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Save it over that of this name.")] = False,
    as_json: AsJson = False,
    **conditions: Any,  # noqa: ANN401 - one option for each field of the query
) -> None:
    """Show the flats for sale in Sofia that are as you say; apart, those of which something is not known.

    Options that take a word may be given more than once, or with commas: one of them is enough.

    For example: sale-sofia search --neighbourhood Лозенец,Изток --rooms 3 --price-max 250000 --save mine
    """
    if context.invoked_subcommand is not None:
        given = save or any(value not in (None, False, []) for value in conditions.values())
        refuse(given, f"conditions do not go with `search {context.invoked_subcommand}`; leave them out")
        return
    query, database = query_of(conditions), open_ready(load_settings())
    if save is not None:
        _save(database, save, query, replace=replace)
    _show(database, query, limit, as_json=as_json)


@app.command()
def run(name: SearchName, limit: Limit = SHOWN_FLATS, as_json: AsJson = False) -> None:
    """Run a saved search, on the flats as they are now."""
    database = open_ready(load_settings())
    _show(database, database.run_read(partial(saved_query, name=name)), limit, as_json=as_json)


@app.command()
def saved(as_json: AsJson = False) -> None:
    """List the saved searches."""
    found = open_ready(load_settings()).run_read(list_searches)
    if as_json:
        searches = [{"name": one.name, "query": one.query, "saved_at": one.saved_at} for one in found]
        print_json({"searches": searches})
        return
    for one in found:
        params = SearchQuery.of(one.query).to_params()
        words = "; ".join(f"{name} {', '.join(values)}" for name, values in params.items())
        out.print(f"{one.name}: {words or 'every flat'} (saved {moment(one.saved_at)})")
    if not found:
        log.print("no search is saved; `sale-sofia search … --save NAME` keeps one")


@app.command()
def forget(name: SearchName) -> None:
    """Forget a saved search."""
    open_ready(load_settings()).run_write(partial(forget_search, name=name))
    log.print(f"the search {name!r} is forgotten", highlight=False)


def _save(database: Database, name: str, query: SearchQuery, *, replace: bool) -> None:
    stored = query.model_dump(mode="json")
    kept = partial(save_search, name=name, query=stored, now=time.time(), replace=replace)
    called = database.run_write(kept)
    log.print(f"saved; `sale-sofia search run {called!r}` runs it again", highlight=False)


def _show(database: Database, query: SearchQuery, limit: int, *, as_json: bool) -> None:
    if query.profile is not None:
        load_profile(load_settings().data_dir, query.profile)  # a name that is none is said to be
    found = database.run_read(partial(find, query=query, now=time.time()))
    if query.profile is not None and not found.around.scores:
        log.print(f"no flat is scored for {query.profile}; `sale-sofia score` does it", highlight=False)
    if as_json:
        print_json(_record(found, limit))
        return
    if found.passed:
        out.print(flats_table("Flats", found.passed[:limit], found.around))
    log.print(f"{min(limit, len(found.passed))} of {len(found.passed)} flats shown", highlight=False)
    if found.unknown:
        _show_unknown(found, found.unknown[: min(limit, SHOWN_UNKNOWN)])


def _show_unknown(found: Found, shown: Sequence[Judged]) -> None:
    out.print(flats_table("Perhaps", shown, found.around))
    log.print(
        f"{len(found.unknown)} more where something is unknown, {len(shown)} shown; "
        "`--unknown ok` counts them in, `--unknown no` leaves them out",
        highlight=False,
        soft_wrap=True,
    )


def _record(found: Found, limit: int) -> dict[str, Any]:
    return {
        "total": len(found.passed),
        "flats": [flat_record(one, found.around) for one in found.passed[:limit]],
        "unknown_total": len(found.unknown),
        "unknown": [flat_record(one, found.around) for one in found.unknown[:limit]],
    }
