"""curl handles that are set up once and used for many pages: curl_cffi's own session sets up each anew."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from curl_cffi import AsyncCurl, Curl, CurlError, CurlHttpVersion, CurlInfo, CurlOpt, ffi, lib
from curl_cffi.const import CurlECode
from curl_cffi.requests.impersonate import resolve_latest_browser_type

from sale_sofia.crawl.fetch.base import Patience, Response, Route
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
"""What curl's error codes mean in our own tree."""
THROUGH_PROXY: Final = frozenset({CurlECode.COULDNT_CONNECT, CurlECode.RECV_ERROR, CurlECode.SEND_ERROR})
"""With a proxy these are its connection, or its refusal to lead on."""


def crawl_error(error: CurlError, url: str, *, through_proxy: bool = False) -> CrawlError:
    """The error of our tree for one of curl's; what is not known otherwise is a failed connection."""
    sentence = str(error).partition(". See http")[0]
    if through_proxy and error.code in THROUGH_PROXY:
        return ServiceProxy(f"{url}: {sentence}")
    return MEANING.get(int(error.code), errors.NetworkConnection)(f"{url}: {sentence}")


class SentOnce:
    """Ends a request as aborted where curl is about to send it without a turn.

    curl would repeat a request whose kept connection was reset, and late.
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
    """The connection stands, and nothing was sent on it: 0 sends, 1 refuses."""
    request: SentOnce = ffi.from_handle(name)
    return 0 if request.turn.use() else 1


_NAME_FIELDS = (0, 2, 5)  # curl's cookie lines: domain, subdomains, path, secure, expires, name, value


class CookieJar:
    """What the portals set, as curl's own lines, shared by all handles: a portal sees one visitor, not many.

    Each handle gives back only what it changed itself.
    """

    def __init__(self) -> None:
        self.lines: Mapping[tuple[bytes, ...], bytes] = {}
        """Every cookie by its domain, path and name; never changed in place, so the same are equal."""

    def take(self, before: Mapping[tuple[bytes, ...], bytes], after: Iterable[bytes]) -> None:
        """Add what is new or changed since `before`, and drop what the portal took back."""
        now = {_key(line): line for line in after}
        kept = {key: line for key, line in self.lines.items() if key in now or key not in before}
        changed = {key: line for key, line in now.items() if before.get(key) != line}
        # Of a portal that sets ever new ones the newest are kept, or its pages would fill our memory.
        self.lines = dict([*kept.items(), *changed.items()][-MOST_COOKIES:])


def _key(line: bytes) -> tuple[bytes, ...]:
    fields = line.split(b"\t")
    return tuple(fields[number] for number in _NAME_FIELDS if number < len(fields))


class Body:
    """Collects a decompressed body; curl stops at once when it outgrows its limit, also in a gzip bomb."""

    __slots__ = ("_limit", "_parts", "_size", "url")

    def __init__(self, url: str, limit: int) -> None:
        self.url = url
        self._limit = limit
        self._size = 0
        self._parts: list[bytes] = []

    def write(self, chunk: bytes) -> int:
        """Take one piece, as curl's write callback."""
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
    ) -> Response:
        """Ask once, in this turn; redirects are not followed.

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
        """One line; what comes before anything was asked is the proxy's, and no part of the answer.

        Raises `ServiceProxy` where it does not lead on: curl would read what comes with a 407 to its end,
        however far that is, and nobody else's request would go on meanwhile.
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
    """Names in lower case; values of a repeated name are joined, as HTTP says they may be.

    Bytes beyond ASCII are read as Latin-1, so none is lost.
    """
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode("latin-1").partition(":")
        key, text = name.strip().lower(), value.strip()
        if key:
            headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


class CurlPool:
    """Makes a handle when none is idle, so no request waits for one; how many run is decided elsewhere.

    It belongs to the event loop it was made in.
    """

    def __init__(self) -> None:
        self._multi = AsyncCurl()
        self._cookies: OrderedDict[str, CookieJar] = OrderedDict()
        self._idle: list[Handle] = []
        self.closed = False

    async def get(self, url: str, setup: Setup, patience: Patience, turn: Turn) -> Response:
        """Ask once, in this turn. A handle that failed or was cancelled is closed, its connection with it."""
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
        """Let go of all connections; requests under way end as if they were complete."""
        self.closed = True
        await self._multi.close()  # type: ignore[no-untyped-call]
        for handle in self._idle:
            handle.curl.close()
        self._idle.clear()

    def forget_sessions(self) -> None:
        """Begin anew, as other visitors."""
        self._cookies.clear()

    def cookies_of(self, session: str) -> CookieJar:
        """The cookies of a session; without a route all requests are the nameless one."""
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
