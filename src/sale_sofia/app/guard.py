"""Who may use the pages: this machine by its own name, or whoever knows the password; no page of others."""

import hmac
import ipaddress
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import escape
from secrets import token_bytes, token_hex
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sale_sofia.operations.settings import (
    DASHBOARD_KNOWN_SECONDS,
    DASHBOARD_LOGIN_MOST_BYTES,
    DASHBOARD_LOGIN_SECONDS,
    DASHBOARD_TRIES_FORGOTTEN_SECONDS,
    DASHBOARD_TRIES_KNOWN,
    DASHBOARD_TRY_MOST_SECONDS,
    DASHBOARD_TRY_SECONDS,
    DASHBOARD_TRY_TOGETHER_SECONDS,
)
from sale_sofia.settings.words import Language, dictionary

# By which names the dashboard may be asked for where it has no password: this machine's own. A page on the
# web can have its name lead to 127.0.0.1 once a browser has opened it; what that page then asks for looks
# as if the dashboard's own page asked for it. Only the name gives it away.

_LOCALHOST: Final = "localhost"
_WRONG_HOST_CODE: Final = 4421
_WRONG_HOST: Final = "This dashboard is for its own machine: ask for localhost, or set DASHBOARD_PASSWORD.\n"


class OwnHosts:
    """Lets through whoever asked this machine by its own name; everybody else gets nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""
        if scope["type"] == "lifespan" or is_own(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(_WRONG_HOST_CODE)(scope, receive, send)
        else:
            await PlainTextResponse(_WRONG_HOST, 421)(scope, receive, send)


def is_own(host: str) -> bool:
    """Whether a `Host` header names this machine: `localhost`, or an address of the loopback."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == _LOCALHOST or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


# What pages of others may have a browser do here: nothing. A browser says of which page a form, a request
# of a script or a socket is. A page of another port of the same machine is a stranger too, though cookies
# are sent from there.

_WRONG_ORIGIN_CODE: Final = 4403
_REFUSAL: Final = "A page of another address asked for this; the dashboard answers to its own pages only.\n"
_UNFRAMED: Final = {"x-frame-options": "SAMEORIGIN", "content-security-policy": "frame-ancestors 'self'"}
"""No page of others may show ours inside it and have the buyer press what he does not see."""


class OwnPages:
    """Refuses what a page of another address asks for, and lets none show ours inside it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""

        async def send_unframed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _UNFRAMED.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "lifespan" or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, send_unframed)
        elif scope["type"] == "websocket":
            await WebSocketClose(_WRONG_ORIGIN_CODE)(scope, receive, send)
        else:
            await PlainTextResponse(_REFUSAL, 403)(scope, receive, send)


def _is_own(headers: Headers) -> bool:
    """Whether the page that asks is of the host that is asked; what is no page of a browser does not say."""
    try:
        return all(urlsplit(origin).netloc == headers.get("host") for origin in headers.getlist("origin"))
    except ValueError:
        return False


# Wrong passwords are slowed down: each makes its sender wait longer, and a little everybody else.

_NETWORK_BITS: Final = 64
"""One household has so many bits of an IPv6 address; the rest it can change at will."""


class LoginClient(NamedTuple):
    """Whoever gives a password."""

    name: str
    trusted: bool = False
    """A browser that has given the right one before: what strangers try does not hold it up."""


_ALL_STRANGERS: Final = LoginClient("*")


class _Wrong(NamedTuple):
    tries: int
    at: float


class Tries:
    """Wrong tries of each sender and of all strangers together; of very many the oldest are forgotten.

    Who has many addresses is slowed down by what all of them tried; that wait is short, so that nobody can
    keep the owner out for long.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[LoginClient, _Wrong] = OrderedDict()

    def wait_of(self, client: LoginClient) -> int:
        """Whole seconds until this sender may try again; 0: now."""
        own = self._wait(client, DASHBOARD_TRY_MOST_SECONDS)
        return own if client.trusted else max(own, self._wait(_ALL_STRANGERS, DASHBOARD_TRY_TOGETHER_SECONDS))

    def _wait(self, client: LoginClient, most: float) -> int:
        entry = self._wrong.get(client)
        if entry is None:
            return 0
        pause = min(most, DASHBOARD_TRY_SECONDS * 2.0 ** min(entry.tries - 1, 32))
        return max(0, math.ceil(entry.at + pause - self._clock()))

    def note_wrong(self, client: LoginClient) -> None:
        """This sender was wrong just now."""
        self._note(client)
        if not client.trusted:
            self._note(_ALL_STRANGERS)

    def _note(self, client: LoginClient) -> None:
        now, before = self._clock(), self._wrong.pop(client, None)
        again = before is not None and now - before.at < DASHBOARD_TRIES_FORGOTTEN_SECONDS
        self._wrong[client] = _Wrong(before.tries + 1 if before and again else 1, now)
        if len(self._wrong) > DASHBOARD_TRIES_KNOWN:
            self._wrong.popitem(last=False)

    def forget(self, client: LoginClient) -> None:
        """This sender knows the password."""
        self._wrong.pop(client, None)


