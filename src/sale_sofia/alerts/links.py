"""Links in a message that keep or reject a flat: signed, of one person and flat, used once, for some days.

Looking at a link changes nothing: chats look at links before people do.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from secrets import token_hex
from typing import Final, NamedTuple

from sqlalchemy import Connection, delete, select

from sale_sofia.alerts.settings import LINK_PATH, LINK_SECONDS
from sale_sofia.alerts.tables import link_keys, spent_links
from sale_sofia.buyer.evaluations import By, current_property, evaluation_of, mark
from sale_sofia.buyer.opinions import BY_STATUS, opinions_on, say_status
from sale_sofia.buyer.people import Person, all_people, digest_of
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.history.settings import OWN_SITE
from sale_sofia.settings.words import Said
from sale_sofia.storage.upserts import insert_into

ACTIONS: Final[Mapping[str, str]] = {"keep": "shortlist", "reject": "rejected"}
"""The status that each action of a link sets."""
_ONLY: Final = 1
_SEPARATOR: Final = "|"


class LinkRefused(Exception):
    """The link is forged, expired, used, or of somebody who is gone; the code says which."""


class ActionLink(NamedTuple):
    """What a link may do. `person` is a `Person.stamp`; empty: the single buyer where there are no people."""

    message: str
    property_id: int
    person: str
    action: str
    ends_at: int


def link_key(connection: Connection) -> str:
    """The key of the installation, made when there is none."""
    new = {"id": _ONLY, "key": token_hex(32)}
    connection.execute(insert_into(connection, link_keys).values(new).on_conflict_do_nothing())
    return str(read_key(connection))


def read_key(connection: Connection) -> str | None:
    """The key of the installation; None where none was needed yet."""
    return connection.execute(select(link_keys.c.key)).scalar()


def addresses(
    dashboard: str, key: str, message: str, property_id: int, reader: Person | None, *, now: float
) -> dict[str, str]:
    """By action: where a message leads its reader."""
    person, ends = reader.stamp if reader else "", int(now + LINK_SECONDS)
    spoken = "?lang=en" if reader and reader.language == "en" else ""
    links = (ActionLink(message, property_id, person, action, ends) for action in ACTIONS)
    return {link.action: f"{dashboard}{LINK_PATH}{_signed(key, link)}{spoken}" for link in links}


def _signed(key: str, link: ActionLink) -> str:
    payload = urlsafe_b64encode(_SEPARATOR.join(map(str, link)).encode()).decode().rstrip("=")
    return f"{payload}.{_signature(key, payload)}"


def _signature(key: str, payload: str) -> str:
    return hmac.new(bytes.fromhex(key), payload.encode(), sha256).hexdigest()


def look_at(
    connection: Connection, token: str, asks: Person | None, *, now: float
) -> tuple[ActionLink, Person | None]:
    """What a link would do now, and for whom; somebody signed in as another person may not use it.

    Raises:
        LinkRefused: it cannot be used.
    """
    key = read_key(connection)
    payload, _, signature = token.partition(".")
    if key is None or not hmac.compare_digest(_signature(key, payload).encode(), signature.encode()):
        raise LinkRefused(Said("link.forged"))
    message, number, stamp, action, ends = (
        urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode().split(_SEPARATOR)
    )
    link = ActionLink(message, int(number), stamp, action, int(ends))
    if link.ends_at <= now:
        raise LinkRefused(Said("link.over"))
    there = all_people(connection)
    person = next((person for person in there if person.stamp == stamp), None)
    if person is None and (stamp or there):
        raise LinkRefused(Said("link.person"))
    if asks is not None and asks != person:
        raise LinkRefused(Said("link.another"))
    used = select(spent_links.c.digest).where(spent_links.c.digest == _digest(link))
    if connection.execute(used).first() is not None:
        raise LinkRefused(Said("link.used"))
    return link, person


def act(connection: Connection, token: str, asks: Person | None, *, now: float) -> ActionLink:
    """Do what the link says, once; the property is the one that it is now. Raises LinkRefused."""
    link, person = look_at(connection, token, asks, now=now)
    connection.execute(delete(spent_links).where(spent_links.c.ends_at <= now))
    row = {"digest": _digest(link), "ends_at": float(link.ends_at)}
    spent = insert_into(connection, spent_links).values(row).on_conflict_do_nothing()
    # Of two who use one link at once, only one inserts the row.
    if connection.execute(spent.returning(spent_links.c.digest)).first() is None:
        raise LinkRefused(Said("link.used"))
    try:
        found, status = current_property(connection, link.property_id), ACTIONS[link.action]
    except UnknownProperty:
        raise LinkRefused(Said("link.over")) from None
    if person is not None:
        # Who says the same again, by a message, keeps the reason they gave.
        there = opinions_on(connection, [found]).get(found, ())
        same = (person.name, BY_STATUS[status])
        reason = next((one.reason for one in there if (one.person, one.opinion) == same), None)
        say_status(connection, found, status, person, reason, now=now)
    elif status == "rejected" or evaluation_of(connection, found).status in {*BY_STATUS, "hidden"}:
        # A status beyond the shortlist, as a viewing, is not set back.
        mark(connection, found, status, By(OWN_SITE, now), None)
    return link._replace(property_id=found)


def _digest(link: ActionLink) -> str:
    """The same however often the message was sent."""
    return digest_of(_SEPARATOR.join(map(str, link[:-1])))
