"""Checks candidates concurrently; each finding is reported as soon as it is made."""

import asyncio
import hashlib
import ipaddress
import json
import re
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.model import Anonymity, Proxy, ProxyAddress, Use
from sale_sofia.proxies.tunnel import (
    Fault,
    Streams,
    TunnelFailed,
    connected,
    in_time,
    lead,
    login_line,
    tunnel,
)
from sale_sofia.settings.errors import ServiceUnavailable

Headers = Sequence[tuple[str, str]]
PROXY_HEADERS: Final = frozenset(
    {
        "via", "forwarded", "forwarded-for", "x-forwarded", "x-forwarded-for", "x-forwarded-host",
        "x-forwarded-proto", "x-forwarded-server", "x-real-ip", "client-ip", "x-client-ip", "http-client-ip",
        "true-client-ip", "x-cluster-client-ip", "x-originating-ip", "x-remote-ip", "x-remote-addr",
        "proxy-connection", "x-proxy-id", "x-proxy-connection", "x-bluecoat-via", "cf-connecting-ip",
        "x-cache", "proxy-authorization",
    }
)  # fmt: skip
"""Headers that only something between us and the judge adds."""
_PIECES: Final = re.compile(r'[\s,;="\[\]]+')


def anonymity(headers: Headers, own: Collection[str], baseline: Collection[str]) -> Anonymity:
    """Judge the headers of a plain request by exact names; those in `baseline` are ignored."""
    added = [(name.lower(), value) for name, value in headers if name.lower() not in baseline]
    own_addresses = {address for text in own if (address := as_address(text))}
    pieces = (piece for _, value in added for piece in _PIECES.split(value) if piece)
    if own_addresses and any(as_address(piece) in own_addresses for piece in pieces):
        return "transparent"
    return "anonymous" if any(name in PROXY_HEADERS for name, _ in added) else "elite"


def is_own_exit(exit_address: str, own: Collection[str]) -> bool:
    """Whether a portal would see our own network: the same address, or one of the same /24."""
    address = as_address(exit_address)
    for ours in map(as_address, own):
        if address is not None and ours is not None and ours.version == address.version:
            bits = (
                fixed.OWN_NETWORK_BITS
                if isinstance(ours, ipaddress.IPv4Address)
                else fixed.OWN_NETWORK_BITS_IPV6
            )
            if address in ipaddress.ip_network(f"{ours}/{bits}", strict=False):
                return True
    return False


