"""curl handles that are set up once and used for many pages: curl_cffi's own session sets up each anew."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from curl_cffi import AsyncCurl, Curl, CurlHttpVersion, CurlInfo, CurlOpt
from curl_cffi.requests.impersonate import resolve_latest_browser_type

from sale_sofia.config.fetching import READ_BYTES
from sale_sofia.fetching.base import Route
from sale_sofia.fetching.body import Body
from sale_sofia.fetching.cookies import CookieJar
from sale_sofia.fetching.sent_once import SentOnce
from sale_sofia.resilience.errors import ServiceProxy
from sale_sofia.resilience.turn import Turn

MILLISECONDS: Final = 1000
LANGUAGES: Final = "bg-BG,bg;q=0.9,en;q=0.5"
_LEADS_ON: Final = re.compile(rb"HTTP/1\.[01] 2[0-9][0-9]")
OPTIONS: Final[Mapping[CurlOpt, Any]] = {
    CurlOpt.FOLLOWLOCATION: 0,
    CurlOpt.BUFFERSIZE: READ_BYTES,
    CurlOpt.COOKIEFILE: "",  # switches cookies on
    # curl reads http_proxy and its kin unless told of no proxy.
    CurlOpt.PROXY: "",
    CurlOpt.NOPROXY: "*",
    # No browser offers HTTP/2 without TLS; the profile would.
    CurlOpt.HTTP_VERSION: CurlHttpVersion.V2TLS,
}


@dataclass(frozen=True, slots=True)
class Setup:
    """What a handle is made for; it serves all requests that need the same."""

    profile: str
    pin: str | None
    """Where the host's name was found to lead; curl connects there alone."""
    max_bytes: int
    headers: tuple[tuple[str, str], ...] = ()
    route: Route | None = None
    """The proxy to go through; None: directly."""
    ca_file: str = ""
    """Whom to trust instead of those everybody does."""
    fresh: bool = False
    """On a connection of its own: after a redirect the old one may just be closing."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one request may take to connect, and altogether."""

    connect_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer as curl gave it; bytes of headers beyond ASCII are read as Latin-1, so none is lost."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Handle:
    """One curl handle. After an error it must be closed, not used again."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._body = Body("", 0)
        self._headers: list[bytes] = []
        self._patience: Patience | None = None
        self._cookies_given: Mapping[tuple[bytes, ...], bytes] = {}
        self.curl = _curl(setup)
        self.curl.setopt(CurlOpt.WRITEFUNCTION, self._write)
        self.curl.setopt(CurlOpt.HEADERFUNCTION, self._take_header)
        self._sending = SentOnce(self.curl)

    async def get(
        self, url: str, patience: Patience, turn: Turn, multi: AsyncCurl, cookies: CookieJar
    ) -> Answer:
        """Ask once, in this turn; redirects are not followed.

        Raises a `CurlError`, or what the body's limit or a proxy's refusal raises.
        """
        self._body = Body(url, self.setup.max_bytes)
        self._headers = []
        self._sending.begin(turn)
        self._give_cookies(cookies)
        self._set_patience(patience)
        self.curl.setopt(CurlOpt.URL, url.encode())
        await multi.add_handle(self.curl)
        headers = _read_headers(self._headers)
        if "set-cookie" in headers:
            self._take_cookies(cookies)
        return Answer(cast("int", self.curl.getinfo(CurlInfo.RESPONSE_CODE)), headers, self._body.whole())

    def _set_patience(self, patience: Patience) -> None:
        if patience != self._patience:
            self._patience = patience
            self.curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, int(patience.connect_seconds * MILLISECONDS))
            self.curl.setopt(CurlOpt.TIMEOUT_MS, int(patience.seconds * MILLISECONDS))

    def _write(self, chunk: bytes) -> int:
        return self._body.write(chunk)

    def _take_header(self, line: bytes) -> int:
        if not self._sending.turn.used:
            self._hear_proxy(line)
        elif line.startswith(b"HTTP/"):
            self._headers = []  # an interim answer (103) came before
        else:
            self._headers.append(line)
        return len(line)

    def _hear_proxy(self, line: bytes) -> None:
        """What comes before anything was asked is the proxy's, and no part of the answer.

        Raises `ServiceProxy` where it does not lead on: curl would read what comes with a 407 to its end,
        however far that is, and nobody else's request would go on meanwhile.
        """
        if line.startswith(b"HTTP/") and not _LEADS_ON.match(line):
            raise ServiceProxy(f"{self._body.url}: HTTP {line[9:12].decode('latin-1')} to CONNECT")

    def _give_cookies(self, cookies: CookieJar) -> None:
        if self._cookies_given is cookies.lines:
            return
        self.curl.setopt(CurlOpt.COOKIELIST, "ALL")
        for line in cookies.lines.values():
            self.curl.setopt(CurlOpt.COOKIELIST, line)
        self._cookies_given = cookies.lines

    def _take_cookies(self, cookies: CookieJar) -> None:
        lines = cast("list[bytes]", self.curl.getinfo(CurlInfo.COOKIELIST))
        cookies.take(self._cookies_given, lines)


def _curl(setup: Setup) -> Curl:
    curl = Curl()
    lines = [f"{name}: {value}".encode() for name, value in (("Accept-Language", LANGUAGES), *setup.headers)]
    curl.setopt(CurlOpt.HTTPHEADER, lines)
    curl.setopt(CurlOpt.ACCEPT_ENCODING, "")  # unpack all that curl can; the profile says which it names
    profile = (setup.route and setup.route.profile) or setup.profile
    if curl.impersonate(resolve_latest_browser_type(profile)):  # type: ignore[no-untyped-call]
        raise ValueError(f"FETCH_PROFILE: curl cannot speak like {profile!r}; try chrome or firefox")
    for option, value in OPTIONS.items():
        curl.setopt(option, value)
    curl.setopt(CurlOpt.MAXFILESIZE_LARGE, setup.max_bytes)
    curl.setopt(CurlOpt.FRESH_CONNECT, int(setup.fresh))
    if setup.pin:
        curl.setopt(CurlOpt.RESOLVE, [setup.pin])
    if setup.route:
        _lead_through(curl, setup.route)
    if setup.ca_file:
        curl.setopt(CurlOpt.CAINFO, setup.ca_file)
        curl.setopt(CurlOpt.PROXY_CAINFO, setup.ca_file)
    return curl


def _lead_through(curl: Curl, route: Route) -> None:
    """Everything goes through the proxy's tunnel, which looks names up; curl never goes round it."""
    curl.setopt(CurlOpt.NOPROXY, "")
    curl.setopt(CurlOpt.PROXY, route.proxy.replace("socks5://", "socks5h://", 1))
    curl.setopt(CurlOpt.HTTPPROXYTUNNEL, 1)
    # A ticket from one connection would tell the portal, through another proxy, that it is the same visitor.
    curl.setopt(CurlOpt.SSL_SESSIONID_CACHE, 0)
    if route.user:
        # Apart from the address, which curl repeats in its messages.
        curl.setopt(CurlOpt.PROXYUSERNAME, route.user)
        curl.setopt(CurlOpt.PROXYPASSWORD, route.password)


def _read_headers(lines: list[bytes]) -> Mapping[str, str]:
    """Names in lower case; values of a repeated name are joined, as HTTP says they may be."""
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        key, text = name.strip().lower(), value.strip()
        if key:
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers
