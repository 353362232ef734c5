"""Commands about what you think of a property: its status, your decision, notes, renovation."""

import getpass
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, TypeVar

import typer
from sqlalchemy import Connection

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.evaluation_tables import evaluation_parts, history_record, shortlist_table
from sale_sofia.config.settings import load_settings
from sale_sofia.data import evaluations
from sale_sofia.data.evaluation_fields import DECISIONS, STATUSES, By
from sale_sofia.data.notes import add_note, notes_of
from sale_sofia.data.viewings import viewings_of
from sale_sofia.insights.flat_rows import read_flats
from sale_sofia.scraping.store import open_ready

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
