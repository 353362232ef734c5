"""Commands about a buyer's work: status, decision, notes, viewings, shared links, people."""

import getpass
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from sqlalchemy import Connection

from sale_sofia.buyer import evaluations, people, sharing, viewings
from sale_sofia.buyer.agenda import Stop, read_agenda, viewing_events, write_calendar
from sale_sofia.buyer.changes import note_change
from sale_sofia.buyer.evaluations import DECISIONS, STATUSES, By, Evaluation
from sale_sofia.buyer.opinions import dismiss, welcome
from sale_sofia.buyer.people import ROLES, Person
from sale_sofia.buyer.settings import CALENDAR_PATH, SHARED_PATH, SIGN_IN_PATH, VIEWING_MINUTES
from sale_sofia.buyer.viewings import ALLOWED, viewing_moment, viewings_of
from sale_sofia.cli.console import AsJson, counted, log, out, plain_table, print_answer, print_json, refuse
from sale_sofia.cli.progress import moment, number
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.geography.imported import use
from sale_sofia.installation import open_ready
from sale_sofia.operations.settings import DASHBOARD_HOST, DASHBOARD_PORT
from sale_sofia.settings.model import load_settings
from sale_sofia.settings.words import LANGUAGES

T = TypeVar("T")
PropertyId = Annotated[
    int, typer.Argument(metavar="PROPERTY", help="The id of a property, as `sale-sofia search` shows it.")
]
Reason = Annotated[str | None, typer.Option(help="Why.")]
_REST = ("decision", "reason", "renovation_eur", "decide_by")


def _read(work: Callable[[Connection], T]) -> T:
    return open_ready(load_settings()).run_read(work)


def _write(work: Callable[[Connection], T]) -> T:
    return open_ready(load_settings()).run_write(work)


def me() -> By:
    """The user of this machine, and the present moment."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name, as in a container
        who = "somebody"
    return By(who, time.time())


def _filled(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - as the options give them
    return {name: value for name, value in fields.items() if value is not None}


def shortlist(
    property_id: Annotated[
        int | None, typer.Argument(metavar="PROPERTY", help="Without it the shortlist is shown.")
    ] = None,
    reason: Reason = None,
    as_json: AsJson = False,
) -> None:
    """Put a property on the shortlist, or show the shortlist."""
    if property_id is not None:
        _mark(property_id, "shortlist", reason, as_json=as_json)
        return
    refuse(reason, "--reason needs a property")
    listed = sorted(_read(_read_shortlist), key=lambda pair: pair[0].property_id)
    numbers = ("rooms", "m²", "€", "renovation €")
    table = plain_table("Shortlist", ("id", "neighbourhood"), numbers, "why")
    for flat, evaluation in listed:
        facts = map(number, (flat.rooms, flat.area_sqm, flat.price_eur, evaluation.renovation_eur))
        why = f"{'' if flat.offered else 'gone; '}{evaluation.reason or ''}"
        table.add_row(str(flat.property_id), flat.neighbourhood or "?", *facts, why)
    rows = [asdict(evaluation) | {"price_eur": flat.price_eur} for flat, evaluation in listed]
    print_answer(
        {"shortlist": rows},
        table,
        as_json=as_json,
        note=f"{counted(len(listed), 'property', 'properties')} on the shortlist",
    )


def _read_shortlist(connection: Connection) -> list[tuple[Flat, Evaluation]]:
    found = evaluations.evaluations(connection)
    chosen = {row.property_id: row for row in found.values() if row.status == "shortlist"}
    return [(flat, chosen[flat.property_id]) for flat in read_flats(connection, chosen)]


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


def _mark(property_id: int, status: str, reason: str | None, *, as_json: bool) -> None:
    _write(partial(evaluations.mark, property_id=property_id, status=status, by=me(), reason=reason))
    _show_evaluation(property_id, as_json=as_json)


def decide(
    property_id: PropertyId,
    decision: Annotated[
        str | None, typer.Argument(help=f"One of {', '.join(DECISIONS)}; may be left out with --by.")
    ] = None,
    reason: Reason = None,
    by: Annotated[str | None, typer.Option(help="Decide by this day, like 2026-11-25.")] = None,
    as_json: AsJson = False,
) -> None:
    """Note your decision on a property, whatever its status is, or the day by which you want to decide."""
    refuse(decision is None and by is None, f"say {', '.join(DECISIONS)}, or --by a day")
    _evaluate(property_id, _filled(decision=decision, reason=reason, decide_by=by), as_json=as_json)


def renovation(
    property_id: PropertyId,
    euros: Annotated[float, typer.Argument(metavar="EUR", help="What you think renovation would cost.")],
    as_json: AsJson = False,
) -> None:
    """Note your own estimate of what renovation costs; the shortlist shows it beside the price."""
    _evaluate(property_id, {"renovation_eur": euros}, as_json=as_json)


def _evaluate(property_id: int, fields: dict[str, Any], *, as_json: bool) -> None:
    def work(connection: Connection) -> None:
        by = me()
        for field, value in fields.items():
            evaluations.evaluate(connection, property_id, field, value, by)

    _write(work)
    _show_evaluation(property_id, as_json=as_json)


def _show_evaluation(property_id: int, *, as_json: bool) -> None:
    now = _read(partial(evaluations.evaluation_of, property_id=property_id))
    rest = _filled(**{name: getattr(now, name) for name in _REST})
    words = "; ".join([now.status, *(f"{name} {value}" for name, value in rest.items())])
    print_answer(asdict(now), as_json=as_json, note=f"property {now.property_id}: {words}")


def note(
    property_id: PropertyId,
    text: Annotated[str | None, typer.Argument(help="What to note; without it the notes are shown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a note on a property, or show its notes. Notes are never overwritten."""
    if text is not None:
        _write(partial(evaluations.add_note, property_id=property_id, text=text, by=me()))
    found = _read(partial(evaluations.notes_of, property_id=property_id))
    record = {"property": property_id, "notes": list(map(asdict, found))}
    lines = [f"{entry.written_by}: {entry.text}" for entry in (found if text is None else found[-1:])]
    print_answer(
        record, *lines, as_json=as_json, note=f"{counted(len(found), 'note')} on property {property_id}"
    )