def as_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address, with or without a port; None where it is none."""
    for candidate in (text, text.rpartition(":")[0]):
        with suppress(ValueError):
            address = ipaddress.ip_address(candidate.partition("%")[0])
            return getattr(address, "ipv4_mapped", None) or address
    return None


PLAIN_PATH: Final = "/plain"
SEEN_PATH: Final = "/seen"


def plain_page(nonce: str) -> bytes:
    """The page that the judge serves for this nonce; a proxy that changes it is detected."""
    digest = hashlib.sha256(nonce.encode()).hexdigest()
    return f"<!doctype html><html><head><title>{digest}</title></head><body>{digest}</body></html>\n".encode()


async def get(streams: Streams, target: str, host: str, more: str = "") -> tuple[int, bytes]:
    """Return status and body of `target`, ending the connection; `TunnelFailed` unless valid and small."""
    with _sound_answer():
        status, headers = await _ask_head(streams, target, host, more)
        return status, await _body(streams[0], headers)


@contextmanager
def _sound_answer() -> Iterator[None]:
    try:
        yield
    except (asyncio.LimitOverrunError, ValueError, IndexError):
        raise TunnelFailed("protocol", "no sound HTTP answer") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        raise TunnelFailed("reset", "it hung up") from None


async def _ask_head(streams: Streams, target: str, host: str, more: str = "") -> tuple[int, dict[str, str]]:
    reader, writer = streams
    request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n{more}Connection: close\r\n\r\n"
    writer.write(request.encode("latin-1"))
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return int(first.split(" ")[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "content-length" in headers and "chunked" not in headers.get("transfer-encoding", "").lower():
        return await reader.readexactly(_small(int(headers["content-length"])))
    body = bytearray()
    if "chunked" in headers.get("transfer-encoding", "").lower():
        while length := int((await reader.readuntil(b"\r\n")).partition(b";")[0], base=16):
            _small(len(body) + length)
            body += (await reader.readexactly(length + 2))[:-2]
    else:
        while piece := await reader.read(fixed.JUDGE_BODY_BYTES):
            body += piece
            _small(len(body))
    return bytes(body)


def _small(length: int) -> int:
    if not 0 <= length <= fixed.JUDGE_BODY_BYTES:
        raise TunnelFailed("protocol", "an answer larger than any of the judge's")
    return length


PATIENCE: Final = RequestTimeouts(fixed.CHECK_CONNECT_SECONDS, fixed.CHECK_SECONDS)


class JudgeGone(ServiceUnavailable):
    """The judge does not answer us directly: nothing can be checked with it."""


class BreaksTls(Exception):
    """TLS through the proxy has no valid certificate: it is a man in the middle."""


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """What the judge saw, as it reports over TLS."""

    exit_address: str
    plain_headers: Headers | None
    """Of the plain request with the same nonce; None where it never arrived."""


@dataclass(frozen=True, slots=True)
class Ourselves:
    """How we look without a proxy."""

    addresses: frozenset[str]
    headers: frozenset[str]
    """Names of the headers that the judge sees from us in any case."""


class JudgeClient:
    """Asks the judge, directly or through a proxy; its second address, without TLS, may be missing."""

    def __init__(self, url: str, plain_url: str | None, ca: Path | None = None) -> None:
        self.url, self.plain_url = url, plain_url
        self._tls = ssl.create_default_context(cafile=str(ca) if ca else None)

    async def look_at_ourselves(self) -> Ourselves:
        """Return how we look to the judge; `JudgeGone` where it does not answer."""
        nonce = new_nonce()
        try:
            async with asyncio.timeout(fixed.JUDGE_SECONDS):
                if self.plain_url:
                    await _direct(self.plain_url, f"{PLAIN_PATH}?nonce={nonce}", None)
                seen = _read(await _direct(self.url, f"{SEEN_PATH}?nonce={nonce}", self._tls), nonce)
        except (OSError, TimeoutError, TunnelFailed, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise JudgeGone(f"The judge at {self.url} does not answer: {reason}.") from None
        names = frozenset(name for name, _ in seen.plain_headers or ())
        return Ourselves(frozenset({seen.exit_address}), names)

    async def ask_plainly(self, proxy: ProxyAddress, nonce: str) -> bool:
        """Send a plain request through the proxy; whether the answer is exactly the judge's."""
        if self.plain_url is None:
            return True
        host, path = urlsplit(self.plain_url).netloc, f"{PLAIN_PATH}?nonce={nonce}"
        async with connected(proxy, PATIENCE) as streams, in_time(PATIENCE.seconds):
            if proxy.scheme == "socks5":
                await lead(proxy, streams, *_place(self.plain_url))
                status, body = await get(streams, path, host)
            else:
                status, body = await get(streams, f"{self.plain_url}{path}", host, login_line(proxy))
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            raise TunnelFailed("auth", "HTTP 407: it wants a password, or another one")
        if status != HTTPStatus.OK:
            raise TunnelFailed("refused", f"HTTP {status} to a plain request")
        return body == plain_page(nonce)

    async def ask_securely(self, proxy: ProxyAddress, nonce: str) -> JudgeReport:
        """Return what the judge saw; `TunnelFailed` without a connection, `BreaksTls` to an impostor."""
        async with _secured(proxy, self.url, self._tls) as streams:
            answer = await get(streams, f"{SEEN_PATH}?nonce={nonce}", urlsplit(self.url).netloc)
        return _read(answer, nonce)


