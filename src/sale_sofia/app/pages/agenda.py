"""The agenda: viewings of all flats by day, and the way between them; added, moved, cancelled, done."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import Connection

from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage
from sale_sofia.app.deck import title_of
from sale_sofia.app.facts import asked
from sale_sofia.app.visit import PageVisit, Values, numbers
from sale_sofia.app.words import say, translate
from sale_sofia.buyer.agenda import Agenda, Stop, read_agenda
from sale_sofia.buyer.evaluations import BOARD, By, WrongEvaluation, statuses
from sale_sofia.buyer.people import SignIn, drop_calendar, new_calendar, sign_ins_of
from sale_sofia.buyer.settings import CALENDAR_PATH
from sale_sofia.buyer.viewings import UnknownViewing, change_viewing, plan_viewing, viewing_moment
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.projection import load_flats
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import plain


def page(visit: PageVisit) -> WebPage:
    """The page."""

    def read(connection: Connection) -> tuple[Agenda, list[Flat], list[SignIn]]:
        chosen = [number for number, status in statuses(connection).items() if status in BOARD]
        own = sign_ins_of(connection, visit.person, now=visit.now) if visit.person else []
        return read_agenda(connection, now=visit.now), list(load_flats(connection, sorted(chosen))), own

    agenda, flats, sign_ins = visit.database.run_read(read)
    values: Values = {
        "days": [(fmt.weekday(stops[0].viewing.starts_at), stops) for _, stops in agenda.days],
        "unsaid": agenda.unsaid,
        "past": agenda.past,
        "flats": [(flat.property_id, flat_name(flat)) for flat in flats],
        "name": flat_name,
        "way": way_words,
        "tomorrow": f"{datetime.fromtimestamp(visit.now, SOFIA) + timedelta(days=1):%d.%m.%Y}",
        "subscribed": next(
            (fmt.day(sign_in.made_at) for sign_in in sign_ins if sign_in.kind == "calendar"), None
        ),
        "address": None,
    }
    return WebPage("agenda.html", say("page.agenda"), values, lambda: _data(agenda))


def _data(agenda: Agenda) -> dict[str, Any]:
    def records(stops: Sequence[Stop]) -> list[dict[str, Any]]:
        return [stop.as_json() for stop in stops]

    days = [{"day": day, "viewings": records(stops)} for day, stops in agenda.days]
    return {"days": days, "unsaid": records(agenda.unsaid), "past": records(agenda.past)}


def flat_name(flat: Flat) -> str:
    """A line to recognise a flat by."""
    title, place = title_of(flat), plain(flat.neighbourhood or "")
    return " · ".join(filter(None, (title, place if place not in title else "", asked(flat))))


def way_words(stop: Stop) -> str:
    """The way there from the previous viewing."""
    if stop.way is None:
        return say("agenda.way.unknown")
    return say(f"agenda.way.{'on_foot' if stop.way.on_foot else 'ride'}", n=stop.way.minutes)


# Forms of viewings, here and on the page of a flat.


def plan_from_form(connection: Connection, number: int, form: Mapping[str, str], by: By) -> int:
    """Plan the viewing of a form; returns its number."""
    texts = ("agent", "phone", "place", "remarks")
    details = {name: form[name] for name in texts if form.get(name, "").strip()}
    return plan_viewing(connection, number, {**details, "starts_at": _moment(form)}, by)


def change_from_form(connection: Connection, viewing: int, form: Mapping[str, str], by: By) -> bool:
    """Move a viewing, cancel it or store its outcome, as the form says; whether that changed anything.

    A state that stands in the form as it was shown is not written: somebody else may have changed it.
    """
    state = form.get("state")
    fields: dict[str, object] = {"state": state} if state and state != form.get("was_state") else {}
    if form.get("day", "").strip():
        fields["starts_at"] = _moment(form)
    for name, field in (("positives", "positive"), ("negatives", "negative")):
        if lines := [line for line in form.get(field, "").splitlines() if line.strip()]:
            fields[name] = lines
    if form.get("outcome", "").strip():
        fields["outcome"] = form["outcome"]
    return change_viewing(connection, viewing, fields, by)


def _moment(form: Mapping[str, str]) -> float:
    """The moment of a day like 25.11.2026 and an hour."""
    return viewing_moment(f"{fmt.iso_day(form.get('day', ''))} {form.get('hour', '').strip().zfill(5)}")


def add(visit: PageVisit) -> Done:
    """Plan a viewing of the chosen flat."""
    chosen = numbers(visit.form.get("flat", ""))
    if not chosen:
        return Done(say("agenda.choose"), wrong=True)
    work = partial(plan_from_form, number=chosen[0], form=visit.form, by=visit.by)
    try:
        visit.database.run_write(work)
    except (WrongEvaluation, UnknownProperty, UnknownViewing) as error:
        return Done(translate(error), wrong=True)
    return Done(say("diary.kept"), back="/agenda")


# The address that one's calendar subscribes to: shown once, revoked on request.


def subscribe(visit: PageVisit) -> Done | WebPage:
    """Make a new address for one's own calendar; the previous one stops working."""
    person = visit.person
    if person is None:
        return Done(say("agenda.no_people"), wrong=True)
    token = visit.database.run_write(partial(new_calendar, person=person, now=visit.now))
    result = page(visit)
    result.values["address"] = visit.absolute(f"{CALENDAR_PATH}{token}.ics")
    return result


def unsubscribe(visit: PageVisit) -> Done:
    """Revoke the address of one's own calendar."""
    if visit.person is not None:
        visit.database.run_write(partial(drop_calendar, person=visit.person))
    return Done(say("agenda.dropped"), back="/agenda")
