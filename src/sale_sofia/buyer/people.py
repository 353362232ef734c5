"""The people of one household: who they are, and what lets each of them in.

A link lets its person in once, a session for as long as its browser is used. Both are random, and only their
digests are stored: reading the database lets nobody in. Without people everybody is the single buyer.
"""

import hmac
from dataclasses import dataclass
from hashlib import scrypt, sha256
from secrets import token_bytes, token_urlsafe
from typing import Any, Final, Literal, get_args

from sqlalchemy import Connection, Row, delete, insert, select, update

from sale_sofia.buyer.evaluations import WrongEvaluation, checked_word, clean_text
from sale_sofia.buyer.settings import (
    LEAST_PASSWORD,
    LONGEST_DEVICE,
    LONGEST_PASSWORD,
    LONGEST_WHO,
    MOST_PEOPLE,
    MOST_SIGN_INS,
    SCRYPT_COST,
    SESSION_NOTED_SECONDS,
    SESSION_SECONDS,
    SIGN_IN_AGAIN_SECONDS,
    SIGN_IN_LINK_SECONDS,
)
from sale_sofia.buyer.tables import people, sign_ins
from sale_sofia.settings.words import LANGUAGES, Language, Said

Role = Literal["buyer", "operator"]
ROLES: Final[tuple[str, ...]] = get_args(Role)
"""A buyer decides on flats; an operator also runs the crawl and manages people."""
Kind = Literal["link", "session", "calendar"]
"""What a token opens: one sign-in, the pages for as long as they are used, or the calendar alone."""


class UnknownPerson(WrongEvaluation):
    """Nobody of the household has this name."""


@dataclass(frozen=True, slots=True)
class Person:
    """One of the household."""

    id: int
    name: str
    language: Language
    role: str
    has_password: bool
    made_at: float
    entered_at: float | None
    """When they first signed in; None: not yet."""

    @property
    def stamp(self) -> str:
        """Unique for ever: the id may be reused once they are gone."""
        return f"{self.id}-{self.made_at:.3f}"

    @property
    def is_operator(self) -> bool:
        """Whether they may run the crawl and manage people."""
        return self.role == "operator"


@dataclass(frozen=True, slots=True)
class SignIn:
    """An unused link, a browser that is signed in, or a calendar; moments are seconds since 1970."""

    digest: str
    kind: str
    device: str | None
    made_at: float
    seen_at: float
    ends_at: float


def add_person(connection: Connection, name: str, language: str, role: str | None, *, now: float) -> Person:
    """Add a person; without a role the first of all is the operator, the others are buyers.

    Raises:
        WrongEvaluation: the name is empty, too long or taken, or there are too many already.
    """
    cleaned = clean_text(name, "the name", LONGEST_WHO)
    there = all_people(connection)
    if any(person.name.casefold() == cleaned.casefold() for person in there):
        raise WrongEvaluation(Said("people.taken", name=cleaned))
    if len(there) >= MOST_PEOPLE:
        raise WrongEvaluation(Said("people.many", most=MOST_PEOPLE))
    values = {
        "name": cleaned,
        "language": checked_word(language, LANGUAGES, f"no language {language!r}"),
        "role": checked_word(role or ("buyer" if there else "operator"), ROLES, f"no role {role!r}"),
        "made_at": now,
    }
    connection.execute(insert(people).values(**values))
    return person_named(connection, cleaned)


def all_people(connection: Connection) -> list[Person]:
    """Everybody, in the order in which they joined."""
    return [_person(row) for row in connection.execute(select(people).order_by(people.c.id))]


def person_named(connection: Connection, name: str) -> Person:
    """The person of this name, in any case.

    Raises:
        UnknownPerson: there is none; it says who there is.
    """
    there = all_people(connection)
    folded = name.strip().casefold()
    for person in there:
        if person.name.casefold() == folded:
            return person
    names = ", ".join(person.name for person in there) or "–"
    raise UnknownPerson(Said("people.unknown", name=name.strip(), names=names))


def set_role(connection: Connection, person: Person, role: str) -> None:
    """Make them a buyer or an operator.

    Raises:
        WrongEvaluation: no such role, or nobody would be left to operate.
    """
    role = checked_word(role, ROLES, f"no role {role!r}")
    if role != "operator":
        _check_operated(connection, without=person, nobody_else=False)
    connection.execute(update(people).where(people.c.id == person.id).values(role=role))


