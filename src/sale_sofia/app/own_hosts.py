"""By which names the dashboard may be asked for where it has no password: this machine's own.

A page on the web can have its name lead to 127.0.0.1 once a browser has opened it; what that page then asks
for looks as if the dashboard's own page asked for it. Only the name gives it away.
"""

import ipaddress
from base64 import b64encode
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sale_sofia.app import formatting
from sale_sofia.flats.flat import Flat

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


# The photos of a flat that a browser may fetch.

_HOUSE: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">
<rect width="400" height="300" fill="#dfe7ee"/>
<path d="M60 230V130L140 80l80 50v100z" fill="#9fb6cc"/><path d="M220 230V100h120v130z" fill="#7f9ab5"/>
<path d="M0 230h400v70H0z" fill="#b7c9a8"/></svg>"""
DRAWING: Final = f"data:image/svg+xml;base64,{b64encode(_HOUSE.encode()).decode()}"


def shown_photos(flat: Flat) -> list[str]:
    """Addresses a browser may be sent to; of a flat that a simulator made up a drawing for each photo.

    Its photos have addresses as the real portal would give them and nothing behind: nobody is asked for them.
    """
    if any(_is_simulated(advert.url) for advert in flat.adverts):
        return [DRAWING for _ in flat.photo_urls]
    return [good for url in flat.photo_urls if (good := formatting.address(url))]


def _is_simulated(url: str) -> bool:
    good = formatting.address(url)
    return good is not None and is_own(urlsplit(good).netloc)
