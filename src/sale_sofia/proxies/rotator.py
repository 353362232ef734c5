"""The rotator: one proxy address for tools that can use only one. It tunnels through the pool, unread.

It never opens TLS, so certificates and the client's own TLS profile survive; and it never connects directly:
without a proxy the answer is 503.
"""

import asyncio
import re
import signal
import time
from base64 import b64decode
from binascii import Error as Undecodable
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Final

from redis.exceptions import RedisError

from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.crawl.resilience.bulkhead import Renewal
from sale_sofia.crawl.resilience.errors import ServiceRedis
from sale_sofia.crawl.resilience.settings import RENEWALS_PER_LEASE
from sale_sofia.operations.services.processes import tell_ready
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.model import EVERYWHERE, Lease, NoProxy, NotAProxy, ProxyQuery, Use, parse_host
from sale_sofia.proxies.pool import ScoredProxyPool, get_pool
from sale_sofia.proxies.settings import CHECK_CONNECT_SECONDS, ROTATOR_HOST, PoolRules
from sale_sofia.proxies.tunnel import LoopbackServer, Streams, TunnelFailed, carry_both, read_head, tunnel
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.programs import end_at_once
from sale_sofia.websites.site_file import available_sites, load_site_config

_FIRST: Final = re.compile(
    r"CONNECT (?P<host>[^\s:\[\]]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5}) HTTP/1\.[01]"
)
_OFFSET: Final = re.compile(r"[0-9]{1,9}")
_SESSION: Final = re.compile(r"session-(?P<name>[\w.-]{1,64})(?:;domain=(?P<domain>[\w.:-]{1,255}))?")
_MOST_PORT: Final = 65_535


