"""The rotator: one address for tools that can use only one. It tunnels over the pool and looks into nothing.

It never opens TLS, so certificates and the client's own manner of speaking survive; and it never goes
directly: without a proxy the answer is 503.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus

from redis.exceptions import RedisError

from sale_sofia.config import proxies as fixed
from sale_sofia.config.resilience import RENEWALS_PER_LEASE
from sale_sofia.config.site_config import available_sites, load_site_config
from sale_sofia.proxies.carrying import carry_both
from sale_sofia.proxies.loopback_server import LoopbackServer, read_head
from sale_sofia.proxies.model import Lease, NoProxy, Use, Wish
from sale_sofia.proxies.pool import EVERYWHERE, ScoredProxyPool
from sale_sofia.proxies.rotator_request import BadRequest, TunnelRequest, read_request
from sale_sofia.proxies.tunnel import Patience, Streams, TunnelFailed, tunnel
from sale_sofia.resilience.errors import ServiceRedis


@dataclass(slots=True, kw_only=True)
class Rotator:
    """Serves CONNECT over the pool, on the loopback alone."""

    pool: ScoredProxyPool
    patience: Patience
    lease_seconds: float
    domain_of: Callable[[str], str] = field(default_factory=lambda: domain_of)
    _server: LoopbackServer = field(init=False)

    def __post_init__(self) -> None:
        self._server = LoopbackServer(self._serve)

    async def start(self, port: int) -> int:
        """Listen; the port taken, which matters where 0 was asked for."""
        return await self._server.start(port)

    async def stop(self) -> None:
        """Listen no more, and end every tunnel."""
        await self._server.stop()

    async def _serve(self, near: Streams) -> None:
        try:
            request = await _read(near)
            await self._lead(near, request)
        except BadRequest as error:
            await _refuse(near, error.status, str(error))
        except (RedisError, ServiceRedis, OSError):
            await _refuse(near, HTTPStatus.SERVICE_UNAVAILABLE, "the pool cannot be asked")

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
        domain = request.domain or self.domain_of(request.host)
        only = "" if request.offset is None else await self._at(request.offset)
        if request.offset is not None and not only:
            return NoProxy(None)
        return await self.pool.pick(domain, Wish(session=request.session, exclude=tried, only=only))

    async def _at(self, offset: int) -> str:
        """The proxy with this number, counted round; of none, nothing."""
        rows = [row.id for row in await self.pool.get_stats(EVERYWHERE) if not row.quarantined]
        return rows[offset % len(rows)] if rows else ""

    async def _through(self, near: Streams, request: TunnelRequest, lease: Lease) -> bool:
        """Whether the tunnel was there; what became of it is told to the pool."""
        started, use = time.monotonic(), Use("neutral")
        try:
            async with (
                self._kept(lease),
                tunnel(lease.proxy.address, request.host, request.port, self.patience) as far,
            ):
                seconds = time.monotonic() - started
                near[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                answered = await carry_both(near, far)
                use = Use("ok", seconds) if answered else Use("neutral", why="nothing came back")
                return True
        except TunnelFailed as error:
            use = Use("transport", why=error.fault)
            return False
        finally:
            await asyncio.shield(self.pool.report(lease, use))

    @asynccontextmanager
    async def _kept(self, lease: Lease) -> AsyncIterator[None]:
        """The lease is renewed as long as the tunnel lasts."""
        task = asyncio.create_task(self._keep(lease))
        try:
            yield
        finally:
            task.cancel()

    async def _keep(self, lease: Lease) -> None:
        while True:
            await asyncio.sleep(self.lease_seconds / RENEWALS_PER_LEASE)
            with suppress(RedisError, OSError):
                await self.pool.renew(lease)


async def _read(near: Streams) -> TunnelRequest:
    try:
        head = await read_head(near)
    except TimeoutError:
        raise BadRequest(HTTPStatus.REQUEST_TIMEOUT, "no request came") from None
    except asyncio.LimitOverrunError:
        raise BadRequest(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the request has no end") from None
    except asyncio.IncompleteReadError:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "the request broke off") from None
    return read_request(head)


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
    """The portal that a host belongs to; a host of none is its own."""
    return next((site for site in available_sites() if host in load_site_config(site).hosts), host)