def client_at(host: str) -> LoginClient:
    """The household of an address; all that have none are one."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return LoginClient("")
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or ipaddress.ip_network((address, _NETWORK_BITS), strict=False)[0]
    return LoginClient(str(address))


# Who may look: a server that has a password shows nothing, not even its scripts, before it was given.

COOKIE: Final = "sale_sofia_login"
TRUSTED: Final = "sale_sofia_known"
"""Opens nothing: by it a browser that once gave the password is told from the strangers who guess it."""
HEALTH: Final = "/healthz"
"""Says that the server answers, and nothing else."""
_NOT_ADMITTED: Final = 4401
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1c2430;background:#fff;max-width:22rem;"
    "margin:15vh auto;padding:0 1rem}input,button{font:inherit;width:100%;box-sizing:border-box;"
    "padding:.6rem;margin:.3rem 0;border:1px solid #5b6670;border-radius:.4rem}"
    "button{background:#1d5fb4;border-color:#1d5fb4;color:#fff}p[role]{color:#a3181f}"
)
ENTRANCE_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "referrer-policy": "same-origin",  # with none at all a browser does not say of which page a form is
    "x-content-type-options": "nosniff",
}


class PasswordGate:
    """Lets through whoever has a login of this start of the server; asks all others for the password.

    A login is a signed moment of its end in a cookie that scripts cannot read and that the browser forgets
    when it is closed. The key is made anew at every start and holds the password, which is stored nowhere.
    Waits are measured by a clock that nobody sets.
    """

    def __init__(
        self,
        app: ASGIApp,
        password: str,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._password = password.encode()
        self._key = hmac.digest(token_bytes(32), self._password, "sha256")
        self._clock = clock
        self._tries = Tries(steady)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or answer it."""
        if scope["type"] == "lifespan" or scope["path"] == HEALTH or self._is_admitted(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(_NOT_ADMITTED)(scope, receive, send)
        else:
            answer = await self._answer(Request(scope, receive))
            await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            return _form(request, 401)
        password = (await read_small_form(request)).get("password", "").encode()
        browser = self._signed_value(request, TRUSTED)
        client = (
            LoginClient(browser, trusted=True)
            if browser
            else client_at(request.client.host if request.client else "")
        )
        # Nothing is waited for from here on: of many tries at once only the first is looked at.
        if wait := self._tries.wait_of(client):
            return _form(request, 429, "gate.wait", {"retry-after": str(wait)})
        if not hmac.compare_digest(password, self._password):
            self._tries.note_wrong(client)
            return _form(request, 401, "gate.wrong")
        self._tries.forget(client)
        # Back to the address that was asked for, with a login.
        answer = RedirectResponse(requested_address(request), status_code=303, headers=ENTRANCE_HEADERS)
        until = int(self._clock() + DASHBOARD_LOGIN_SECONDS)
        secure = request.url.scheme == "https"
        for name, value, age in (
            (COOKIE, f"{until}.{token_hex(16)}", None),
            (TRUSTED, token_hex(16), int(DASHBOARD_KNOWN_SECONDS)),
        ):
            signed = f"{value}.{self._signature(name, value)}"
            answer.set_cookie(name, signed, max_age=age, httponly=True, samesite="strict", secure=secure)
        return answer

    def _signature(self, cookie: str, value: str) -> str:
        return hmac.new(self._key, f"{cookie}={value}".encode(), sha256).hexdigest()

    def _signed_value(self, request: HTTPConnection, cookie: str) -> str:
        """What our cookie of this name says; nothing where another has written it."""
        value, _, signature = request.cookies.get(cookie, "").rpartition(".")
        ours = hmac.compare_digest(signature.encode(), self._signature(cookie, value).encode())
        return value if ours else ""

    def _is_admitted(self, scope: Scope) -> bool:
        value = self._signed_value(HTTPConnection(scope), COOKIE)
        return bool(value) and self._clock() < int(value.partition(".")[0])


async def read_small_form(request: Request) -> Mapping[str, str]:
    """The fields of a form; nothing when it is larger than any name and password."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > DASHBOARD_LOGIN_MOST_BYTES:
            return {}
    return dict(parse_qsl(body.decode("utf-8", "replace")))


def requested_address(request: Request) -> str:
    """The path and the parameters, never another host's: `//host` is written as `/host`."""
    query = f"?{request.url.query}" if request.url.query else ""
    return "/" + request.url.path.lstrip("/\\") + query


def _form(
    request: Request, status: int, wrong: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The question for the password, in the language of the address."""
    fields = "<label for='password'>{gate.password}</label>" + FIELD + "<button>{gate.enter}</button>"
    return bare_page(request, f"<form method='post'>{fields}</form>", status, wrong, headers)


FIELD: Final = (  # of a password
    "<input id='password' name='password' type='password' autocomplete='current-password' required>"
)
_KEY: Final = re.compile(r"\{([a-z_.]+)\}")


def bare_page(
    request: Request,
    inside: str,
    status: int,
    wrong: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page for who is not let in yet, in the language of the address: it needs no file that is kept inside.

    In `inside` a key in braces stands for its words; whatever else is in it must be escaped already.
    """
    language: Language = "en" if request.query_params.get("lang") in {"en", "English"} else "bg"

    def say(key: str) -> str:
        return escape(dictionary()[key][language])

    alert = f"<p role='alert'>{say(wrong)}</p>" if wrong else ""
    page = (
        f"<!doctype html><html lang='{language}'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'><title>{say('app.title')}</title>"
        f"<style>{_STYLE}</style></head><body><main><h1>{say('app.title')}</h1>{alert}"
        f"{_KEY.sub(lambda match: say(match[1]), inside)}</main></body></html>"
    )
    return HTMLResponse(page, status, {**ENTRANCE_HEADERS, **(headers or {})})