class BadRequest(ValueError):
    """A request that the rotator cannot serve; `status` is its HTTP answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class TunnelRequest:
    """A tunnel that a client requested."""

    host: str
    port: int
    offset: int | None = None
    """The same number gives the same proxy."""
    session: str | None = None
    domain: str | None = None
    """The portal, where the host does not say it."""


def read_request(head: str) -> TunnelRequest:
    """Parse the head of a CONNECT request; `BadRequest` for anything else."""
    first, *lines = head.split("\r\n")
    match = _FIRST.fullmatch(first)
    if match is None:
        method = first.partition(" ")[0]
        raise BadRequest(
            405 if method.isupper() and method != "CONNECT" else 400, "only CONNECT host:port is served"
        )
    port = int(match["port"])
    if not 0 < port <= _MOST_PORT:
        raise BadRequest(400, f"no port {port}")
    try:
        host = parse_host(match["host"].lower())
    except NotAProxy as error:
        raise BadRequest(400, str(error)) from None
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    offset = headers.get("x-proxy-offset")
    if offset is not None and not _OFFSET.fullmatch(offset):
        raise BadRequest(400, "X-Proxy-Offset: a whole number is wanted")
    session = _session(headers.get("proxy-authorization", ""))
    return TunnelRequest(
        host,
        port,
        None if offset is None else int(offset),
        session["name"] if session else None,
        session["domain"] if session else None,
    )


def _session(authorization: str) -> re.Match[str] | None:
    """Match `session-NAME[;domain=PORTAL]`, bare or as the user of a basic login, as tools send it."""
    kind, _, value = authorization.partition(" ")
    if kind.lower() == "basic":
        try:
            authorization = b64decode(value, validate=True).decode("utf-8").partition(":")[0]
        except (Undecodable, UnicodeDecodeError):
            return None
    return _SESSION.fullmatch(authorization)


@dataclass(slots=True, kw_only=True)
class Rotator:
    """Serves CONNECT over the pool, on the loopback alone."""

    pool: ScoredProxyPool
    patience: RequestTimeouts
    lease_seconds: float
    domain_of: Callable[[str], str] = field(default_factory=lambda: domain_of)
    _server: LoopbackServer = field(init=False)

    def __post_init__(self) -> None:
        self._server = LoopbackServer(self._serve)

    async def start(self, port: int) -> int:
        """Listen, and return the port, which 0 leaves to the system."""
        return await self._server.start(port)

    async def stop(self) -> None:
        """Stop listening, and close every tunnel."""
        await self._server.stop()

    async def _serve(self, near: Streams) -> None:
        status, why = 0, ""
        try:
            request = read_request(await read_head(near))
        except BadRequest as error:
            status, why = error.status, str(error)
        except TimeoutError:
            status, why = HTTPStatus.REQUEST_TIMEOUT, "no request came"
        except asyncio.LimitOverrunError:
            status, why = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request has no end"
        except asyncio.IncompleteReadError:
            status, why = HTTPStatus.BAD_REQUEST, "the request broke off"
        else:
            try:
                await self._lead(near, request)
            except (RedisError, ServiceRedis, OSError):
                status, why = HTTPStatus.SERVICE_UNAVAILABLE, "the pool cannot be asked"
        if why:
            await _refuse(near, status, why)

    async def _lead(self, near: Streams, request: TunnelRequest) -> None:
        tried: tuple[str, ...] = ()
        for _ in range(fixed.ROTATOR_TRIES):
            lease = await self._pick(request, tried)
            if isinstance(lease, NoProxy):
                await _refuse(
                    near, HTTPStatus.SERVICE_UNAVAILABLE, "no proxy is ready", lease.retry_after_seconds
                )
                return
            if await self._through(near, request, lease):
                return
            tried = (*tried, lease.proxy.id)
        await _refuse(near, HTTPStatus.BAD_GATEWAY, f"{len(tried)} proxies did not lead there")

    async def _pick(self, request: TunnelRequest, tried: tuple[str, ...]) -> Lease | NoProxy:
        only = ""
        if request.offset is not None:
            # The proxy with this number, counted round.
            rows = [row.id for row in await self.pool.get_stats(EVERYWHERE) if not row.quarantined]
            if not rows:
                return NoProxy(None)
            only = rows[request.offset % len(rows)]
        domain = request.domain or self.domain_of(request.host)
        return await self.pool.pick(domain, ProxyQuery(session=request.session, exclude=tried, only=only))

    async def _through(self, near: Streams, request: TunnelRequest, lease: Lease) -> bool:
        """Carry the tunnel and report it to the pool; False if it could not be opened."""
        started, use = time.monotonic(), Use("neutral")
        try:
            async with (
                Renewal(self.lease_seconds / RENEWALS_PER_LEASE, partial(self.pool.renew, lease)),
                tunnel(lease.proxy.address, request.host, request.port, self.patience) as far,
            ):
                seconds = time.monotonic() - started
                near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                answered = await carry_both(near, far)
                use = Use("ok", seconds) if answered else Use("neutral", why="nothing came back")
                return True
        except TunnelFailed as error:
            use = Use("neutral" if error.fault == "ours" else "transport", why=error.fault)
            return False
        finally:
            await asyncio.shield(self.pool.report(lease, use))


async def _refuse(near: Streams, status: int, why: str, retry_after: float | None = None) -> None:
    body = f"{why}\n".encode()
    later = "" if retry_after is None else f"Retry-After: {max(1, round(retry_after))}\r\n"
    head = (
        f"HTTP/1.1 {int(status)} {HTTPStatus(status).phrase}\r\nContent-Type: text/plain\r\n{later}"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    near[1].write(head.encode() + body)
    with suppress(OSError):
        await near[1].drain()
        near[1].write_eof()


def domain_of(host: str) -> str:
    """Return the portal of a host; the host itself if it belongs to none."""
    return next((site for site in available_sites() if host in load_site_config(site).hosts), host)


async def serve(settings: Settings, redis_url: str) -> None:
    """Run the rotator until SIGINT or SIGTERM; `ServiceUnavailable` if the port is taken."""
    pool = await get_pool(settings, redis_url)
    rotator = Rotator(
        pool=pool,
        patience=RequestTimeouts(CHECK_CONNECT_SECONDS, settings.proxy_timeout),
        lease_seconds=PoolRules.from_settings(settings).lease_seconds,
    )
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await rotator.start(settings.rotator_port)
    except OSError as error:
        place = f"{ROTATOR_HOST}:{settings.rotator_port}"
        raise ServiceUnavailable(
            f"The rotator cannot listen on {place}: {error.strerror} (ROTATOR_PORT)."
        ) from None
    tell_ready()
    await stop.wait()
    await rotator.stop()
    await pool.close()


if __name__ == "__main__":
    end_at_once()
    own_settings = load_settings()
    asyncio.run(serve(own_settings, known_redis_url(own_settings)))