def set_language(connection: Connection, person: Person, language: str) -> None:
    """Speak to them in this language from now on, in messages too.

    Raises:
        WrongEvaluation: no such language.
    """
    language = checked_word(language, LANGUAGES, f"no language {language!r}")
    connection.execute(update(people).where(people.c.id == person.id).values(language=language))


def _check_operated(connection: Connection, *, without: Person, nobody_else: bool) -> None:
    """Refuse to do without this operator; `nobody_else`: unless they are the only person."""
    # Of two operators who demote each other at once, the second waits and then sees what the first did.
    connection.execute(select(people.c.id).order_by(people.c.id).with_for_update(key_share=True))
    others = [person for person in all_people(connection) if person.id != without.id]
    if (others or not nobody_else) and not any(person.is_operator for person in others):
        raise WrongEvaluation(Said("people.last", name=without.name))


def remove_person(connection: Connection, person: Person) -> None:
    """Delete the person and their sign-ins; `opinions.dismiss` also settles their opinions.

    Raises:
        WrongEvaluation: they are the last operator, and others would be left without one.
    """
    _check_operated(connection, without=person, nobody_else=True)
    sign_out_everywhere(connection, person)
    connection.execute(delete(people).where(people.c.id == person.id))


# Passwords, for people who prefer them to links.


def set_password(connection: Connection, person: Person, password: str | None) -> None:
    """Give them this password, or none; browsers that are signed in stay so.

    Raises:
        WrongEvaluation: it is too short or too long.
    """
    hashed = None
    if password is not None:
        if not LEAST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise WrongEvaluation(Said("people.password", least=LEAST_PASSWORD, most=LONGEST_PASSWORD))
        salt = token_bytes(16)
        hashed = f"{salt.hex()}${_hash(password, salt)}"
    connection.execute(update(people).where(people.c.id == person.id).values(password=hashed))


def enter_by_password(
    connection: Connection, name: str, password: str, device: str, *, now: float
) -> str | None:
    """The token of a new session; None when name and password do not match. Both take the same time."""
    chosen = select(people.c.id, people.c.name, people.c.password)
    folded = name.strip().casefold()
    row = next((row for row in connection.execute(chosen) if row.name.casefold() == folded), None)
    salt, _, hashed = (row.password if row and row.password else f"{'0' * 32}$").partition("$")
    fits = hmac.compare_digest(_hash(password[:LONGEST_PASSWORD], bytes.fromhex(salt)), hashed)
    return _let_in(connection, row.id, "session", device, now) if fits and row else None


def _hash(password: str, salt: bytes) -> str:
    return scrypt(password.encode(), salt=salt, n=SCRYPT_COST, r=8, p=1).hex()


# Links and sessions.


def new_link(connection: Connection, person: Person, *, now: float) -> str:
    """The token of a link that lets them in once; see SIGN_IN_LINK_SECONDS."""
    return _let_in(connection, person.id, "link", None, now)


def link_of(connection: Connection, token: str, *, now: float) -> Person | None:
    """The person that an unused link would sign in."""
    return _found(connection, token, "link", now)


def enter_by_link(
    connection: Connection, token: str, device: str, *, now: float, session: str | None = None
) -> str | None:
    """The token of a new session; None for a link that is used, expired, revoked or not ours.

    `session` is the token to use, random and secret: a caller who chose it beforehand can be given it again
    by `is_new_session`, should the answer get lost.
    """
    person = _found(connection, token, "link", now)
    if person is None:
        return None
    spent = connection.execute(delete(sign_ins).where(sign_ins.c.digest == digest_of(token)))
    if not spent.rowcount:  # of two who use one link at once, only one deletes the row
        return None
    return _let_in(connection, person.id, "session", device, now, session)


def is_new_session(connection: Connection, token: str, *, now: float) -> bool:
    """Whether this session is valid and so new that the answer may have got lost."""
    if _found(connection, token, "session", now) is None:
        return False
    began = select(sign_ins.c.made_at).where(sign_ins.c.digest == digest_of(token))
    return float(connection.execute(began).scalar_one()) > now - SIGN_IN_AGAIN_SECONDS


