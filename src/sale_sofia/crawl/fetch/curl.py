"""curl handles that are set up once and reused; curl_cffi's own session sets one up for every page."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from curl_cffi import AsyncCurl, Curl, CurlError, CurlHttpVersion, CurlInfo, CurlOpt, ffi, lib
from curl_cffi.const import CurlECode
from curl_cffi.requests.impersonate import resolve_latest_browser_type

from sale_sofia.crawl.fetch.base import RequestTimeouts, Response, Route
from sale_sofia.crawl.fetch.settings import MOST_COOKIES, MOST_IDLE_HANDLES, MOST_SESSIONS, READ_BYTES
from sale_sofia.crawl.resilience import errors
from sale_sofia.crawl.resilience.errors import BodyTooLarge, CrawlError, ServiceProxy
from sale_sofia.crawl.resilience.gate import Turn

MEANING: Final[Mapping[int, type[CrawlError]]] = {
    CurlECode.OPERATION_TIMEDOUT: errors.NetworkTimeout,
    CurlECode.FILESIZE_EXCEEDED: BodyTooLarge,
    CurlECode.URL_MALFORMAT: errors.ForeignAddress,
    CurlECode.COULDNT_RESOLVE_HOST: errors.NetworkDns,
    CurlECode.COULDNT_RESOLVE_PROXY: ServiceProxy,
    CurlECode.PROXY: ServiceProxy,
    CurlECode.GOT_NOTHING: errors.NetworkReset,
    CurlECode.SEND_ERROR: errors.NetworkReset,
    CurlECode.RECV_ERROR: errors.NetworkReset,
    CurlECode.ABORTED_BY_CALLBACK: errors.NetworkReset,  # curl wanted to send it again, see `SentOnce`
    CurlECode.PEER_FAILED_VERIFICATION: errors.NetworkTls,
    CurlECode.SSL_CERTPROBLEM: errors.NetworkTls,
    CurlECode.SSL_CACERT_BADFILE: errors.NetworkTls,
    CurlECode.SSL_ISSUER_ERROR: errors.NetworkTls,
    CurlECode.SSL_INVALIDCERTSTATUS: errors.NetworkTls,
    CurlECode.PARTIAL_FILE: errors.NetworkBroken,
    CurlECode.UNSUPPORTED_PROTOCOL: errors.NetworkBroken,
    CurlECode.BAD_CONTENT_ENCODING: errors.NetworkBroken,
    CurlECode.WRITE_ERROR: errors.NetworkBroken,
    CurlECode.WEIRD_SERVER_REPLY: errors.NetworkBroken,
    CurlECode.HTTP2: errors.NetworkBroken,
    CurlECode.HTTP2_STREAM: errors.NetworkBroken,
    CurlECode.HTTP3: errors.NetworkBroken,
    CurlECode.TOO_LARGE: errors.NetworkBroken,
}
"""Our error class for each of curl's error codes."""
THROUGH_PROXY: Final = frozenset({CurlECode.COULDNT_CONNECT, CurlECode.RECV_ERROR, CurlECode.SEND_ERROR})
"""With a proxy these mean that the proxy could not be reached, or refused the tunnel."""


def crawl_error(error: CurlError, url: str, *, through_proxy: bool = False) -> CrawlError:
    """Our error for one of curl's; an unlisted code is a failed connection."""
    sentence = str(error).partition(". See http")[0]
    if through_proxy and error.code in THROUGH_PROXY:
        return ServiceProxy(f"{url}: {sentence}")
    return MEANING.get(int(error.code), errors.NetworkConnection)(f"{url}: {sentence}")


class SentOnce:
    """Aborts a request that curl is about to send without a turn.

    curl would silently repeat a request whose reused connection was reset.
    """

    def __init__(self, curl: Curl) -> None:
        self.turn = Turn()
        """Of the present request."""
        self._name = ffi.new_handle(self)
        # curl_cffi sets only the callbacks that it knows itself.
        lib._curl_easy_setopt(curl._curl, CurlOpt.PREREQFUNCTION, _before_sending)  # noqa: SLF001
        curl.setopt(CurlOpt.PREREQDATA, self._name)


@ffi.callback("int(void *, char *, char *, int, int)", error=1)  # type: ignore[untyped-decorator]
def _before_sending(name: Any, *_: object) -> int:  # noqa: ANN401 - a pointer of curl's
    """Curl's callback between connecting and sending: 0 sends, 1 aborts."""
    request: SentOnce = ffi.from_handle(name)
    return 0 if request.turn.use() else 1


