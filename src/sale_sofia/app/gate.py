"""Who may look: a server that has a password shows nothing, not even its scripts, before it was given."""

import hmac
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import escape
from secrets import token_bytes, token_hex
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sale_sofia.app.tries import Sender, Tries, stranger
from sale_sofia.app.words import NAMES, PARAMETER, Language, dictionary
from sale_sofia.config.dashboard_server import (
    DASHBOARD_KNOWN_SECONDS,
    DASHBOARD_LOGIN_MOST_BYTES,
    DASHBOARD_LOGIN_SECONDS,
)

COOKIE: Final = "sale_sofia_login"
KNOWN: Final = "sale_sofia_known"
"""Opens nothing: by it a browser that once gave the password is told from the strangers who guess it."""
HEALTH: Final = "/_stcore/health"
"""Says that the server answers, and nothing else."""
_NOT_ADMITTED: Final = 4401
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;color:#1c2430;background:#fff;max-width:22rem;"
    "margin:15vh auto;padding:0 1rem}input,button{font:inherit;width:100%;box-sizing:border-box;"
    "padding:.6rem;margin:.3rem 0;border:1px solid #5b6670;border-radius:.4rem}"
    "button{background:#1d5fb4;border-color:#1d5fb4;color:#fff}p{color:#a3181f}"
)
_HEADERS: Final = {
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
        given, sender = await _given(request), self._sender(request)
        # Nothing is waited for from here on: of many tries at once only the first is looked at.
        if wait := self._tries.wait_of(sender):
            return _form(request, 429, "gate.wait", {"retry-after": str(wait)})
        if not hmac.compare_digest(given, self._password):
            self._tries.note_wrong(sender)
            return _form(request, 401, "gate.wrong")
        self._tries.forget(sender)
        return self._admit(request)

    def _sender(self, request: Request) -> Sender:
        known = self._said(request, KNOWN)
        return Sender(known, known=True) if known else stranger(request.client.host if request.client else "")

    def _admit(self, request: Request) -> Response:
        """Back to the address that was asked for, with a login."""
        answer = RedirectResponse(_own_address(request), status_code=303, headers=_HEADERS)
        until = int(self._clock() + DASHBOARD_LOGIN_SECONDS)
        secure = request.url.scheme == "https"
        for name, said, age in (
            (COOKIE, f"{until}.{token_hex(16)}", None),
            (KNOWN, token_hex(16), int(DASHBOARD_KNOWN_SECONDS)),
        ):
            signed = f"{said}.{self._signature(name, said)}"
            answer.set_cookie(name, signed, max_age=age, httponly=True, samesite="strict", secure=secure)
        return answer

    def _signature(self, cookie: str, said: str) -> str:
        return hmac.new(self._key, f"{cookie}={said}".encode(), sha256).hexdigest()

    def _said(self, request: HTTPConnection, cookie: str) -> str:
        """What our cookie of this name says; nothing where another has written it."""
        said, _, signature = request.cookies.get(cookie, "").rpartition(".")
        ours = hmac.compare_digest(signature.encode(), self._signature(cookie, said).encode())
        return said if ours else ""

    def _is_admitted(self, scope: Scope) -> bool:
        said = self._said(HTTPConnection(scope), COOKIE)
        return bool(said) and self._clock() < int(said.partition(".")[0])


async def _given(request: Request) -> bytes:
    """The password of the form; nothing when the form is larger than any password."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > DASHBOARD_LOGIN_MOST_BYTES:
            return b""
    return parse_qs(body.decode("utf-8", "replace")).get("password", [""])[0].encode()


def _own_address(request: Request) -> str:
    """The path and the parameters, never another host's: `//host` is written as `/host`."""
    query = f"?{request.url.query}" if request.url.query else ""
    return "/" + request.url.path.lstrip("/\\") + query


def _form(
    request: Request, status: int, wrong: str | None = None, more: Mapping[str, str] | None = None
) -> Response:
    """The question for the password, in the language of the address."""
    language: Language = "en" if request.query_params.get(PARAMETER) == NAMES["en"] else "bg"

    def say(key: str) -> str:
        return escape(dictionary()[key][language])

    told = f"<p role='alert'>{say(wrong)}</p>" if wrong else ""
    page = (
        f"<!doctype html><html lang='{language}'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'><title>{say('app.title')}</title>"
        f"<style>{_STYLE}</style></head><body><main><h1>{say('app.title')}</h1>{told}"
        f"<form method='post'><label for='password'>{say('gate.password')}</label>"
        "<input id='password' name='password' type='password' autocomplete='current-password' "
        "required autofocus>"
        f"<button>{say('gate.enter')}</button></form></main></body></html>"
    )
    return HTMLResponse(page, status, {**_HEADERS, **(more or {})})