def evaluation(property_id: PropertyId, as_json: AsJson = False) -> None:
    """Show all you noted about a property: status, reason, notes, viewings, and every change of them."""
    found = _read(partial(_everything, property_id=property_id))
    print_answer(found, *_lines(found), as_json=as_json)


def _everything(connection: Connection, property_id: int) -> dict[str, Any]:
    now = evaluations.evaluation_of(connection, property_id)
    return {
        **asdict(now),
        "notes": list(map(asdict, evaluations.notes_of(connection, property_id))),
        "viewings": list(map(asdict, viewings_of(connection, property_id))),
        "history": list(map(asdict, evaluations.history_of(connection, property_id))),
    }


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    """The evaluation, then notes, viewings and changes, the oldest first."""

    def side_text(change: Mapping[str, Any], side: str) -> str:
        value = change[side]
        return moment(value) if change["field"] == "starts_at" and value is not None else str(value)

    yield f"property {found['property_id']}: {found['status']}"
    for name in _REST:
        if found[name] is not None:
            yield f"  {name}: {found[name]}"
    for note in found["notes"]:
        yield f"  {moment(note['written_at'])} {note['written_by']} notes: {note['text']}"
    for viewing in found["viewings"]:
        yield f"  viewing {viewing['id']}: {moment(viewing['starts_at'])}, {viewing['state']}"
    for change in found["history"]:
        prefix = f"viewing {change['viewing_id']} " if change["viewing_id"] else ""
        words = f"{prefix}{change['field']}: {side_text(change, 'old')} → {side_text(change, 'new')}"
        yield f"  {moment(change['changed_at'])} {change['changed_by']} {words}"


# Commands about viewings: add, move, done, cancel, list, export.

app = typer.Typer(no_args_is_help=True, help="Viewings: plan them, note how they were, take them along.")
When = Annotated[str, typer.Argument(help=f"When: {ALLOWED}.")]
Number = Annotated[
    int | None, typer.Option("--viewing", help="Which viewing, if the property has several planned.")
]


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
    texts = _filled(agent=agent, phone=phone, place=place, remarks=remarks)
    fields = {"starts_at": viewing_moment(when), "minutes": minutes, **texts}
    viewing = _write(partial(viewings.plan_viewing, property_id=property_id, fields=fields, by=me()))
    _show_viewing(property_id, viewing, as_json=as_json)


