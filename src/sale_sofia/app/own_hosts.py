"""By which names the dashboard may be asked for where it has no password: this machine's own.

A page on the web can have its name lead to 127.0.0.1 once a browser has opened it; what that page then asks
for looks as if the dashboard's own page asked for it. Only the name gives it away.
"""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_LOCALHOST: Final = "localhost"
_ANOTHERS_NAME: Final = 4421
_SENTENCE: Final = "This dashboard is for its own machine: ask for localhost, or set DASHBOARD_PASSWORD.\n"


class OwnHosts:
    """Lets through whoever asked this machine by its own name; everybody else gets nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""
        if scope["type"] == "lifespan" or is_own(Headers(scope=scope).get("host", "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(_ANOTHERS_NAME)(scope, receive, send)
        else:
            await PlainTextResponse(_SENTENCE, 421)(scope, receive, send)


def is_own(host: str) -> bool:
    """Whether a `Host` header names this machine: `localhost`, or an address of the loopback."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == _LOCALHOST or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
