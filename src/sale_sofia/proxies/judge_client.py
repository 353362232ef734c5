"""Asking the judge: directly, to know ourselves, and through a proxy, to know the proxy."""

import asyncio
import json
import secrets
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from sale_sofia.config.proxies import CHECK_CONNECT_SECONDS, CHECK_SECONDS, JUDGE_SECONDS, TUNNEL_HEAD_BYTES
from sale_sofia.proxies.address import ProxyAddress
from sale_sofia.proxies.anonymity import Headers
from sale_sofia.proxies.judge_pages import PLAIN_PATH, SEEN_PATH, plain_page
from sale_sofia.proxies.plain_http import Answer, get
from sale_sofia.proxies.tunnel import Patience, Streams, TunnelFailed, connected, lead, login_line, tunnel
from sale_sofia.services.errors import ServiceError

PATIENCE: Final = Patience(CHECK_CONNECT_SECONDS, CHECK_SECONDS)
_PORTS: Final = {"http": 80, "https": 443}


class JudgeGone(ServiceError):
    """The judge does not answer us directly: nothing can be checked with it."""


class BreaksTls(Exception):
    """What came through the proxy is not certified: it sits in the middle."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the judge saw, in its own words over TLS."""

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
    """Asks the judge at these addresses; the second one, without TLS, may be missing."""

    def __init__(self, url: str, plain_url: str | None, ca: Path | None = None) -> None:
        self.url, self.plain_url = url, plain_url
        self._tls = ssl.create_default_context(cafile=str(ca) if ca else None)

    async def look_at_ourselves(self) -> Ourselves:
        """How we look to the judge.

        Raises:
            JudgeGone: it does not answer.
        """
        nonce = new_nonce()
        try:
            async with asyncio.timeout(JUDGE_SECONDS):
                if self.plain_url:
                    await _direct(self.plain_url, f"{PLAIN_PATH}?nonce={nonce}", None)
                seen = _read(await _direct(self.url, f"{SEEN_PATH}?nonce={nonce}", self._tls), nonce)
        except (OSError, TimeoutError, TunnelFailed, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise JudgeGone(f"The judge at {self.url} does not answer: {reason}.") from None
        names = frozenset(name for name, _ in seen.plain_headers or ())
        return Ourselves(frozenset({seen.exit_address}), names)

    async def ask_plainly(self, proxy: ProxyAddress, nonce: str) -> bool:
        """Send a plain request through the proxy; whether its answer is the judge's, to the letter."""
        if self.plain_url is None:
            return True
        async with connected(proxy, PATIENCE) as streams:
            answer = await _in_time(self._plain(proxy, streams, nonce))
        if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            raise TunnelFailed("auth", "HTTP 407: it wants a password, or another one")
        if answer.status != HTTPStatus.OK:
            raise TunnelFailed("refused", f"HTTP {answer.status} to a plain request")
        return answer.body == plain_page(nonce)

    async def _plain(self, proxy: ProxyAddress, streams: Streams, nonce: str) -> Answer:
        host, port = place(self.plain_url or "")
        named = urlsplit(self.plain_url or "").netloc
        path = f"{PLAIN_PATH}?nonce={nonce}"
        if proxy.scheme != "socks5":
            return await get(streams, f"{self.plain_url}{path}", named, login_line(proxy))
        await lead(proxy, streams, host, port)
        return await get(streams, path, named)

    async def ask_securely(self, proxy: ProxyAddress, nonce: str) -> Seen:
        """What the judge saw of the proxy.

        Raises:
            TunnelFailed: the proxy does not lead to it.
            BreaksTls: it leads to somebody else.
        """
        host, port = place(self.url)
        async with tunnel(proxy, host, port, PATIENCE) as streams:
            answer = await _in_time(self._secure(streams, host, nonce))
        return _read(answer, nonce)

    async def _secure(self, streams: Streams, host: str, nonce: str) -> Answer:
        _refuse_early(streams[0])
        try:
            await streams[1].start_tls(self._tls, server_hostname=host)
            return await get(streams, f"{SEEN_PATH}?nonce={nonce}", urlsplit(self.url).netloc)
        except ssl.SSLCertVerificationError as error:
            raise BreaksTls(f"false certificate: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise BreaksTls(f"TLS failed: {error.reason or 'what came is not what was sent'}") from None


def _refuse_early(reader: asyncio.StreamReader) -> None:
    """In TLS the host does not speak first; bytes that wait here would be read as if they came over it."""
    if reader._buffer:  # type: ignore[attr-defined]  # noqa: SLF001 - nothing else tells without waiting
        raise BreaksTls("it spoke before the host could")


def new_nonce() -> str:
    """Nobody can have an answer to it ready."""
    return secrets.token_urlsafe(16)


def place(url: str) -> tuple[str, int]:
    """Host and port of an address."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or _PORTS[parts.scheme]


async def _direct(url: str, path: str, secure: ssl.SSLContext | None) -> Answer:
    host, port = place(url)
    reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=TUNNEL_HEAD_BYTES)
    try:
        return await get((reader, writer), path, urlsplit(url).netloc)
    finally:
        writer.transport.abort()


async def _in_time(work: Any) -> Answer:  # noqa: ANN401 - any coroutine that gives an answer
    try:
        async with asyncio.timeout(PATIENCE.seconds):
            answer: Answer = await work
            return answer
    except TimeoutError:
        raise TunnelFailed("silent", f"no answer in {PATIENCE.seconds:g} s") from None


def _read(answer: Answer, nonce: str) -> Seen:
    try:
        told = json.loads(answer.body)
        if answer.status != HTTPStatus.OK or told["nonce"] != nonce:
            raise TunnelFailed("protocol", "not the judge's answer")
        plain = told["plain"]
        headers = None if plain is None else [(str(name), str(value)) for name, value in plain["headers"]]
        return Seen(str(told["peer"]), headers)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise TunnelFailed("protocol", "not the judge's answer") from None