@app.command()
def move(property_id: PropertyId, when: When, viewing: Number = None, as_json: AsJson = False) -> None:
    """Put a planned viewing off to another time."""
    _change(property_id, viewing, {"starts_at": viewing_moment(when)}, as_json=as_json)


@app.command()
def done(
    property_id: PropertyId,
    plus: Annotated[list[str] | None, typer.Option(help="What was good; may be repeated.")] = None,
    minus: Annotated[list[str] | None, typer.Option(help="What was bad; may be repeated.")] = None,
    outcome: Annotated[str | None, typer.Option(help="What comes of it.")] = None,
    viewing: Number = None,
    as_json: AsJson = False,
) -> None:
    """Note how a viewing was."""
    fields = {"state": "done", "positives": plus or [], "negatives": minus or [], **_filled(outcome=outcome)}
    _change(property_id, viewing, fields, as_json=as_json)


@app.command()
def cancel(
    property_id: PropertyId,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    viewing: Number = None,
    as_json: AsJson = False,
) -> None:
    """Cancel a planned viewing; an exported calendar says so too."""
    _change(property_id, viewing, {"state": "cancelled", **_filled(outcome=reason)}, as_json=as_json)


@app.command(name="list")
def list_command(
    property_id: Annotated[int | None, typer.Argument(metavar="PROPERTY", help="Default: of all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List viewings in the order of time."""
    read = viewings.all_viewings if property_id is None else partial(viewings_of, property_id=property_id)
    found = _read(read)
    words, last = ("viewing", "property", "when", "state"), "agent, place, remarks"
    table = plain_table("Viewings", words, ("minutes",), last)
    for viewing in found:
        weighed = [*(f"+ {text}" for text in viewing.positives), *(f"- {text}" for text in viewing.negatives)]
        texts = (viewing.agent, viewing.phone, viewing.place, viewing.remarks, *weighed, viewing.outcome)
        when = moment(viewing.starts_at)
        cells = (viewing.id, viewing.property_id, when, viewing.state, viewing.minutes)
        table.add_row(*map(str, cells), "; ".join(filter(None, texts)))
    none_yet = "no viewing yet; plan one with `sale-sofia viewing add`"
    print_answer({"viewings": list(map(asdict, found))}, table, as_json=as_json, empty=none_yet)


@app.command(name="agenda")
def show_agenda(as_json: AsJson = False) -> None:
    """Show the viewings to come by day, with the way from each to the next."""
    settings = load_settings()
    use(settings.data_dir)
    found = open_ready(settings).run_read(partial(read_agenda, now=time.time()))
    if as_json:
        days = [{"day": day, "viewings": [stop.as_json() for stop in stops]} for day, stops in found.days]
        print_json({"days": days, "unsaid": [stop.as_json() for stop in found.unsaid]})
        return
    for day, stops in found.days:
        out.print(day)
        for stop in stops:
            texts = (stop.viewing.place or stop.flat.neighbourhood, stop.viewing.agent, stop.viewing.phone)
            details = "; ".join(filter(None, (f"property {stop.viewing.property_id}", *texts, _way(stop))))
            out.print(f"  {moment(stop.viewing.starts_at)} {details}", soft_wrap=True)
    count = sum(len(stops) for _, stops in found.days)
    log.print(f"{counted(count, 'viewing')} to come, {len(found.unsaid)} over without a word")


def _way(stop: Stop) -> str:
    """The way from the viewing before; empty for the first of a day."""
    if not stop.follows:
        return ""
    between = f"they overlap by {stop.overlap} min" if stop.overlap else f"{stop.pause} min between the two"
    late = f", but {between}" if stop.is_late else ""
    if stop.way is None:
        return f"way from the one before: unknown{late}"
    how = "on foot" if stop.way.on_foot else "by public transport"
    return f"{stop.way.minutes} min {how} from the one before{late}"


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="The calendar file to write, like viewings.ics.")],
    property_ids: Annotated[
        list[int] | None, typer.Argument(metavar="[PROPERTY]...", help="Default: of all.")
    ] = None,
) -> None:
    """Write viewings to a file that every calendar imports; it is written completely or not at all."""

    def read(connection: Connection) -> Any:  # noqa: ANN401 - as given
        chosen = {evaluations.current_property(connection, number) for number in property_ids or ()}
        return viewing_events(connection, chosen or None)

    refuse(path.suffix.lower() != ".ics", f"{path.name} does not end in .ics")
    events = _read(read)
    write_calendar(path, events)
    log.print(f"{counted(len(events), 'viewing')} in {path}")


