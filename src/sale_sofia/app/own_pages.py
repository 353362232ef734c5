"""What pages of others may have a browser do here: nothing.

A browser says of which page a form, a request of a script or a socket is. A page of another port of the same
machine is a stranger too, though cookies are sent from there.
"""

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_ANOTHERS_PAGE: Final = 4403
_SENTENCE: Final = "A page of another address asked for this; the dashboard answers to its own pages only.\n"
_UNFRAMED: Final = {"x-frame-options": "SAMEORIGIN", "content-security-policy": "frame-ancestors 'self'"}
"""No page of others may show ours inside it and have the buyer press what he does not see."""


class OwnPages:
    """Refuses what a page of another address asks for, and lets none show ours inside it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on, or refuse it."""

        async def unframed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _UNFRAMED.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "lifespan" or _is_own(Headers(scope=scope)):
            await self._app(scope, receive, unframed)
        elif scope["type"] == "websocket":
            await WebSocketClose(_ANOTHERS_PAGE)(scope, receive, send)
        else:
            await PlainTextResponse(_SENTENCE, 403)(scope, receive, send)


def _is_own(headers: Headers) -> bool:
    """Whether the page that asks is of the host that is asked; what is no page of a browser does not say."""
    try:
        return all(urlsplit(one).netloc == headers.get("host") for one in headers.getlist("origin"))
    except ValueError:
        return False