@asynccontextmanager
async def _secured(proxy: ProxyAddress, url: str, tls: ssl.SSLContext) -> AsyncIterator[Streams]:
    """Open streams to the host of a URL through the proxy, in time and with its certificate checked."""
    host, port = _place(url)
    async with tunnel(proxy, host, port, PATIENCE) as streams, in_time(PATIENCE.seconds):
        # In TLS the server does not speak first: bytes that wait here come from the proxy.
        if streams[0]._buffer:  # type: ignore[attr-defined]  # noqa: SLF001 - nothing else tells without waiting
            raise BreaksTls("it spoke before the host could")
        try:
            await streams[1].start_tls(tls, server_hostname=host)
            yield streams
        except ssl.SSLCertVerificationError as error:
            raise BreaksTls(f"false certificate: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise BreaksTls(f"TLS failed: {error.reason or 'what came is not what was sent'}") from None


class CheckPage:
    """A page of the user's over TLS, for checks without a judge: a proxy must reach it."""

    def __init__(self, url: str, ca: Path | None = None) -> None:
        self.url = url
        self._tls = ssl.create_default_context(cafile=str(ca) if ca else None)

    async def look(self) -> None:
        """Request it directly; `JudgeGone` where that fails, as every proxy would seem dead."""
        try:
            async with asyncio.timeout(fixed.JUDGE_SECONDS), _directly(self.url, self._tls) as streams:
                status = await _status(streams, self.url)
        except (OSError, TimeoutError, TunnelFailed) as error:
            reason = str(error) or type(error).__name__
            raise JudgeGone(f"PROXY_CHECK_URL: {self.url} does not answer: {reason}.") from None
        if status >= HTTPStatus.BAD_REQUEST:
            raise JudgeGone(f"PROXY_CHECK_URL: {self.url} answers HTTP {status}.")

    async def ask(self, proxy: ProxyAddress) -> None:
        """Request it through the proxy; `TunnelFailed` or `BreaksTls` where that fails."""
        async with _secured(proxy, self.url, self._tls) as streams:
            status = await _status(streams, self.url)
        if status >= HTTPStatus.BAD_REQUEST:
            raise TunnelFailed("refused", f"the page answered HTTP {status}")


async def _status(streams: Streams, url: str) -> int:
    with _sound_answer():
        return (await _ask_head(streams, urlsplit(url).path, urlsplit(url).netloc))[0]


def new_nonce() -> str:
    """A random name, so that no answer can be prepared."""
    return secrets.token_urlsafe(16)


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or {"http": 80, "https": 443}[parts.scheme]


async def _direct(url: str, path: str, secure: ssl.SSLContext | None) -> tuple[int, bytes]:
    async with _directly(url, secure) as streams:
        return await get(streams, path, urlsplit(url).netloc)


@asynccontextmanager
async def _directly(url: str, secure: ssl.SSLContext | None) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection(*_place(url), ssl=secure, limit=fixed.TUNNEL_HEAD_BYTES)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def _read(answer: tuple[int, bytes], nonce: str) -> JudgeReport:
    try:
        status, report = answer[0], json.loads(answer[1])
        if status != HTTPStatus.OK or report["nonce"] != nonce:
            raise TunnelFailed("protocol", "not the judge's answer")
        plain = report["plain"]
        headers = None if plain is None else [(str(name), str(value)) for name, value in plain["headers"]]
        return JudgeReport(str(report["peer"]), headers)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TunnelFailed("protocol", "not the judge's answer") from None


Label = Literal[
    "usable", "dead", "silent", "wants_password", "refuses", "http_only", "no_proxy", "breaks_tls",
    "injects", "fakes", "own_address", "unsure",
]  # fmt: skip
"""usable: it may be handed out; dead: no connection, or it hangs up; silent: no answer in time; refuses: it
will not connect to the judge; http_only: only without TLS; no_proxy: it speaks something else; breaks_tls: it
is in the middle; injects: it changes pages; fakes: it answers for the judge; own_address: it shows us;
unsure: no portal had a free slot or could be reached; it stays what it was."""
HOSTILE: Final = frozenset({"breaks_tls", "injects", "fakes"})
"""Quarantined until a check finds them clean."""
_BY_FAULT: Final[dict[Fault, Label]] = {
    "ours": "unsure", "unreachable": "dead", "reset": "dead", "silent": "silent", "auth": "wants_password",
    "refused": "refuses", "protocol": "no_proxy",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ProxyFinding:
    """What a check found."""

    proxy: Proxy
    label: Label
    why: str = ""
    seconds: float = 0.0
    canaries: tuple[tuple[str, Use], ...] = ()
    """What came of the request to each portal."""

    @property
    def usable(self) -> bool:
        """Whether it may be handed out."""
        return self.label == "usable"


Canary = Callable[[Proxy, float], Awaitable[Use | None]]
"""One small request to a portal: what came of it; None where no slot was free in so many seconds."""
OnFinding = Callable[[ProxyFinding], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Classifies proxies; usable is only one that reached judge, page or portal."""

    judge: JudgeClient | None
    ourselves: Ourselves | None
    page: CheckPage | None = None
    """Requested where there is no judge; without it the canaries decide."""
    canaries: dict[str, Canary] = field(default_factory=dict)
    """One small request to each portal."""
    clock: Callable[[], float] = time.time

    async def check(self, proxy: Proxy) -> ProxyFinding:
        """Classify a proxy; nothing it does raises."""
        started = time.monotonic()
        finding = await self._judge(proxy)
        if finding.usable and not finding.canaries:
            uses = await self._ask_portals(finding.proxy, 0.0)
            if uses and all(use.kind == "transport" for _, use in uses):
                finding = replace(finding, label="dead", why=uses[0][1].why)
            else:
                finding = replace(finding, canaries=uses)
        return replace(finding, seconds=time.monotonic() - started)

    async def _ask_portals(self, proxy: Proxy, patience: float) -> tuple[tuple[str, Use], ...]:
        """Send each portal its canary if it has a free slot; slots are waited for only until one answers."""
        uses: list[tuple[str, Use]] = []
        for domain, ask in self.canaries.items():
            answered = any(use.kind != "transport" for _, use in uses)
            if (use := await ask(proxy, 0.0 if answered else patience)) is not None:
                uses.append((domain, use))
        return tuple(uses)

    async def check_all(self, proxies: Iterator[Proxy], at_once: int, on_finding: OnFinding) -> None:
        """Report each finding as it is made; `proxies` is read no faster than they are checked."""

        async def work() -> None:
            for proxy in proxies:
                await on_finding(await self.check(proxy))

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())

    async def _judge(self, proxy: Proxy) -> ProxyFinding:
        try:
            if self.judge is not None:
                return await self._ask(self.judge, proxy)
            checked = replace(proxy, checked_at=self.clock())
            if self.page is not None:
                await self.page.ask(proxy.address)
                return ProxyFinding(checked, "usable", "not judged")
            async with connected(proxy.address, PATIENCE):
                pass  # most are dead: no portal is bothered with them
            return await self._judge_by_portals(checked)
        except TunnelFailed as error:
            return ProxyFinding(proxy, _BY_FAULT[error.fault], str(error))
        except BreaksTls as error:
            return ProxyFinding(proxy, "breaks_tls", str(error))

    async def _judge_by_portals(self, proxy: Proxy) -> ProxyFinding:
        """Classify a proxy by the portals: whichever answers, the proxy reached it."""
        uses = await self._ask_portals(proxy, fixed.CHECK_TURN_SECONDS)
        if any(use.kind != "transport" for _, use in uses):
            return ProxyFinding(proxy, "usable", "not judged", canaries=uses)
        if not uses:
            why = "no portal had a turn free" if self.canaries else "there is no portal to ask"
            return ProxyFinding(proxy, "unsure", why)
        return ProxyFinding(proxy, _label_of(uses[0][1].why), uses[0][1].why)

    async def _ask(self, judge: JudgeClient, proxy: Proxy) -> ProxyFinding:
        nonce = new_nonce()
        plainly = judge.plain_url is not None  # whether a page came at all
        try:
            faithful = await judge.ask_plainly(proxy.address, nonce)
        except TunnelFailed as error:
            if error.fault != "refused":
                raise
            faithful, plainly = True, False  # many tunnel only TLS, which is all we need
        try:
            seen = await judge.ask_securely(proxy.address, nonce)
        except TunnelFailed as error:
            if error.fault == "refused" and plainly and faithful:
                return ProxyFinding(proxy, "http_only", str(error))
            raise
        ourselves = self.ourselves or Ourselves(frozenset(), frozenset())
        checked = replace(proxy, exit_address=seen.exit_address, checked_at=self.clock())
        if plainly and seen.plain_headers is None:
            return ProxyFinding(checked, "fakes", "it answered a plain request that the judge never saw")
        if not faithful:
            return ProxyFinding(checked, "injects", "it changed a plain page")
        if is_own_exit(seen.exit_address, ourselves.addresses):
            return ProxyFinding(checked, "own_address", f"portals would see {seen.exit_address}")
        if seen.plain_headers is not None:
            checked = replace(
                checked, anonymity=anonymity(seen.plain_headers, ourselves.addresses, ourselves.headers)
            )
        return ProxyFinding(checked, "usable")


_TO_CONNECT: Final = re.compile(r"HTTP ([0-9]{3}) to CONNECT")


def _label_of(why: str) -> Label:
    """Classify a proxy that took a connection but did not reach a portal."""
    if match := _TO_CONNECT.search(why):
        status = int(match[1])
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            return "wants_password"
        # It is a proxy; that the portal cannot be reached need not be its fault.
        return "unsure" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "refuses"
    return "silent" if why.startswith("NetworkTimeout") else "no_proxy"
