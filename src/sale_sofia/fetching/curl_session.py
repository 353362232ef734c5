"""curl_cffi's session with what one request needs beyond its arguments: a size limit and a pinned address."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from curl_cffi import AsyncSession, Curl, CurlHttpVersion, CurlOpt
from curl_cffi.requests import Response as CurlResponse

LANGUAGES: Final = "bg-BG,bg;q=0.9,en;q=0.5"

OPTIONS: Final[Mapping[CurlOpt, Any]] = {
    # curl itself reads http_proxy and its kin, whatever `trust_env` says, unless told of no proxy.
    CurlOpt.PROXY: "",
    CurlOpt.NOPROXY: "*",
    # No browser offers HTTP/2 without TLS; the profile would.
    CurlOpt.HTTP_VERSION: CurlHttpVersion.V2TLS,
}


@dataclass(frozen=True, slots=True)
class Hop:
    """What one request may do."""

    max_bytes: int
    pin: str | None


# The session takes no options for a single request; it does fetch its handle in the request's own task.
current_hop: Final[ContextVar[Hop]] = ContextVar("current_hop")


class HopSession(AsyncSession[CurlResponse]):
    """A session whose every request obeys `current_hop`, and which never makes a request wait for a handle.

    How many requests run at once is decided before they come here.
    """

    def __init__(self, profile: str) -> None:
        super().__init__(
            impersonate=profile,
            headers={"Accept-Language": LANGUAGES},
            verify=True,
            allow_redirects=False,
            trust_env=False,
            curl_options=dict(OPTIONS),
        )

    def init_pool(self) -> None:
        """Start without handles; they are made when asked for."""
        self.pool = asyncio.LifoQueue()

    async def pop_curl(self) -> Curl:
        """A handle that refuses bodies above the limit and connects where the name was found to lead."""
        if self.pool.empty():
            self.pool.put_nowait(None)
        curl = await super().pop_curl()
        hop = current_hop.get()
        curl.setopt(CurlOpt.MAXFILESIZE_LARGE, hop.max_bytes)
        if hop.pin:
            curl.setopt(CurlOpt.RESOLVE, [hop.pin])
        return curl
