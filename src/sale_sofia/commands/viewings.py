"""Commands about viewings: add, move, done, cancel, list, export."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Connection

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.crawl_tables import moment
from sale_sofia.commands.evaluation import PropertyId, me, write
from sale_sofia.commands.evaluation_tables import viewings_table
from sale_sofia.config.evaluation import VIEWING_MINUTES
from sale_sofia.config.settings import load_settings
from sale_sofia.data.calendar_file import write_calendar
from sale_sofia.data.evaluation_ids import current_property
from sale_sofia.data.viewing_moments import ALLOWED, viewing_moment
from sale_sofia.data.viewings import Viewing, add_viewing, all_viewings, change_viewing, viewings_of
from sale_sofia.insights.viewing_calendar import viewing_events
from sale_sofia.scraping.store import open_ready

app = typer.Typer(no_args_is_help=True, help="Viewings: plan them, note how they were, take them along.")
When = Annotated[str, typer.Argument(help=f"When: {ALLOWED}.")]
Number = Annotated[int | None, typer.Option("--viewing", help="Which, where a property has several planned.")]


@app.command()
def add(
    property_id: PropertyId,
    when: When,
    minutes: Annotated[int, typer.Option(help="How long it takes.")] = VIEWING_MINUTES,
    agent: Annotated[str | None, typer.Option(help="Who shows it.")] = None,
    phone: Annotated[str | None, typer.Option(help="The agent's phone.")] = None,
    place: Annotated[str | None, typer.Option(help="Where you meet.")] = None,
    remarks: Annotated[str | None, typer.Option("--note", help="What to ask, what to bring.")] = None,
    as_json: AsJson = False,
) -> None:
    """Plan a viewing of a property.

    For example: sale-sofia viewing add 12 "2026-11-20 17:30" --agent Ivanova --phone 0888123456
    """
    texts = {"agent": agent, "phone": phone, "place": place, "remarks": remarks}
    given = {name: text for name, text in texts.items() if text is not None}
    fields = {"starts_at": viewing_moment(when), "minutes": minutes, **given}
    number = write(partial(add_viewing, property_id=property_id, fields=fields, by=me()))
    _tell(property_id, number, as_json=as_json)


@app.command()
def move(property_id: PropertyId, when: When, viewing: Number = None, as_json: AsJson = False) -> None:
    """Put a planned viewing off to another time."""
    _change(property_id, viewing, {"starts_at": viewing_moment(when)}, as_json=as_json)


@app.command()
def done(
    property_id: PropertyId,
    plus: Annotated[list[str] | None, typer.Option(help="What was good; as often as you like.")] = None,
    minus: Annotated[list[str] | None, typer.Option(help="What was bad; as often as you like.")] = None,
    outcome: Annotated[str | None, typer.Option(help="What comes of it.")] = None,
    viewing: Number = None,
    as_json: AsJson = False,
) -> None:
    """Note how a viewing was."""
    fields: dict[str, Any] = {"state": "done", "positives": plus or [], "negatives": minus or []}
    fields |= {} if outcome is None else {"outcome": outcome}
    _change(property_id, viewing, fields, as_json=as_json)


@app.command()
def cancel(
    property_id: PropertyId,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    viewing: Number = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a planned viewing; an exported calendar says so too."""
    fields = {"state": "cancelled"} | ({} if reason is None else {"outcome": reason})
    _change(property_id, viewing, fields, as_json=as_json)


@app.command(name="list")
def list_command(
    property_id: Annotated[int | None, typer.Argument(metavar="PROPERTY", help="Of all without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """List viewings in the order of time."""
    read = all_viewings if property_id is None else partial(viewings_of, property_id=property_id)
    found = open_ready(load_settings()).run_read(read)
    if as_json:
        print_json({"viewings": [asdict(one) for one in found]})
    elif found:
        out.print(viewings_table(found))
    else:
        log.print("no viewing yet; plan one with `sale-sofia viewing add`")


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="The calendar file to write, like viewings.ics.")],
    property_ids: Annotated[
        list[int] | None, typer.Argument(metavar="[PROPERTY]...", help="Of all without it.")
    ] = None,
) -> None:
    """Write viewings to a file that every calendar imports; it appears whole or not at all."""
    refuse(path.suffix.lower() != ".ics", f"{path.name} does not end in .ics")
    events = open_ready(load_settings()).run_read(partial(_events, property_ids=property_ids))
    write_calendar(path, events)
    log.print(f"{len(events)} viewings in {path}", highlight=False)


def _events(connection: Connection, property_ids: list[int] | None) -> Any:  # noqa: ANN401 - as given
    wanted = {current_property(connection, one) for one in property_ids or ()}
    return viewing_events(connection, wanted or None)


def _change(property_id: int, viewing: int | None, fields: dict[str, Any], *, as_json: bool) -> None:
    def work(connection: Connection) -> int:
        number = _planned(viewings_of(connection, property_id), property_id, viewing)
        change_viewing(connection, number, fields, me())
        return number

    _tell(property_id, write(work), as_json=as_json)


def _planned(found: list[Viewing], property_id: int, number: int | None) -> int:
    """The viewing that is meant: the one that is named, or the only one planned."""
    known = {one.id: f"{one.id} ({moment(one.starts_at)}, {one.state})" for one in found}
    planned = [one.id for one in found if one.state == "planned"] if number is None else [number]
    there = f"it has {', '.join(known.values())}" if known else "it has none"
    if number is not None and number not in known:
        raise typer.BadParameter(f"property {property_id} has no viewing {number}; {there}")
    if not planned:
        raise typer.BadParameter(f"property {property_id} has no planned viewing; {there}")
    if len(planned) > 1:
        raise typer.BadParameter(f"property {property_id} has several; name one with --viewing: {there}")
    return planned[0]


def _tell(property_id: int, number: int, *, as_json: bool) -> None:
    found = open_ready(load_settings()).run_read(partial(viewings_of, property_id=property_id))
    [one] = [one for one in found if one.id == number]
    if as_json:
        print_json(asdict(one))
        return
    when = f"{moment(one.starts_at)}, {one.minutes} minutes"
    log.print(f"viewing {one.id} of property {one.property_id}: {one.state}, {when}", highlight=False)
