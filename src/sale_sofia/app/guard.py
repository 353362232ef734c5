"""Access to the pages: by this machine's own names, or with the password; never from other sites."""

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
from sale_sofia.websites.addresses import is_on_this_machine

# Without a password the dashboard answers only to this machine's own names. A page on the web can have its
# name resolve to 127.0.0.1 once a browser has opened it (DNS rebinding); its requests then look like those
# of the dashboard's own pages. Only the host name gives them away.

_WRONG_HOST_CODE: Final = 4421
_WRONG_HOST: Final = "This dashboard is for its own machine: ask for localhost, or set DASHBOARD_PASSWORD.\n"


class OwnHosts:
    """Passes on requests to this machine's own names, and refuses all others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan" or is_own(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(_WRONG_HOST_CODE)(scope, receive, send)
        else:
            await PlainTextResponse(_WRONG_HOST, 421)(scope, receive, send)


def is_own(host: str) -> bool:
    """Whether a `Host` header names this machine: `localhost`, or an address of the loopback."""
    return is_on_this_machine(f"//{host}")


# Pages of other sites may not act here. A browser sends the origin of a form, a script's request or a
# socket. Another port of the same machine is another site too, though cookies are sent from there.

_WRONG_ORIGIN_CODE: Final = 4403
_REFUSAL: Final = "A page of another address asked for this; the dashboard answers to its own pages only.\n"
_UNFRAMED: Final = {"x-frame-options": "SAMEORIGIN", "content-security-policy": "frame-ancestors 'self'"}
"""No other site may frame our pages and have the buyer press what he does not see."""


class OwnPages:
    """Refuses requests of other origins, and forbids framing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan" or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, with_headers(send, _UNFRAMED))
        elif scope["type"] == "websocket":
            await WebSocketClose(_WRONG_ORIGIN_CODE)(scope, receive, send)
        else:
            await PlainTextResponse(_REFUSAL, 403)(scope, receive, send)


