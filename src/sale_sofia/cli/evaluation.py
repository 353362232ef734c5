"""Commands about what you think of a property: its status, your decision, notes, renovation."""

import getpass
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.table import Table
from sqlalchemy import Connection

from sale_sofia.buyer import evaluations
from sale_sofia.buyer.calendar import viewing_events, write_calendar
from sale_sofia.buyer.evaluations import (
    DECISIONS,
    STATUSES,
    By,
    Change,
    Evaluation,
    add_note,
    current_property,
    notes_of,
)
from sale_sofia.buyer.settings import VIEWING_MINUTES
from sale_sofia.buyer.viewings import (
    ALLOWED,
    Viewing,
    add_viewing,
    all_viewings,
    change_viewing,
    viewing_moment,
    viewings_of,
)
from sale_sofia.cli.console import AsJson, log, out, plain_table, print_json, refuse
from sale_sofia.cli.progress import moment, number
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import load_settings

# What you said of properties: for people, and for programs.


def shortlist_table(listed: Sequence[tuple[Flat, Evaluation]]) -> Table:
    """A line for each property, and why it is there."""
    table = plain_table("Shortlist", ("id", "neighbourhood"), ("rooms", "m²", "€", "renovation €"), "why")
    for flat, said in listed:
        facts = (flat.rooms, flat.area_sqm, flat.price_eur, said.renovation_eur)
        why = said.reason or ""
        offered = why if flat.offered else f"gone; {why}"
        place = flat.neighbourhood or "?"
        table.add_row(str(flat.property_id), place, *map(number, facts), offered)
    return table


def viewings_table(found: Sequence[Viewing]) -> Table:
    """A line for each viewing."""
    table = plain_table(
        "Viewings", ("viewing", "property", "when", "state"), ("minutes",), "agent, place, remarks"
    )
    for one in found:
        texts = (one.agent, one.phone, one.place, one.remarks, *_weighed(one), one.outcome)
        words = "; ".join(text for text in texts if text)
        table.add_row(
            str(one.id), str(one.property_id), moment(one.starts_at), one.state, str(one.minutes), words
        )
    return table


def evaluation_parts(told: Mapping[str, Any]) -> Iterator[str]:
    """Lines: what is so, then notes, viewings and changes, the oldest first."""
    yield f"property {told['property_id']}: {told['status']}"
    for name in ("decision", "reason", "renovation_eur"):
        if told[name] is not None:
            yield f"  {name}: {told[name]}"
    for one in told["notes"]:
        yield f"  {moment(one['written_at'])} {one['written_by']} notes: {one['text']}"
    for one in told["viewings"]:
        yield f"  viewing {one['id']}: {moment(one['starts_at'])}, {one['state']}"
    for one in told["history"]:
        what = f"viewing {one['viewing_id']} " if one["viewing_id"] else ""
        change = f"{what}{one['field']}: {_shown(one, 'old')} → {_shown(one, 'new')}"
        yield f"  {moment(one['changed_at'])} {one['changed_by']} {change}"


def history_record(change: Change) -> dict[str, Any]:
    """One change for programs."""
    return asdict(change)


def _shown(change: Mapping[str, Any], side: str) -> str:
    value = change[side]
    return moment(value) if change["field"] == "starts_at" and value is not None else str(value)


def _weighed(one: Viewing) -> list[str]:
    return [*(f"+ {text}" for text in one.positives), *(f"- {text}" for text in one.negatives)]


T = TypeVar("T")
PropertyId = Annotated[
    int, typer.Argument(metavar="PROPERTY", help="The id of a property, as `sale-sofia search` shows it.")
]
Reason = Annotated[str | None, typer.Option(help="Why.")]


