"""The agenda: viewings of all flats by day, and the way between them; added, moved, cancelled, done."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.deck import title_of
from sale_sofia.app.visit import Values, Visit, numbers
from sale_sofia.app.words import say, told
from sale_sofia.buyer.agenda import Agenda, Stop, read_agenda
from sale_sofia.buyer.evaluations import BOARD, By, WrongEvaluation, evaluations
from sale_sofia.buyer.people import SignIn, drop_calendar, new_calendar, sign_ins_of
from sale_sofia.buyer.settings import CALENDAR_PATH
from sale_sofia.buyer.viewings import UnknownViewing, change_viewing, plan_viewing, viewing_moment
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import plain


def page(visit: Visit) -> Page:
    """The page."""

    def read(connection: Connection) -> tuple[Agenda, list[Flat], list[SignIn]]:
        wanted = [one.property_id for one in evaluations(connection).values() if one.status in BOARD]
        own = sign_ins_of(connection, visit.person, now=visit.now) if visit.person else []
        return read_agenda(connection, now=visit.now), list(load_flats(connection, sorted(wanted))), own

    found, flats, own = visit.database.run_read(read)
    values: Values = {
        "days": [(shown.weekday(some[0].viewing.starts_at), some) for _, some in found.days],
        "unsaid": found.unsaid,
        "past": found.past,
        "flats": [(flat.property_id, flat_name(flat)) for flat in flats],
        "name": flat_name,
        "way": way_words,
        "tomorrow": f"{datetime.fromtimestamp(visit.now, SOFIA) + timedelta(days=1):%d.%m.%Y}",
        "subscribed": next((shown.day(one.made_at) for one in own if one.kind == "calendar"), None),
        "address": None,
    }
    return Page("agenda.html", say("page.agenda"), values, lambda: _data(found))


def _data(found: Agenda) -> dict[str, Any]:
    def told_of(some: Sequence[Stop]) -> list[dict[str, Any]]:
        return [one.as_json() for one in some]

    days = [{"day": day, "viewings": told_of(some)} for day, some in found.days]
    return {"days": days, "unsaid": told_of(found.unsaid), "past": told_of(found.past)}


def flat_name(flat: Flat) -> str:
    """By what one knows a flat again."""
    title, place = title_of(flat), plain(flat.neighbourhood or "")
    return " · ".join(filter(None, (title, place if place not in title else "", shown.euro(flat.price_eur))))


def way_words(one: Stop) -> str:
    """How one comes there from the viewing before."""
    if one.way is None:
        return say("agenda.way.unknown")
    return say(f"agenda.way.{'on_foot' if one.way.on_foot else 'ride'}", n=one.way.minutes)


# What is done with viewings, here and on the page of a flat.


def plan_asked(connection: Connection, number: int, form: Mapping[str, str], by: By) -> int:
    """Plan the viewing that a form asks for; its number."""
    texts = ("agent", "phone", "place", "remarks")
    given = {name: form[name] for name in texts if form.get(name, "").strip()}
    return plan_viewing(connection, number, {**given, "starts_at": _moment(form)}, by)


def change_asked(connection: Connection, viewing: int, form: Mapping[str, str], by: By) -> bool:
    """Move a viewing, cancel it or say how it was: whatever of it the form has; whether that is new."""
    fields: dict[str, object] = {"state": form["state"]} if form.get("state") else {}
    if form.get("day", "").strip():
        fields["starts_at"] = _moment(form)
    for name, given in (("positives", "positive"), ("negatives", "negative")):
        if lines := [line for line in form.get(given, "").splitlines() if line.strip()]:
            fields[name] = lines
    if form.get("outcome", "").strip():
        fields["outcome"] = form["outcome"]
    return change_viewing(connection, viewing, fields, by)


def _moment(form: Mapping[str, str]) -> float:
    """The day as people write it here, like 25.11.2026, and the hour."""
    return viewing_moment(f"{shown.typed_day(form.get('day', ''))} {form.get('hour', '').strip().zfill(5)}")


def add(visit: Visit) -> Done:
    """Plan a viewing of a flat that is chosen here."""
    chosen = numbers(visit.form.get("flat", ""))
    if not chosen:
        return Done(say("agenda.choose"), wrong=True)
    work = partial(plan_asked, number=chosen[0], form=visit.form, by=visit.by)
    try:
        visit.database.run_write(work)
    except (WrongEvaluation, UnknownProperty, UnknownViewing) as error:
        return Done(told(error), wrong=True)
    return Done(say("diary.kept"), back="/agenda")


# The address to which one's calendar subscribes: shown once, and taken back when one wants to.


def subscribe(visit: Visit) -> Done | Page:
    """A new address for one's own calendar; the one of before ends."""
    person = visit.person
    if person is None:
        return Done(say("agenda.no_people"), wrong=True)
    token = visit.database.run_write(partial(new_calendar, person=person, now=visit.now))
    found = page(visit)
    found.values["address"] = f"{str(visit.request.base_url).rstrip('/')}{CALENDAR_PATH}{token}.ics"
    return found


def unsubscribe(visit: Visit) -> Done:
    """One's own address works no more."""
    if visit.person is not None:
        visit.database.run_write(partial(drop_calendar, person=visit.person))
    return Done(say("agenda.dropped"), back="/agenda")