_NAME_FIELDS = (0, 2, 5)  # curl's cookie lines: domain, subdomains, path, secure, expires, name, value


class CookieJar:
    """The portals' cookies, as curl's own lines, shared by all handles: a portal sees one visitor, not many.

    Each handle merges back only what it changed itself.
    """

    def __init__(self) -> None:
        self.lines: Mapping[tuple[bytes, ...], bytes] = {}
        """Every cookie by its domain, path and name; replaced, never changed in place: compare with `is`."""

    def take(self, before: Mapping[tuple[bytes, ...], bytes], after: Iterable[bytes]) -> None:
        """Add what is new or changed since `before`, and drop what the portal deleted."""
        current = {_key(line): line for line in after}
        remaining = {key: line for key, line in self.lines.items() if key in current or key not in before}
        changed = {key: line for key, line in current.items() if before.get(key) != line}
        # Only the newest stay: a portal that sets ever new cookies must not fill our memory.
        self.lines = dict([*remaining.items(), *changed.items()][-MOST_COOKIES:])


def _key(line: bytes) -> tuple[bytes, ...]:
    fields = line.split(b"\t")
    return tuple(fields[number] for number in _NAME_FIELDS if number < len(fields))


class Body:
    """Collects a decompressed body; aborts the transfer at once beyond its limit, also for a gzip bomb."""

    __slots__ = ("_limit", "_parts", "_size", "url")

    def __init__(self, url: str, limit: int) -> None:
        self.url = url
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] = []

    def write(self, chunk: bytes) -> int:
        """Curl's write callback: store one piece."""
        self._size += len(chunk)
        if self._size > self._limit:
            raise BodyTooLarge(f"{self.url}: more than {self._limit} bytes")
        self._parts.append(chunk)
        return len(chunk)

    def whole(self) -> bytes:
        """All pieces together."""
        return b"".join(self._parts)


MILLISECONDS: Final = 1000
LANGUAGES: Final = "bg-BG,bg;q=0.9,en;q=0.5"
_LEADS_ON: Final = re.compile(rb"HTTP/1\.[01] 2[0-9][0-9]")
OPTIONS: Final[Mapping[CurlOpt, Any]] = {
    CurlOpt.FOLLOWLOCATION: 0,
    CurlOpt.BUFFERSIZE: READ_BYTES,
    CurlOpt.COOKIEFILE: "",  # switches cookies on
    # curl reads http_proxy and the like unless it is given an empty proxy.
    CurlOpt.PROXY: "",
    CurlOpt.NOPROXY: "*",
    # No browser offers HTTP/2 without TLS; the profile would.
    CurlOpt.HTTP_VERSION: CurlHttpVersion.V2TLS,
}


@dataclass(frozen=True, slots=True)
class Setup:
    """The options of a handle, which serves all requests with equal options."""

    profile: str
    pin: str | None
    """curl's RESOLVE entry: it connects to these addresses only."""
    max_bytes: int
    headers: tuple[tuple[str, str], ...] = ()
    route: Route | None = None
    """The proxy to go through; None: directly."""
    ca_file: str = ""
    """Certificate authorities to trust instead of the usual ones."""
    fresh: bool = False
    """Whether it needs a new connection: after a redirect the old one may be closing."""