def new_calendar(connection: Connection, person: Person, *, now: float) -> str:
    """The token of the address of their calendar; the previous one ends."""
    drop_calendar(connection, person)
    return _let_in(connection, person.id, "calendar", None, now)


def drop_calendar(connection: Connection, person: Person) -> bool:
    """Revoke the address of their calendar; whether there was one."""
    own = (sign_ins.c.person_id == person.id) & (sign_ins.c.kind == "calendar")
    return bool(connection.execute(delete(sign_ins).where(own)).rowcount)


def person_of(
    connection: Connection, token: str, *, now: float, kind: Kind = "session"
) -> tuple[Person, bool] | None:
    """Whose session this is, while it is valid; and whether it is time to record its use."""
    found = _found(connection, token, kind, now)
    if found is None:
        return None
    chosen = select(sign_ins.c.seen_at).where(sign_ins.c.digest == digest_of(token))
    return found, connection.execute(chosen).scalar_one() < now - SESSION_NOTED_SECONDS


def keep_session(connection: Connection, token: str, *, now: float) -> None:
    """Record that it was used now, which extends it."""
    ours = sign_ins.c.digest == digest_of(token)
    connection.execute(update(sign_ins).where(ours).values(seen_at=now, ends_at=now + SESSION_SECONDS))


def sign_ins_of(connection: Connection, person: Person, *, now: float) -> list[SignIn]:
    """Their valid links and sessions, the newest first."""
    lasting = (sign_ins.c.person_id == person.id) & (sign_ins.c.ends_at > now)
    chosen = select(sign_ins).where(lasting).order_by(sign_ins.c.seen_at.desc(), sign_ins.c.digest)
    names = SignIn.__dataclass_fields__
    return [SignIn(**{name: getattr(row, name) for name in names}) for row in connection.execute(chosen)]


def sign_out(connection: Connection, person: Person, digest: str) -> bool:
    """Revoke one of their own links or sessions; whether there was one."""
    own = (sign_ins.c.digest == digest) & (sign_ins.c.person_id == person.id)
    return bool(connection.execute(delete(sign_ins).where(own)).rowcount)


def sign_out_everywhere(connection: Connection, person: Person) -> int:
    """Revoke all their links and sessions; how many there were."""
    return connection.execute(delete(sign_ins).where(sign_ins.c.person_id == person.id)).rowcount


def _let_in(
    connection: Connection,
    person_id: int,
    kind: Kind,
    device: str | None,
    now: float,
    chosen: str | None = None,
) -> str:
    token = chosen or token_urlsafe(32)
    lasts = SIGN_IN_LINK_SECONDS if kind == "link" else SESSION_SECONDS
    values: dict[str, Any] = {
        "digest": digest_of(token),
        "person_id": person_id,
        "kind": kind,
        "device": (device or "")[:LONGEST_DEVICE] or None,
        "made_at": now,
        "seen_at": now,
        "ends_at": now + lasts,
    }
    connection.execute(insert(sign_ins).values(**values))
    if kind == "session":
        first = (people.c.id == person_id) & people.c.entered_at.is_(None)
        connection.execute(update(people).where(first).values(entered_at=now))
    # Delete the expired ones, and of too many the oldest.
    connection.execute(delete(sign_ins).where(sign_ins.c.ends_at <= now))
    theirs = select(sign_ins.c.digest).where(sign_ins.c.person_id == person_id)
    newest = theirs.order_by(sign_ins.c.seen_at.desc(), sign_ins.c.digest)
    too_many = list(connection.scalars(newest))[MOST_SIGN_INS:]
    if too_many:
        connection.execute(delete(sign_ins).where(sign_ins.c.digest.in_(too_many)))
    return token


def _found(connection: Connection, token: str, kind: Kind, now: float) -> Person | None:
    ours = (sign_ins.c.digest == digest_of(token)) & (sign_ins.c.kind == kind) & (sign_ins.c.ends_at > now)
    chosen = select(people).join(sign_ins, sign_ins.c.person_id == people.c.id).where(ours)
    row = connection.execute(chosen).first()
    return _person(row) if row else None


def digest_of(token: str) -> str:
    """The digest under which a token is stored."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _person(row: Row[Any]) -> Person:
    return Person(
        row.id, row.name, row.language, row.role, row.password is not None, row.made_at, row.entered_at
    )
