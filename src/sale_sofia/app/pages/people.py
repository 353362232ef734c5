"""The people of the household: who they are, how each comes in, and where they are signed in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from sqlalchemy import Connection
from starlette.responses import Response

from sale_sofia.alerts.links import link_key
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.entrance import FIRST, SESSION, admitted, door_of, session_at
from sale_sofia.app.pages.flat import shared_line
from sale_sofia.app.visit import LANGUAGE, Values, Visit, latest_lines
from sale_sofia.app.words import say, told
from sale_sofia.buyer.evaluations import WrongEvaluation
from sale_sofia.buyer.opinions import dismiss, welcome
from sale_sofia.buyer.people import (
    ROLES,
    Person,
    SignIn,
    all_people,
    digest_of,
    enter_by_link,
    new_link,
    person_named,
    set_language,
    set_password,
    sign_ins_of,
    sign_out,
)
from sale_sofia.buyer.settings import SIGN_IN_PATH
from sale_sofia.buyer.sharing import SharedLink, links_to
from sale_sofia.settings.words import LANGUAGES


class NotAllowed(WrongEvaluation):
    """It is another's to do."""


def page(visit: Visit) -> Page:
    """The page."""

    def read(connection: Connection) -> tuple[list[Person], list[SignIn], list[SharedLink]]:
        own = sign_ins_of(connection, visit.person, now=visit.now) if visit.person else []
        return all_people(connection), own, links_to(connection, now=visit.now)

    found, own, links = visit.database.run_read(read)
    values: Values = {
        "people": [_shown(visit, one) for one in found],
        "devices": [_device(visit, one) for one in own],
        "roles": ROLES,
        "languages": LANGUAGES,
        "shared": [_shared(one) for one in links],
        "changes": latest_lines(visit),
        "link": None,
    }
    names = [{"name": one.name, "role": one.role, "language": one.language} for one in found]
    return Page("people.html", say("page.people"), values, lambda: {"people": names})


def _shown(visit: Visit, one: Person) -> Values:
    return {
        "name": one.name,
        "role": say(f"people.role.{one.role}"),
        "me": visit.person is not None and visit.person.id == one.id,
        "entered": shown.day(one.entered_at) if one.entered_at else None,
        "may_link": _may_link(visit, one),
        "has_password": one.has_password,
    }


def _shared(one: SharedLink) -> Values:
    name = say("card.no_title", id=one.property_id)
    return shared_line(one) | {"flat": f"/flat/{one.property_id}#share", "name": name}


def _device(visit: Visit, one: SignIn) -> Values:
    return {
        "digest": one.digest,
        "name": _device_name(one.device) if one.kind == "session" else say(f"people.kind.{one.kind}"),
        "seen": shown.ago(one.seen_at, visit.now),
        "here": one.digest == digest_of(visit.request.cookies.get(SESSION, "")),
    }


def _device_name(agent: str | None) -> str:
    """What the browser calls itself, as far as a person would: "Android, Chrome"."""
    found = [next((word for word in words if word in (agent or "")), "") for words in _DEVICES]
    return ", ".join(filter(None, found)) or shown.UNKNOWN


_DEVICES: Final = (
    ("iPhone", "iPad", "Android", "Windows", "Macintosh", "Linux"),
    ("Firefox", "Edg", "Chrome", "Safari"),
)
"""Words of a browser's name, those first that others also say: Chrome calls itself Safari too."""


def _may_link(visit: Visit, one: Person) -> bool:
    """A link lets whoever has it in as that person: one makes it for oneself, or operates."""
    own = visit.person is not None and visit.person.id == one.id
    return own or visit.may_operate


def add(visit: Visit) -> Done | Response:
    """Somebody new; the first one of all is who asks, operates, and is signed in at once."""
    form = visit.form

    def write(connection: Connection) -> str | None:
        if not visit.may_operate:
            raise NotAllowed(say("people.not_yours"))
        first = not all_people(connection)
        role = None if first else form.get("role") or None
        name, spoken, by = form.get("name", ""), form.get("language", ""), None if first else visit.by.who
        person = welcome(connection, name, spoken, role, now=visit.now, by=by)
        if not first:
            return None
        token, agent = (
            new_link(connection, person, now=visit.now),
            visit.request.headers.get("user-agent", ""),
        )
        door = door_of(visit.request)
        chosen = session_at(link_key(connection), door, FIRST) if door else None
        return enter_by_link(connection, token, agent, now=visit.now, session=chosen)

    try:
        session = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(told(error), wrong=True)
    if session:
        return admitted(visit.request, session, "/people")
    return Done(say("people.added", name=form.get("name", "").strip()), back="/people")


def link(visit: Visit) -> Done | Page:
    """A link that lets a person in once; it is shown now and never again."""

    def write(connection: Connection) -> tuple[Person, str]:
        person = person_named(connection, visit.form.get("name", ""))
        if not _may_link(visit, person):
            raise NotAllowed(say("people.not_yours"))
        return person, new_link(connection, person, now=visit.now)

    try:
        person, token = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(told(error), wrong=True)
    base = str(visit.request.base_url).rstrip("/")
    more = "" if person.language == LANGUAGES[0] else f"?{urlencode({'lang': person.language})}"
    found = page(visit)
    found.values["link"] = {"name": person.name, "address": f"{base}{SIGN_IN_PATH}{token}{more}"}
    return found


def remove(visit: Visit) -> Done:
    """They can no longer come in; what they wrote stays."""

    def write(connection: Connection) -> None:
        person = person_named(connection, visit.form.get("name", ""))
        if not visit.may_operate:
            raise NotAllowed(say("people.not_yours"))
        dismiss(connection, person, visit.by)

    return _write(visit, write, say("people.removed", name=visit.form.get("name", "")))


def password(visit: Visit) -> Done:
    """A password of one's own, or none."""
    given = visit.form.get("password", "") or None

    def write(connection: Connection) -> None:
        if visit.person is None:
            raise NotAllowed(say("people.not_yours"))
        set_password(connection, visit.person, given)

    return _write(visit, write, say("diary.kept"))


def speak(visit: Visit) -> Done:
    """One's own language, of pages and messages."""
    spoken = visit.form.get("language", "")

    def write(connection: Connection) -> None:
        if visit.person is None:
            raise NotAllowed(say("people.not_yours"))
        set_language(connection, visit.person, spoken)

    done = _write(visit, write, say("diary.kept"))
    return done if done.wrong else replace(done, cookies={LANGUAGE: spoken})


def leave(visit: Visit) -> Done:
    """Sign one of one's own devices out, or take a link back."""

    def write(connection: Connection) -> None:
        if visit.person is not None:
            sign_out(connection, visit.person, visit.form.get("digest", ""))

    return _write(visit, write, say("people.signed_out"))


def _write(visit: Visit, work: Callable[[Connection], None], said: str) -> Done:
    try:
        visit.database.run_write(work)
    except WrongEvaluation as error:
        return Done(told(error), wrong=True)
    return Done(said, back="/people")