def _change(property_id: int, viewing_id: int | None, fields: dict[str, Any], *, as_json: bool) -> None:
    def work(connection: Connection) -> int:
        # The viewing that was named, or the only one that is planned.
        found = viewings_of(connection, property_id)
        labels = {row.id: f"{row.id} ({moment(row.starts_at)}, {row.state})" for row in found}
        named = [] if viewing_id is None else [viewing_id]
        planned = named or [row.id for row in found if row.state == "planned"]
        there = f"it has {', '.join(labels.values())}" if labels else "it has none"
        unknown = viewing_id is not None and viewing_id not in labels
        refuse(unknown, f"property {property_id} has no viewing {viewing_id}; {there}")
        refuse(not planned, f"property {property_id} has no planned viewing; {there}")
        refuse(len(planned) > 1, f"property {property_id} has several; name one with --viewing: {there}")
        chosen = planned[0]
        viewings.change_viewing(connection, chosen, fields, me())
        return chosen

    _show_viewing(property_id, _write(work), as_json=as_json)


def _show_viewing(property_id: int, viewing_id: int, *, as_json: bool) -> None:
    found = _read(partial(viewings_of, property_id=property_id))
    [viewing] = [viewing for viewing in found if viewing.id == viewing_id]
    when = f"{moment(viewing.starts_at)}, {viewing.minutes} minutes"
    note = f"viewing {viewing.id} of property {viewing.property_id}: {viewing.state}, {when}"
    print_answer(asdict(viewing), as_json=as_json, note=note)


# The people of the household, who each enter the pages as themselves.

DASHBOARD_ADDRESS = f"http://{DASHBOARD_HOST}:{DASHBOARD_PORT}"
people_app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The people of the household: each enters the pages as themselves, and writes under their name. "
    "Without people the pages are shared and without names.",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The person's name.")]
Address = Annotated[
    str, typer.Option(help="Where the person's browser finds the dashboard: the beginning of the link.")
]