class Handle:
    """One curl handle. After an error it must be closed, not used again."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self._body = Body("", 0)
        self._headers: list[bytes] = []
        self._patience: RequestTimeouts | None = None
        self._cookies_given: Mapping[tuple[bytes, ...], bytes] = {}
        self.curl = _curl(setup)
        self.curl.setopt(CurlOpt.WRITEFUNCTION, self._write)
        self.curl.setopt(CurlOpt.HEADERFUNCTION, self._take_header)
        self._sending = SentOnce(self.curl)

    async def get(
        self, url: str, patience: RequestTimeouts, turn: Turn, multi: AsyncCurl, cookies: CookieJar
    ) -> Response:
        """Send one request, in this turn; redirects are not followed.

        Raises a `CurlError`, or what the body's limit or a proxy's refusal raises.
        """
        self._body = Body(url, self.setup.max_bytes)
        self._headers = []
        self._sending.turn = turn
        if self._cookies_given is not cookies.lines:
            self._cookies_given = cookies.lines
            self.curl.setopt(CurlOpt.COOKIELIST, "ALL")
            for line in cookies.lines.values():
                self.curl.setopt(CurlOpt.COOKIELIST, line)
        if patience != self._patience:
            self._patience = patience
            self.curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, int(patience.connect_seconds * MILLISECONDS))
            self.curl.setopt(CurlOpt.TIMEOUT_MS, int(patience.seconds * MILLISECONDS))
        self.curl.setopt(CurlOpt.URL, url.encode())
        await multi.add_handle(self.curl)
        headers = _read_headers(self._headers)
        if "set-cookie" in headers:
            cookies.take(self._cookies_given, cast("list[bytes]", self.curl.getinfo(CurlInfo.COOKIELIST)))
        status = cast("int", self.curl.getinfo(CurlInfo.RESPONSE_CODE))
        return Response(url, status, headers, self._body.whole(), 0.0)

    def _write(self, chunk: bytes) -> int:
        return self._body.write(chunk)

    def _take_header(self, line: bytes) -> int:
        """Curl's header callback. Lines before the request is sent are the proxy's, not part of the answer.

        Raises `ServiceProxy` if it refuses the tunnel: curl would read the body of a 407 to its end, however
        long, and block all other requests meanwhile.
        """
        begins = line.startswith(b"HTTP/")
        if not self._sending.turn.used:
            if begins and not _LEADS_ON.match(line):
                raise ServiceProxy(f"{self._body.url}: HTTP {line[9:12].decode('latin-1')} to CONNECT")
        elif begins:
            self._headers = []  # an interim answer (103) came before
        else:
            self._headers.append(line)
        return len(line)


def _curl(setup: Setup) -> Curl:
    curl = Curl()
    lines = [f"{name}: {value}".encode() for name, value in (("Accept-Language", LANGUAGES), *setup.headers)]
    curl.setopt(CurlOpt.HTTPHEADER, lines)
    curl.setopt(CurlOpt.ACCEPT_ENCODING, "")  # decode whatever curl can; the profile sets what it announces
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
    """Send everything through the proxy's tunnel, which resolves names; curl never bypasses it."""
    curl.setopt(CurlOpt.NOPROXY, "")
    curl.setopt(CurlOpt.PROXY, route.proxy.replace("socks5://", "socks5h://", 1))
    curl.setopt(CurlOpt.HTTPPROXYTUNNEL, 1)
    # A ticket from one connection would tell the portal, through another proxy, that it is the same visitor.
    curl.setopt(CurlOpt.SSL_SESSIONID_CACHE, 0)
    if route.user:
        # Not in the address, which curl repeats in its messages.
        curl.setopt(CurlOpt.PROXYUSERNAME, route.user)
        curl.setopt(CurlOpt.PROXYPASSWORD, route.password)


def _read_headers(lines: list[bytes]) -> Mapping[str, str]:
    """Names in lower case; values of a repeated name are joined, as HTTP allows.

    Non-ASCII bytes are read as Latin-1, so none is lost.
    """
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        key, text = name.strip().lower(), value.strip()
        if key:
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


class CurlPool:
    """Creates a handle when none is idle, so no request waits for one; the gate limits how many run.

    It belongs to the event loop it was created in.
    """

    def __init__(self) -> None:
        self._multi = AsyncCurl()
        self._cookies: OrderedDict[str, CookieJar] = OrderedDict()
        self._idle: list[Handle] = []
        self.closed = False

    async def get(self, url: str, setup: Setup, patience: RequestTimeouts, turn: Turn) -> Response:
        """Send one request, in this turn. A failed or cancelled handle is closed with its connection."""
        handle = self._take(setup)
        try:
            session = setup.route.session if setup.route else ""
            answer = await handle.get(url, patience, turn, self._multi, self.cookies_of(session))
        except BaseException:
            if not self.closed:
                self._multi.remove_handle(handle.curl)
            handle.curl.close()
            raise
        self._idle.append(handle)
        return answer

    async def close(self) -> None:
        """Close all connections; requests under way end as if they were complete."""
        self.closed = True
        await self._multi.close()  # type: ignore[no-untyped-call]
        for handle in self._idle:
            handle.curl.close()
        self._idle.clear()

    def forget_sessions(self) -> None:
        """Drop all cookies."""
        self._cookies.clear()

    def cookies_of(self, session: str) -> CookieJar:
        """The cookies of a session; requests without a route use the session named ""."""
        jar = self._cookies.setdefault(session, CookieJar())
        self._cookies.move_to_end(session)
        if len(self._cookies) > MOST_SESSIONS:
            self._cookies.popitem(last=False)
        return jar

    def _take(self, setup: Setup) -> Handle:
        for number in range(len(self._idle) - 1, -1, -1):
            if self._idle[number].setup == setup:
                return self._idle.pop(number)
        if len(self._idle) >= MOST_IDLE_HANDLES:
            self._idle.pop(0).curl.close()
        return Handle(setup)
