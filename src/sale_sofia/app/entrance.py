"""Sign-in of the household: once there are people, every request needs a session of its own person.

The server may die after a link was used, or the first person added, and before the browser has its session.
So a browser gets a secret before it signs in (`DOOR`), and the session that a link makes for it is derived
from link, secret and the installation's key. A browser that sends both again within a short time gets the
same session; for another browser, which has another secret, the link is used up.
"""

import hmac
import re
import time
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from html import escape
from secrets import token_urlsafe
from typing import Final, NamedTuple

from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sale_sofia.alerts.links import LinkRefused, act, link_key, look_at, read_key
from sale_sofia.alerts.settings import LINK_PATH
from sale_sofia.app.formatting import euro
from sale_sofia.app.guard import (
    ENTRANCE_HEADERS,
    FIELD,
    HEALTH,
    UNSENT,
    Tries,
    bare_page,
    client_at,
    read_small_form,
    requested_address,
)
from sale_sofia.app.visit import AppState
from sale_sofia.buyer.agenda import calendar_bytes, viewing_events
from sale_sofia.buyer.evaluations import current_property
from sale_sofia.buyer.people import (
    Person,
    all_people,
    enter_by_link,
    enter_by_password,
    is_new_session,
    keep_session,
    link_of,
    person_of,
)
from sale_sofia.buyer.settings import (
    CALENDAR_PATH,
    SESSION_SECONDS,
    SHARED_PATH,
    SIGN_IN_LINK_SECONDS,
    SIGN_IN_PATH,
)
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.installation import open_database
from sale_sofia.listings.text import plain
from sale_sofia.settings.words import Said

SESSION: Final = "sale_sofia_session"
DOOR: Final = "sale_sofia_door"
"""Opens nothing by itself: it identifies a browser that has used a link."""
FIRST: Final = ""
"""Stands for the link of the first person, who signs in without one."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{20,100}")
_SHARED: Final = re.compile(rf"{SHARED_PATH}{_TOKEN.pattern}")


class _Caller(NamedTuple):
    there_are_people: bool
    person: Person | None = None


class Entrance:
    """Signs each person in as themselves; without people, `otherwise` guards the pages.

    The session cookie is also sent when a link in a message leads here; everything that changes data is a
    form, and forms of other sites are refused earlier (`OwnPages`).
    """

    def __init__(
        self,
        app: ASGIApp,
        state: AppState,
        otherwise: Callable[[ASGIApp], ASGIApp],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._state = state
        self._otherwise = otherwise(app)
        self._tries = Tries(steady)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or ask for a sign-in."""
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await self._otherwise(scope, receive, send)
            return
        if _SHARED.fullmatch(scope["path"]) and open_database(self._state.settings).exists():
            # For people outside the household: the page needs no sign-in, and shows one flat or nothing.
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith(CALENDAR_PATH):
            calendar = await run_in_threadpool(self._calendar, Request(scope, receive))
            await calendar(scope, receive, send)
            return
        caller = await run_in_threadpool(self._find_caller, HTTPConnection(scope).cookies.get(SESSION, ""))
        if scope["path"].startswith(LINK_PATH):
            answer = await self._by_message(Request(scope, receive), caller.person)
            await answer(scope, receive, send)
        elif not caller.there_are_people:
            await self._otherwise(scope, receive, send)
        elif caller.person is not None and not scope["path"].startswith(SIGN_IN_PATH):
            scope.setdefault("state", {})["person"] = caller.person
            await self._app(scope, receive, send)
        else:
            answer = await self._answer(Request(scope, receive))
            await answer(scope, receive, send)

    def _find_caller(self, token: str) -> _Caller:
        if not open_database(self._state.settings).exists():
            return _Caller(there_are_people=False)
        now, database = time.time(), self._state.database
        if _TOKEN.fullmatch(token):
            session = database.run_read(partial(person_of, token=token, now=now))
            if session is not None:
                person, due = session
                if due:
                    database.run_write(partial(keep_session, token=token, now=now))
                return _Caller(there_are_people=True, person=person)
        return _Caller(there_are_people=bool(database.run_read(all_people)))

    def _calendar(self, request: Request) -> Response:
        """A person's viewings for a calendar, which cannot sign in; the address opens nothing else."""
        token = request.url.path.removeprefix(CALENDAR_PATH).removesuffix(".ics")
        is_valid, now = request.method in {"GET", "HEAD"} and _TOKEN.fullmatch(token), time.time()
        if not is_valid or not open_database(self._state.settings).exists():
            return PlainTextResponse("", 404, ENTRANCE_HEADERS)
        database = self._state.database
        session = database.run_read(partial(person_of, token=token, now=now, kind="calendar"))
        if session is None:
            return PlainTextResponse("", 404, ENTRANCE_HEADERS)
        if session[1]:
            database.run_write(partial(keep_session, token=token, now=now))
        body = calendar_bytes(database.run_read(viewing_events))
        return Response(body, media_type="text/calendar", headers=ENTRANCE_HEADERS)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith(SIGN_IN_PATH):
            return await self._by_link(request, path.removeprefix(SIGN_IN_PATH))
        if response := await self._repeat_session(request, FIRST):
            return response
        form = await read_small_form(request)
        if form.keys() != {"name", "password"}:
            return _sign_in_page(request, 401, UNSENT if request.method == "POST" else None)
        client = client_at(request.client.host if request.client else "")
        if wait := self._tries.wait_of(client):
            return _sign_in_page(request, 429, "gate.wait", str(wait))
        # Noted before it is checked: of many tries at once only the first is checked.
        self._tries.note_wrong(client)
        enter = partial(
            enter_by_password,
            name=form["name"],
            password=form["password"],
            device=request.headers.get("user-agent", ""),
            now=time.time(),
        )
        token = await run_in_threadpool(self._state.database.run_write, enter)
        if token is None:
            return _sign_in_page(request, 401, "gate.wrong_name")
        self._tries.take_back(client)
        return admit(request, token, requested_address(request))

    async def _by_link(self, request: Request, token: str) -> Response:
        """Sign in by a link; GET changes nothing, as chat programs open links before people do."""
        now, database = time.time(), self._state.database
        person = None
        if _TOKEN.fullmatch(token):
            person = await run_in_threadpool(database.run_read, partial(link_of, token=token, now=now))
        if person is None:
            return await self._repeat_session(request, token) or _link_over_page(request)
        if request.method != "POST":
            name = escape(person.name).replace("{", "&#123;")
            button = "<form method='post'><button>{gate.enter}</button></form>"
            return with_door_secret(request, bare_page(request, f"<h2>{name}</h2>{button}", 200))
        device, door = request.headers.get("user-agent", ""), door_of(request)

        def enter(connection: Connection) -> str | None:
            chosen = session_at(link_key(connection), door, token) if door else None
            return enter_by_link(connection, token, device, now=now, session=chosen)

        session = await run_in_threadpool(database.run_write, enter)
        if session is None:  # somebody else was first, or this browser a moment ago
            return await self._repeat_session(request, token) or _link_over_page(request)
        return admit(request, session, "/")

    async def _repeat_session(self, request: Request, link: str) -> Response | None:
        """The session of a browser that used this link a moment ago and may not have got the response."""
        if not (door := door_of(request)):
            return None
        now = time.time()

        def find(connection: Connection) -> str | None:
            if (key := read_key(connection)) is None:
                return None
            session = session_at(key, door, link)
            return session if is_new_session(connection, session, now=now) else None

        session = await run_in_threadpool(self._state.database.run_read, find)
        if session is None:
            return None
        to = "/" if link else requested_address(request) if request.method == "GET" else "/people"
        return admit(request, session, to)

    async def _by_message(self, request: Request, person: Person | None) -> Response:
        """The action of a link in a message: GET shows it, POST performs it."""
        database, token = self._state.database, request.url.path.removeprefix(LINK_PATH)
        now = time.time()
        try:
            if request.method == "POST":
                link = await run_in_threadpool(
                    database.run_write, partial(act, token=token, asks=person, now=now)
                )
                way = f"<p><a href='/flat/{link.property_id}'>{{link.open}}</a></p>"
                return bare_page(request, f"<p>{{link.{link.action}.done}}</p>{way}", 200)
            show = partial(_describe_link, token=token, person=person, now=now)
            action, words = await run_in_threadpool(database.run_read, show)
        except LinkRefused as error:
            return bare_page(request, "", 410, Said.of(error).code)
        button = f"<form method='post'><button>{{link.{action}}}</button></form>"
        return bare_page(request, f"<h2>{words}</h2>{button}", 200)