def with_headers(send: Send, defaults: Mapping[str, str]) -> Send:
    """Sends a response with these headers, unless it has its own of these names."""

    async def send_message(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in defaults.items():
                headers.setdefault(name, value)
        await send(message)

    return send_message


def _is_own(headers: Headers) -> bool:
    """Whether the origin is the requested host; requests that are not from a browser's page have none."""
    try:
        return all(urlsplit(origin).netloc == headers.get("host") for origin in headers.getlist("origin"))
    except ValueError:
        return False


# Wrong passwords are slowed down: each makes its client wait longer, and all others a little.

_NETWORK_BITS: Final = 64
"""Bits of an IPv6 address that identify a household; it can change the rest at will."""


class LoginClient(NamedTuple):
    """Whoever sends a password."""

    name: str
    trusted: bool = False
    """A browser that has signed in before: tries of others do not delay it."""


_ALL_STRANGERS: Final = LoginClient("*")


class _Wrong(NamedTuple):
    tries: int
    at: float


class Tries:
    """Wrong tries of each client and of all untrusted ones together; of too many the oldest are dropped.

    The common wait slows down an attacker with many addresses; it is short, so that nobody can keep the
    owner out for long.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[LoginClient, _Wrong] = OrderedDict()

    def wait_of(self, client: LoginClient) -> int:
        """Whole seconds until this client may try again; 0: now."""
        own = self._wait(client, DASHBOARD_TRY_MOST_SECONDS)
        return own if client.trusted else max(own, self._wait(_ALL_STRANGERS, DASHBOARD_TRY_TOGETHER_SECONDS))

    def _wait(self, client: LoginClient, most: float) -> int:
        entry = self._wrong.get(client)
        if entry is None:
            return 0
        pause = min(most, DASHBOARD_TRY_SECONDS * 2.0 ** min(entry.tries - 1, 32))
        return max(0, math.ceil(entry.at + pause - self._clock()))

    def note_wrong(self, client: LoginClient) -> None:
        """Record a wrong password of this client."""
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
        """Drop the wrong tries of this client, which has sent the right password."""
        self._wrong.pop(client, None)

    def take_back(self, client: LoginClient) -> None:
        """As `forget`, where the right password was noted as a wrong one before it was checked."""
        self.forget(client)
        together = self._wrong.pop(_ALL_STRANGERS, None)
        if together is not None and together.tries > 1:
            self._wrong[_ALL_STRANGERS] = together._replace(tries=together.tries - 1)


def client_at(host: str) -> LoginClient:
    """The client of an address, an IPv6 one by its network; all without an address are the same."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return LoginClient("")
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or ipaddress.ip_network((address, _NETWORK_BITS), strict=False)[0]
    return LoginClient(str(address))


# With a password, nothing is served before it was given, not even scripts.

COOKIE: Final = "sale_sofia_login"
LANGUAGE: Final = "sale_sofia_language"
TRUSTED: Final = "sale_sofia_known"
"""Opens nothing: it marks a browser that has signed in before, whom guesses of others do not delay."""
HEALTH: Final = "/healthz"
"""Answers that the server runs, and nothing else."""
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
    """Passes on requests with a login made since the server started; asks all others for the password.

    A login is a signed expiry time in a cookie that scripts cannot read and the browser drops when it is
    closed. The key is new at every start and derived from the password, which is stored nowhere.
    Waits are measured by a monotonic clock.
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
        """Pass the request on, or ask for the password."""
        if scope["type"] == "lifespan" or scope["path"] == HEALTH or self._is_admitted(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(_NOT_ADMITTED)(scope, receive, send)
        else:
            answer = await self._answer(Request(scope, receive))
            await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        form = await read_small_form(request)
        if form.keys() != {"password"}:
            return _form(request, 401, UNSENT if request.method == "POST" else None)
        password = form["password"].encode()
        host, browser = request.client.host if request.client else "", self._signed_value(request, TRUSTED)
        client = LoginClient(browser, trusted=True) if browser else client_at(host)
        # No await from here on: of many tries at once only the first is checked.
        if wait := self._tries.wait_of(client):
            return _form(request, 429, "gate.wait", {"retry-after": str(wait)})
        if not hmac.compare_digest(password, self._password):
            self._tries.note_wrong(client)
            return _form(request, 401, "gate.wrong")
        self._tries.forget(client)
        # Back to the requested address, with a login.
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
        """The value of our cookie; empty where its signature is not ours."""
        value, _, signature = request.cookies.get(cookie, "").rpartition(".")
        ours = hmac.compare_digest(signature.encode(), self._signature(cookie, value).encode())
        return value if ours else ""

    def _is_admitted(self, scope: Scope) -> bool:
        value = self._signed_value(HTTPConnection(scope), COOKIE)
        return bool(value) and self._clock() < int(value.partition(".")[0])


UNSENT: Final = "gate.unsent"
"""Why a form of another page was not taken: nobody is signed in. It is no try of a password."""


async def read_small_form(request: Request) -> Mapping[str, str]:
    """The fields of a form; empty when it is larger than any name and password."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > DASHBOARD_LOGIN_MOST_BYTES:
            return {}
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def requested_address(request: Request) -> str:
    """The requested path and query, never of another host: `//host` becomes `/host`."""
    query = f"?{request.url.query}" if request.url.query else ""
    return "/" + request.url.path.lstrip("/\\") + query


def _form(
    request: Request, status: int, wrong: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The form for the password."""
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
    """A page before sign-in, in the language of the address or else of the browser's last pages.

    It needs no file behind the sign-in.

    In `inside` a key in braces is replaced by its text; the rest of it must be escaped already.
    """
    chosen = request.query_params.get("lang") or request.cookies.get(LANGUAGE)
    language: Language = "en" if chosen in {"en", "English"} else "bg"

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
