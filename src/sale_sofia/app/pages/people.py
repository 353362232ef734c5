"""The people of the household: who they are, how they sign in, and where they are signed in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection
from starlette.responses import Response

from sale_sofia.alerts.editing import RuleFile
from sale_sofia.alerts.links import link_key
from sale_sofia.alerts.rules import AlertsError
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import PEOPLE, Done, WebPage
from sale_sofia.app.entrance import FIRST, SESSION, admit, door_of, session_at
from sale_sofia.app.guard import LANGUAGE
from sale_sofia.app.pages.flat import shared_line
from sale_sofia.app.visit import PageVisit, Values, latest_lines
from sale_sofia.app.words import mistakes, say, translate
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
from sale_sofia.websites.site_file import SiteConfigError


class NotAllowed(WrongEvaluation):
    """Only another person may do this."""


def page(visit: PageVisit) -> WebPage:
    """The page."""

    def read(connection: Connection) -> tuple[list[Person], list[SignIn], list[SharedLink]]:
        sign_ins = sign_ins_of(connection, visit.person, now=visit.now) if visit.person else []
        return all_people(connection), sign_ins, links_to(connection, now=visit.now)

    people, sign_ins, links = visit.database.run_read(read)
    values: Values = {
        "people": [_person_row(visit, person) for person in people],
        "devices": [_device(visit, sign_in) for sign_in in sign_ins],
        "roles": ROLES,
        "languages": LANGUAGES,
        "shared": [_shared_row(link) for link in links],
        "changes": latest_lines(visit),
        "link": None,
    }
    names = [{"name": person.name, "role": person.role, "language": person.language} for person in people]
    return WebPage("people.html", say("page.people"), values, lambda: {"people": names})


def _person_row(visit: PageVisit, person: Person) -> Values:
    return {
        "name": person.name,
        "role": say(f"people.role.{person.role}"),
        "me": visit.person is not None and visit.person.id == person.id,
        "entered": fmt.day(person.entered_at) if person.entered_at else None,
        "may_link": _may_link(visit, person),
        "has_password": person.has_password,
    }


def _shared_row(link: SharedLink) -> Values:
    name = say("card.no_title", id=link.property_id)
    return shared_line(link) | {"flat": f"/flat/{link.property_id}#share", "name": name}


def _device(visit: PageVisit, sign_in: SignIn) -> Values:
    return {
        "digest": sign_in.digest,
        "name": _device_name(sign_in.device)
        if sign_in.kind == "session"
        else say(f"people.kind.{sign_in.kind}"),
        "seen": fmt.ago(sign_in.seen_at, visit.now),
        "here": sign_in.digest == digest_of(visit.request.cookies.get(SESSION, "")),
    }


def _device_name(agent: str | None) -> str:
    """System and browser in familiar words: "Android, Chrome"."""
    names = [next((word for word in words if word in (agent or "")), "") for words in _DEVICES]
    return ", ".join(filter(None, names)) or fmt.UNKNOWN


_DEVICES: Final = (
    ("iPhone", "iPad", "Android", "Windows", "Macintosh", "Linux"),
    ("Firefox", "Edg", "Chrome", "Safari"),
)
"""Words of a user agent; the first that matches counts, as Chrome calls itself Safari too."""


def _may_link(visit: PageVisit, person: Person) -> bool:
    """Whether they may make a sign-in link for this person: for themselves, or as an operator."""
    own = visit.person is not None and visit.person.id == person.id
    return own or visit.may_operate


def add(visit: PageVisit) -> Done | Response:
    """Add a person; the first one is whoever sends the form: an operator, signed in at once."""
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
        return Done(translate(error), back=PEOPLE, wrong=True)
    if session:
        return admit(visit.request, session, PEOPLE)
    return Done(say("people.added", name=form.get("name", "").strip()), back=PEOPLE)


def link(visit: PageVisit) -> Done | WebPage:
    """Make a link that signs a person in once; it is shown once."""

    def write(connection: Connection) -> tuple[Person, str]:
        person = person_named(connection, visit.form.get("name", ""))
        if not _may_link(visit, person):
            raise NotAllowed(say("people.not_yours"))
        return person, new_link(connection, person, now=visit.now)

    try:
        person, token = visit.database.run_write(write)
    except WrongEvaluation as error:
        return Done(translate(error), back=PEOPLE, wrong=True)
    result = page(visit)
    address = visit.absolute(f"{SIGN_IN_PATH}{token}", person.language)
    result.values["link"] = {"name": person.name, "address": address}
    return result


def remove(visit: PageVisit) -> Done:
    """Remove a person, who can no longer sign in, and their channels; what they wrote stays."""

    def write(connection: Connection) -> Person:
        person = person_named(connection, visit.form.get("name", ""))
        if not visit.may_operate:
            raise NotAllowed(say("people.not_yours"))
        dismiss(connection, person, visit.by)
        return person

    try:
        person = visit.database.run_write(write)
        RuleFile(visit.state.settings, visit.database, visit.by).forget_person(person)
    except WrongEvaluation as error:
        return Done(translate(error), back=PEOPLE, wrong=True)
    except (AlertsError, SiteConfigError) as error:  # they are removed all the same
        return Done(mistakes(error), back="/people", wrong=True)
    return Done(say("people.removed", name=visit.form.get("name", "")), back="/people")


def password(visit: PageVisit) -> Done:
    """Set or remove one's own password."""
    new_password = visit.form.get("password", "") or None

    def write(connection: Connection) -> None:
        if visit.person is None:
            raise NotAllowed(say("people.not_yours"))
        set_password(connection, visit.person, new_password)

    return _write(visit, write, say("diary.kept"))


def speak(visit: PageVisit) -> Done:
    """Set one's own language of pages and messages."""
    spoken = visit.form.get("language", "")

    def write(connection: Connection) -> None:
        if visit.person is None:
            raise NotAllowed(say("people.not_yours"))
        set_language(connection, visit.person, spoken)

    done = _write(visit, write, say("diary.kept"))
    return done if done.wrong else replace(done, cookies={LANGUAGE: spoken})


def leave(visit: PageVisit) -> Done:
    """Sign out one of one's own devices, or revoke one's own link."""

    def write(connection: Connection) -> None:
        if visit.person is not None:
            sign_out(connection, visit.person, visit.form.get("digest", ""))

    return _write(visit, write, say("people.signed_out"))


def _write(visit: PageVisit, work: Callable[[Connection], None], message: str) -> Done:
    try:
        visit.database.run_write(work)
    except WrongEvaluation as error:
        return Done(translate(error), back=PEOPLE, wrong=True)
    return Done(message, back=PEOPLE)
