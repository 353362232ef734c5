"""Commands about properties: list them, see one, join and split; match; agencies."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.property_tables import (
    agencies_table,
    properties_table,
    property_tables,
    review_table,
)
from sale_sofia.config.matching import LISTED
from sale_sofia.config.settings import load_settings
from sale_sofia.data.properties_views import Order, count_properties, list_properties, review_queue
from sale_sofia.properties import overrides
from sale_sofia.properties.agencies import list_agencies
from sale_sofia.properties.pairs_file import match_file
from sale_sofia.properties.privacy import forget_private_phones
from sale_sofia.properties.runs import PropertyMatching
from sale_sofia.properties.views import show_property, show_review
from sale_sofia.scraping.store import open_ready

app = typer.Typer()
Limit = Annotated[int, typer.Option(min=1, help="Show so many.")]
PropertyId = Annotated[
    int, typer.Argument(help="The id of a property; one that it had before it was joined still works.")
]


@app.callback(invoke_without_command=True)
def properties(
    context: typer.Context,
    order: Annotated[Order, typer.Option("--sort", help="What comes first.")] = "newest",
    limit: Limit = LISTED,
    as_json: AsJson = False,
) -> None:
    """List properties, each flat once: where, on how many portals, and from what price to what price."""
    if context.invoked_subcommand is not None:
        return
    with open_ready(load_settings()).read() as connection:
        lines = list_properties(connection, order=order, limit=limit)
        known, adverts = count_properties(connection)
    if as_json:
        print_json({"properties": [line._asdict() for line in lines], "total": known, "adverts": adverts})
        return
    out.print(properties_table(lines))
    log.print(_counted(known, adverts, len(lines)), highlight=False)


def _counted(known: int, adverts: int, shown: int) -> str:
    if not known:
        return (
            "no property yet; adverts come with `sale-sofia crawl`, their properties with `sale-sofia match`"
        )
    return f"{shown} of {known} properties shown; they have {adverts} adverts"


@app.command()
def show(property_id: PropertyId, as_json: AsJson = False) -> None:
    """Show one property: its offers from the cheapest on, its facts and who says so, and why it is one.

    Ids are those that `sale-sofia search` and `sale-sofia properties` show.
    """
    view = open_ready(load_settings()).run_read(partial(show_property, property_id=property_id))
    if as_json:
        print_json(view)
    else:
        for part in property_tables(view):
            out.print(part, highlight=False)


@app.command()
def link(one: PropertyId, two: PropertyId, as_json: AsJson = False) -> None:
    """Say that two properties are one. This wins over every score, until you split them."""
    kept = overrides.link(_matching(), one, two)
    _tell({"property": kept}, f"{one} and {two} are one property now: {kept}", as_json=as_json)


@app.command()
def part(one: PropertyId, two: PropertyId, as_json: AsJson = False) -> None:
    """Say that two properties are two flats. This wins over every score, until you link them."""
    overrides.part(_matching(), one, two)
    _tell({"properties": [one, two]}, f"{one} and {two} stay two properties", as_json=as_json)


@app.command()
def unsure(one: PropertyId, two: PropertyId, as_json: AsJson = False) -> None:
    """Say that you cannot tell whether two properties are one: `review` shows them after all others."""
    overrides.leave_open(_matching(), one, two)
    _tell({"properties": [one, two]}, f"{one} and {two} are asked about last", as_json=as_json)


@app.command()
def split(
    property_id: PropertyId,
    adverts: Annotated[list[int], typer.Argument(help="Adverts of it that are another flat, together.")],
    as_json: AsJson = False,
) -> None:
    """Say that adverts are not of this property. This wins over every score, until you link them.

    `sale-sofia properties show ID` names its adverts: sale-sofia properties split 12 345 346
    """
    found = overrides.split(_matching(), property_id, adverts)
    _tell({"property": found}, f"they are property {found} now", as_json=as_json)


@app.command()
def review(limit: Limit = LISTED, as_json: AsJson = False) -> None:
    """Show pairs of properties that may be one, the likeliest first: link them, or leave them apart."""
    with open_ready(load_settings()).read() as connection:
        found = show_review(connection, review_queue(connection, limit=limit))
    if as_json:
        print_json({"review": found})
        return
    out.print(review_table(found))
    if found:
        ways = "`sale-sofia properties link ID ID`, `… part ID ID` or `… unsure ID ID`"
        log.print(f"decide with {ways}", highlight=False)


def match(
    full: Annotated[
        bool, typer.Option("--full", help="Match every advert anew, not only what is new.")
    ] = False,
    adverts: Annotated[
        Path | None, typer.Option(help="A Parquet table of adverts to match instead of the stored ones.")
    ] = None,
    pairs: Annotated[Path | None, typer.Option(help="Where to write the pairs found in it, as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find which adverts are the same flat. A crawl does it by itself when it ends."""
    refuse((adverts is None) != (pairs is None), "--adverts and --pairs go together")
    refuse(full and adverts is not None, "--full is for the stored adverts; leave it out with --adverts")
    if adverts is not None and pairs is not None:
        written = match_file(adverts, pairs, load_settings())
        sentence = f"{written.pairs} pairs among {written.adverts} adverts in {pairs}"
        _tell(written._asdict(), sentence, as_json=as_json)
        return
    matching = _matching()
    done = matching.match_all() if full else matching.match_new()
    matching.database.run_write(partial(forget_private_phones, settings=matching.settings))
    sentence = f"{done.adverts} adverts matched, {done.moved} changes of property, {done.seconds:.1f} s"
    _tell(done._asdict(), sentence, as_json=as_json)


def agencies(limit: Limit = LISTED, as_json: AsJson = False) -> None:
    """List who sells: adverts, portals, phones, re-posts; "private" sellers with many flats are marked."""
    settings = load_settings()
    found = open_ready(settings).run_read(partial(list_agencies, settings=settings))
    if as_json:
        print_json({"agencies": [one.as_json() for one in found[:limit]], "total": len(found)})
    else:
        out.print(agencies_table(found[:limit]))


def _tell(answer: dict[str, object], sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        log.print(sentence, highlight=False)


def _matching() -> PropertyMatching:
    settings = load_settings()
    return PropertyMatching(settings, open_ready(settings))