def shortlist(
    property_id: Annotated[
        int | None, typer.Argument(metavar="PROPERTY", help="Without it the shortlist is shown.")
    ] = None,
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Put a property on the shortlist, or show the shortlist."""
    if property_id is None:
        refuse(reason, "--reason needs a property")
        _show_shortlist(as_json=as_json)
        return
    _mark(property_id, "shortlist", reason, as_json=as_json)


def reject(
    property_id: PropertyId,
    reason: Annotated[str, typer.Option(help="Why not: you will want to know in a month.")],
    as_json: AsJson = False,
) -> None:
    """Reject a property: searches and alerts leave it out from now on."""
    _mark(property_id, "rejected", reason, as_json=as_json)


def mark(
    property_id: PropertyId,
    status: Annotated[str, typer.Argument(help=f"One of {', '.join(STATUSES)}.")],
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Give a property any status: what you are about to do with it."""
    _mark(property_id, status, reason, as_json=as_json)


def decide(
    property_id: PropertyId,
    decision: Annotated[str, typer.Argument(help=f"One of {', '.join(DECISIONS)}.")],
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Note your decision on a property, whatever its status is."""
    fields = {"decision": decision} | ({"reason": reason} if reason is not None else {})
    _evaluate(property_id, fields, as_json=as_json)


def renovation(
    property_id: PropertyId,
    euros: Annotated[float, typer.Argument(metavar="EUR", help="What you reckon renovation would cost.")],
    as_json: AsJson = False,
) -> None:
    """Note your own estimate of what renovation costs; the shortlist shows it beside the price."""
    _evaluate(property_id, {"renovation_eur": euros}, as_json=as_json)


def note(
    property_id: PropertyId,
    text: Annotated[str | None, typer.Argument(help="What to note; without it the notes are shown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a note on a property, or show its notes. Notes are never overwritten."""
    if text is not None:
        write(partial(add_note, property_id=property_id, text=text, by=me()))
    found = open_ready(load_settings()).run_read(partial(notes_of, property_id=property_id))
    if as_json:
        print_json({"property": property_id, "notes": [asdict(one) for one in found]})
        return
    for one in found if text is None else found[-1:]:
        out.print(f"{one.written_by}: {one.text}", highlight=False)
    log.print(f"{len(found)} notes on property {property_id}", highlight=False)


def evaluation(property_id: PropertyId, as_json: AsJson = False) -> None:
    """Show all that you said of a property: status, reason, notes, viewings, and every change of them."""
    told = open_ready(load_settings()).run_read(partial(_told, property_id=property_id))
    if as_json:
        print_json(told)
        return
    for part in evaluation_parts(told):
        out.print(part, highlight=False)


def me() -> By:
    """Who writes, now."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name, as in a container
        who = "somebody"
    return By(who, time.time())


def write(work: Callable[[Connection], T]) -> T:
    """What the work gave, when it is stored."""
    return open_ready(load_settings()).run_write(work)


def _mark(property_id: int, status: str, reason: str | None, *, as_json: bool) -> None:
    write(partial(evaluations.mark, property_id=property_id, status=status, by=me(), reason=reason))
    _tell(property_id, as_json=as_json)


def _evaluate(property_id: int, fields: dict[str, Any], *, as_json: bool) -> None:
    def work(connection: Connection) -> None:
        by = me()
        for field, value in fields.items():
            evaluations.evaluate(connection, property_id, field, value, by)

    write(work)
    _tell(property_id, as_json=as_json)


def _tell(property_id: int, *, as_json: bool) -> None:
    now = open_ready(load_settings()).run_read(partial(evaluations.evaluation_of, property_id=property_id))
    if as_json:
        print_json(asdict(now))
        return
    said = [now.status, *(f"{name} {value}" for name, value in _rest(now) if value is not None)]
    log.print(f"property {now.property_id}: {'; '.join(said)}", highlight=False)


def _rest(now: evaluations.Evaluation) -> list[tuple[str, object]]:
    return [(name, getattr(now, name)) for name in ("decision", "reason", "renovation_eur")]


def _show_shortlist(*, as_json: bool) -> None:
    def read(connection: Connection) -> list[tuple[Any, Any]]:
        found = evaluations.evaluations(connection)
        chosen = {one.property_id: one for one in found.values() if one.status == "shortlist"}
        return [(flat, chosen[flat.property_id]) for flat in read_flats(connection, chosen)]

    listed = sorted(open_ready(load_settings()).run_read(read), key=lambda one: one[0].property_id)
    if as_json:
        print_json({"shortlist": [asdict(said) | {"price_eur": flat.price_eur} for flat, said in listed]})
        return
    if listed:
        out.print(shortlist_table(listed))
    log.print(f"{len(listed)} properties on the shortlist", highlight=False)


def _told(connection: Connection, property_id: int) -> dict[str, Any]:
    now = evaluations.evaluation_of(connection, property_id)
    return {
        **asdict(now),
        "notes": [asdict(one) for one in notes_of(connection, property_id)],
        "viewings": [asdict(one) for one in viewings_of(connection, property_id)],
        "history": [history_record(one) for one in evaluations.history_of(connection, property_id)],
    }


# Commands about viewings: add, move, done, cancel, list, export.

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
    _tell_viewing(property_id, number, as_json=as_json)


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

    _tell_viewing(property_id, write(work), as_json=as_json)


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


def _tell_viewing(property_id: int, number: int, *, as_json: bool) -> None:
    found = open_ready(load_settings()).run_read(partial(viewings_of, property_id=property_id))
    [one] = [one for one in found if one.id == number]
    if as_json:
        print_json(asdict(one))
        return
    when = f"{moment(one.starts_at)}, {one.minutes} minutes"
    log.print(f"viewing {one.id} of property {one.property_id}: {one.state}, {when}", highlight=False)