@people_app.command(name="add")
def add_person(
    name: Name,
    language: Annotated[str, typer.Option(help=f"One of {', '.join(LANGUAGES)}.")] = "bg",
    role: Annotated[
        str | None,
        typer.Option(help=f"One of {', '.join(ROLES)}. The first person operates, the others buy."),
    ] = None,
    address: Address = DASHBOARD_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Add a person, and print the link that lets them in once."""
    now = time.time()

    def work(connection: Connection) -> tuple[Person, str]:
        made = welcome(connection, name, language, role, now=now, by=me().who)
        return made, people.new_link(connection, made, now=now)

    person, token = _write(work)
    _show_link(person, token, address, as_json=as_json)


@people_app.command(name="list")
def list_people(as_json: AsJson = False) -> None:
    """List the people: what each may do, and whether they came in yet."""
    found = _read(people.all_people)
    table = plain_table("People", ("name", "language", "role"), (), "in since")
    for person in found:
        entered = moment(person.entered_at) if person.entered_at else "–"
        table.add_row(person.name, person.language, person.role, entered)
    record = {"people": list(map(asdict, found))}
    print_answer(record, table, as_json=as_json, note=f"{len(found)} people")


@people_app.command(name="link")
def link_person(name: Name, address: Address = DASHBOARD_ADDRESS, as_json: AsJson = False) -> None:
    """Print a link that lets a person in once, on a new phone for example; send it to them alone."""

    def work(connection: Connection) -> tuple[Person, str]:
        person = people.person_named(connection, name)
        return person, people.new_link(connection, person, now=time.time())

    person, token = _write(work)
    _show_link(person, token, address, as_json=as_json)


def _show_link(person: Person, token: str, address: str, *, as_json: bool) -> None:
    where = f"{address.rstrip('/')}{SIGN_IN_PATH}{token}"
    note = f"lets {person.name} ({person.role}) in once, within three days"
    print_answer({"person": asdict(person), "link": where}, where, as_json=as_json, note=note)


@people_app.command(name="password")
def person_password(
    name: Name,
    none: Annotated[bool, typer.Option("--none", help="Take the password away: links alone let in.")] = False,
) -> None:
    """Give a person a password; it is asked for, or read from standard input."""
    password: str | None = None
    if not none:
        read = partial(typer.prompt, "Password", hide_input=True, confirmation_prompt=True)
        password = read() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    _write(
        lambda connection: people.set_password(connection, people.person_named(connection, name), password)
    )
    log.print("no password" if none else "kept")


@people_app.command(name="role")
def person_role(name: Name, role: Annotated[str, typer.Argument(help=f"One of {', '.join(ROLES)}.")]) -> None:
    """Make a person a buyer or an operator."""

    def work(connection: Connection) -> None:
        person = people.person_named(connection, name)
        people.set_role(connection, person, role)
        note_change(connection, "person", person.name, "changed", me())

    _write(work)
    log.print(f"{name}: {role}")


@people_app.command(name="sign-out")
def sign_person_out(name: Name) -> None:
    """Sign a person out everywhere, and take their links back: a phone was lost."""
    count = _write(
        lambda connection: people.sign_out_everywhere(connection, people.person_named(connection, name))
    )
    log.print(f"{counted(count, 'link or session', 'links and sessions')} ended")


@people_app.command(name="calendar")
def person_calendar(
    name: Name,
    address: Address = DASHBOARD_ADDRESS,
    revoke: Annotated[bool, typer.Option("--revoke", help="Only take the address of before back.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a new address for a person's calendar, which shows the viewings; the one of before ends."""

    def work(connection: Connection) -> str | None:
        person = people.person_named(connection, name)
        if not revoke:
            return people.new_calendar(connection, person, now=time.time())
        people.drop_calendar(connection, person)
        return None

    token = _write(work)
    where = f"{address.rstrip('/')}{CALENDAR_PATH}{token}.ics" if token else None
    note = "whoever has it sees the viewings" if where else "no address any more"
    print_answer({"person": name, "calendar": where}, *filter(None, [where]), as_json=as_json, note=note)


@people_app.command(name="remove")
def remove_person(name: Name) -> None:
    """Remove a person and their channels: they cannot come in; what they wrote stays, with their name."""
    from sale_sofia.alerts.editing import RuleFile  # noqa: PLC0415 - a quarter of the program, for this alone

    settings, by = load_settings(), me()
    database = open_ready(settings)
    person = database.run_read(partial(people.person_named, name=name))
    database.run_write(partial(dismiss, person=person, by=by))
    log.print(f"{name} can no longer come in")
    RuleFile(settings, database, by).forget_person(person)


# Links that show one flat to people who are not of the household.

share_app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Show one flat to people who are not of the household, by a secret link: without your notes and "
    "decisions, and without phones of private sellers.",
)


@share_app.command(name="add")
def add_share(
    property_id: PropertyId,
    days: Annotated[int | None, typer.Option(help="How long it lasts; else as SHARE_LINK_DAYS says.")] = None,
    address: Address = DASHBOARD_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Print a link to a flat; it is not shown again."""
    lasts = load_settings().share_link_days if days is None else days
    token = _write(partial(sharing.share, property_id=property_id, days=lasts, by=me()))
    where = f"{address.rstrip('/')}{SHARED_PATH}{token}"
    note = f"shows property {property_id} for {lasts} days to whoever has it"
    print_answer({"property": property_id, "days": lasts, "link": where}, where, as_json=as_json, note=note)


@share_app.command(name="list")
def list_shares(as_json: AsJson = False) -> None:
    """List the links that last: to which flat, by whom, until when."""
    found = _read(partial(sharing.links_to, now=time.time()))
    table = plain_table("Shared flats", ("link", "property", "made by", "made"), (), "until")
    for link in found:
        cells = (str(link.id), str(link.property_id), link.made_by, moment(link.made_at))
        table.add_row(*cells, moment(link.ends_at))
    record = {"links": list(map(asdict, found))}
    print_answer(record, table, as_json=as_json, note=f"{counted(len(found), 'link')}")


@share_app.command(name="revoke")
def revoke_share(link: Annotated[int, typer.Argument(help="Its number, as `share list` shows it.")]) -> None:
    """Take a link back: it shows nothing from now on."""
    refuse(
        not _write(partial(sharing.take_back, link_id=link, by=me())),
        f"there is no link {link}; `sale-sofia share list` lists them",
    )
    log.print(f"link {link} shows nothing any more")