def _describe_link(connection: Connection, token: str, person: Person | None, now: float) -> tuple[str, str]:
    """The action of the link, and its flat as escaped text."""
    link, _ = look_at(connection, token, person, now=now)
    try:
        flats = read_flats(connection, [current_property(connection, link.property_id)])
    except UnknownProperty:
        raise LinkRefused(Said("link.over")) from None
    named = (f"{plain(flat.title or f'№ {flat.property_id}')} · {euro(flat.price_eur)}" for flat in flats)
    return link.action, escape(next(named, f"№ {link.property_id}")).replace("{", "&#123;")


def _sign_in_page(request: Request, status: int, wrong: str | None = None, wait: str = "") -> Response:
    """The form for name and password; people without one need a link."""
    form = (
        "<form method='post'><label for='name'>{gate.name}</label>"
        "<input id='name' name='name' autocomplete='username' required autofocus>"
        f"<label for='password'>{{gate.password}}</label>{FIELD}<button>{{gate.enter}}</button></form>"
        "<p>{gate.new_link}</p>"
    )
    return bare_page(request, form, status, wrong, {"retry-after": wait} if wait else None)


def _link_over_page(request: Request) -> Response:
    return bare_page(request, "<p>{gate.new_link}</p>", 410, "gate.link_over")


def door_of(request: Request) -> str:
    """The secret that this browser got before signing in; empty: none."""
    secret = request.cookies.get(DOOR, "")
    return secret if _TOKEN.fullmatch(secret) else ""


def session_at(key: str, door: str, link: str) -> str:
    """The token of the session that this link makes for the browser with this secret.

    A reader of the database knows the key but neither secret nor link; whoever has the link lacks the secret.
    """
    return hmac.new(bytes.fromhex(key), f"{SESSION}|{door}|{link}".encode(), sha256).hexdigest()


def with_door_secret(request: Request, answer: Response) -> Response:
    """The response, with a secret for a browser that has none yet."""
    if not door_of(request):
        keep_cookie(request, answer, DOOR, token_urlsafe(32), SIGN_IN_LINK_SECONDS)
    return answer


def keep_cookie(request: Request, answer: Response, name: str, value: str, seconds: float) -> None:
    """Set a cookie that scripts cannot read; it is also sent when a link of another site leads here."""
    secure = request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=int(seconds), httponly=True, samesite="lax", secure=secure)


def admit(request: Request, token: str, to: str) -> Response:
    """A redirect that sets the session of this token."""
    answer = RedirectResponse(to, status_code=303, headers=ENTRANCE_HEADERS)
    keep_cookie(request, answer, SESSION, token, SESSION_SECONDS)
    answer.delete_cookie(DOOR, httponly=True, samesite="lax")  # needed only until the session arrives
    return answer
