"""A fetcher that uses the pool alone; to the pipeline above it is like any other."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import count
from typing import Final

from redis.exceptions import RedisError

from sale_sofia.crawl.fetch.base import Fetcher, Request, Response, Route, Verdict, VerdictKind
from sale_sofia.crawl.fetch.classify import classify
from sale_sofia.crawl.resilience.bulkhead import Renewal
from sale_sofia.crawl.resilience.errors import (
    CrawlError,
    NetworkError,
    NetworkTls,
    ServiceProxy,
    ServiceRedis,
)
from sale_sofia.proxies import settings as fixed
from sale_sofia.proxies.browser import BrowserLane
from sale_sofia.proxies.model import (
    Lease,
    NoProxy,
    NoProxyReady,
    NoWayOut,
    ProxyAddress,
    ProxyQuery,
    Tier,
    Use,
    UseKind,
)
from sale_sofia.proxies.pool import ScoredProxyPool, new_token
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import ProxyTable

_VERDICTS: Final[Mapping[VerdictKind, UseKind]] = {
    "ok": "ok",
    "not_modified": "ok",
    "redirected": "ok",
    "removed": "target",
    "server_error": "target",
    "rate_limited": "rate_limited",
    "blocked": "blocked",
    "proxy_fault": "transport",
    "truncated": "transport",
    "empty": "neutral",
}


def use_of_verdict(verdict: Verdict, seconds: float) -> Use:
    """A block is held against the proxy on that portal; the portal's own 404 and 5xx against nobody."""
    kind = _VERDICTS[verdict.kind]
    pause = verdict.retry_after_seconds or 0.0
    return Use(kind, seconds if kind == "ok" else None, pause, verdict.block_kind or verdict.detail)


def use_of_error(error: CrawlError) -> Use:
    """A missing answer counts against the proxy; what we refused ourselves counts against nobody."""
    if isinstance(error, NetworkError | ServiceProxy):
        return Use("transport", why=type(error).__name__)
    return Use("neutral", why=type(error).__name__)


PROFILES: Final = ("chrome", "firefox", "safari", "edge")
"""TLS and header profiles; a session's name decides which it has."""


def route_of(address: ProxyAddress, session: str) -> Route:
    """Return the route through this proxy, as the visitor of this session."""
    number = int.from_bytes(hashlib.sha256(session.encode()).digest()[:4], "big")
    return Route(
        proxy=f"{address.scheme}://{address.place}",
        session=session,
        profile=PROFILES[number % len(PROFILES)],
        user=address.user,
        password=address.password,
    )


class Rung(StrEnum):
    """Steps taken when proxies do not help, from the cheapest to the last."""

    OTHER_PROXY = "other_proxy"
    NEW_SESSION = "new_session"
    RESTART = "restart_rotator"
    REFRESH = "refresh"
    NEXT_TIER = "next_tier"
    BROWSER = "browser"
    DIRECT = "direct"
    OPEN_CIRCUIT = "open_circuit"


@dataclass(slots=True)
class Ladder:
    """One portal's escalation. A success resets it to the first rung; the tier that helped is kept for a day.

    A rung without budget is skipped: nothing goes out directly unless the portal's file allows it.
    """

    budgets: Mapping[Rung, int]
    level: int = 0
    """How many tiers beyond the first are used."""
    _rung: int = 0
    _used: int = 0
    _down_at: float = 0.0

    def failed(self, now: float, *, challenged: bool = False) -> Rung:
        """Return the next step after a failure; the browser is one only for a `challenged` page."""
        rungs = tuple(Rung)
        while (step := rungs[self._rung]) is not Rung.OPEN_CIRCUIT:
            is_possible = step is not Rung.BROWSER or challenged
            if is_possible and self._used < self.budgets.get(step, 0):
                break
            self._rung, self._used = self._rung + 1, 0
        self._used += 1
        if step is Rung.NEXT_TIER:
            self.level = min(self.level + 1, self.budgets[step])
            self._down_at = now + fixed.LANE_MEMORY_SECONDS
        return step

    def succeeded(self) -> None:
        """Start from the first rung again."""
        self._rung = self._used = 0

    def level_at(self, now: float) -> int:
        """How many tiers beyond the first may be used; once a day the cheapest are tried again."""
        if self.level and now >= self._down_at:
            self.level = 0
        return self.level


def budgets_of(
    settings: Settings, table: ProxyTable, *, can_refresh: bool, browser: bool = False
) -> dict[Rung, int]:
    """Return how often each rung may be used for a portal."""
    return {
        Rung.OTHER_PROXY: settings.proxy_rotate_budget,
        Rung.NEW_SESSION: fixed.NEW_SESSION_BUDGET,
        Rung.RESTART: settings.proxy_restart_budget,
        Rung.REFRESH: settings.proxy_refresh_budget if can_refresh else 0,
        Rung.NEXT_TIER: len(table.tiers) - 1,
        Rung.BROWSER: fixed.LADDER_BUDGET if browser else 0,
        Rung.DIRECT: fixed.DIRECT_BUDGET if table.direct_allowed else 0,
    }


log = logging.getLogger(__name__)
_SAFE_TO_REPEAT: Final = (ServiceProxy, NetworkTls)
"""The request never reached the portal, so a retry costs it nothing."""


async def _nothing() -> None:
    pass


@dataclass(slots=True, kw_only=True)
class ProxiedFetcher:
    """Guarantee: nothing goes out but through a leased proxy, unless the portal's file allows it at the end.

    A fetch sends the portal one request: another proxy is tried at once only if the first failed before the
    request could reach the portal. Each request has a session, which keeps proxy, cookies and profile.
    """

    inner: Fetcher
    pool: ScoredProxyPool
    domain: str
    tiers: tuple[Tier, ...]
    ladder: Ladder
    further_tries: int
    proxy_seconds: float
    proof: Collection[bytes] = ()
    lane: BrowserLane | None = None
    """For challenges, where the portal's file allows it."""
    restart: Callable[[], None] = lambda: None
    refresh: Callable[[], Awaitable[object]] = _nothing
    refresh_if_needed: Callable[[], Awaitable[object]] = _nothing
    """Actions of the ladder's steps; each may be called at any time, and repeatedly."""
    clock: Callable[[], float] = time.monotonic
    _idle: list[str] = field(default_factory=list)
    """Sessions not in use."""
    _names: "count[int]" = field(default_factory=count)
    _prefix: str = field(default_factory=new_token)
    _supply_checked_at: float = float("-inf")

    async def fetch(self, request: Request) -> Response:
        """See `Fetcher`; without a way out, a `ServiceProxy`."""
        errand = _Errand(self, request, self._idle.pop() if self._idle else self.new_session())
        try:
            if self.clock() - self._supply_checked_at >= fixed.READY_WITHIN_SECONDS:
                self._supply_checked_at = self.clock()
                await self.refresh_if_needed()
            return await errand.run()
        except (RedisError, ServiceRedis, OSError) as error:
            raise NoProxyReady(f"{request.url}: the pool cannot be asked ({type(error).__name__})") from None
        finally:
            self._idle.append(errand.session)

    async def close(self) -> None:
        """See `Fetcher`."""
        await self.pool.close()
        await self.inner.close()

    def new_session(self) -> str:
        """Return a session name that was never used."""
        return f"{self._prefix}-{next(self._names)}"


@dataclass(slots=True)
class _Errand:
    """One request, with the proxies it has tried."""

    owner: ProxiedFetcher
    request: Request
    session: str
    tried: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    """Proxies that showed a false certificate."""
    ends: float = 0.0
    has_climbed: bool = False
    """Whether a step of the ladder was taken for this answer."""

    async def run(self) -> Response:
        self.ends = self.owner.clock() + self.request.timeout_seconds - self._waited()
        error: CrawlError | None = None
        for _ in range(1 + self.owner.further_tries):
            lease = await self._lease()
            if isinstance(lease, NoProxy) and error is None:
                raise await self._none_ready(lease)
            if isinstance(lease, NoProxy):
                break
            try:
                return await self._fetch_through(lease)
            except _SAFE_TO_REPEAT as failure:
                error = failure
            rung = await self._climb()
            if rung is Rung.DIRECT:
                log.warning("%s: asked directly, as its site file allows", self.owner.domain)
                return await self.owner.inner.fetch(replace(self.request, timeout_seconds=self._left()))
            if rung is Rung.OPEN_CIRCUIT:
                raise NoWayOut(f"{self.request.url}: no proxy helps; the last: {error}") from error
        raise ServiceProxy(
            f"{self.request.url}: {len(self.tried)} proxies failed; the last: {error}"
        ) from error

    async def _lease(self) -> Lease | NoProxy:
        """Lease a proxy, waiting if one is ready soon; tiers without any are skipped.

        A visitor whose own proxy is not ready soon is left for a new one, who may have any.
        """
        owner, refusal, is_new = self.owner, NoProxy(None), False
        patience = min(fixed.WAIT_FOR_PROXY_SECONDS, self._left() * fixed.WAIT_FOR_PROXY_SHARE)
        level = owner.ladder.level_at(owner.clock())
        while level < len(owner.tiers):
            query = ProxyQuery(owner.tiers[: 1 + level], self.session, self.tried)
            picked = await owner.pool.pick(owner.domain, query)
            if isinstance(picked, Lease):
                return picked
            wait, refusal = picked.retry_after_seconds, picked
            if wait is None:
                level += 1
            elif wait > patience and not is_new:
                self.session, is_new = owner.new_session(), True
            elif wait > patience:
                break
            else:
                patience -= wait
                await asyncio.sleep(wait)
        return refusal

    async def _fetch_through(self, lease: Lease) -> Response:
        """Fetch through a leased proxy, renewing the lease as long as it takes."""
        owner, use = self.owner, Use("neutral")
        self.tried = (*self.tried, lease.proxy.id)
        try:
            response = await self._ask(lease)
            verdict = classify(response, self.request.url, proof=owner.proof)
            use = use_of_verdict(verdict, response.seconds)
        except CrawlError as error:
            error.strategy, error.proxy = "proxy", lease.proxy.address.masked
            use = use_of_error(error)
            if isinstance(error, NetworkTls):
                self.suspects = (*self.suspects, lease.proxy.id)
            if use.kind == "transport" and not isinstance(error, _SAFE_TO_REPEAT):
                await self._climb()
                raise ServiceProxy(f"{self.request.url}: {error}") from error
            raise
        finally:
            await asyncio.shield(owner.pool.report(lease, use))
        # The portal answered: whoever showed a false certificate on the way was not the portal.
        for suspect in self.suspects:
            await owner.pool.quarantine(suspect, "a false certificate, where another proxy showed a true one")
        if use.kind not in {"blocked", "transport"}:
            owner.ladder.succeeded()
        elif not self.has_climbed:
            await self._climb()
        way = "proxy" if response.strategy == "direct" else response.strategy
        response = replace(response, strategy=way, proxy=lease.proxy.address.masked)
        return replace(response, disprove=partial(self._disprove, lease)) if use.kind == "ok" else response

    async def _ask(self, lease: Lease) -> Response:
        owner, seconds = self.owner, max(0.0, min(self._left(), self.owner.proxy_seconds))
        request = replace(
            self.request,
            # Another proxy is another visitor: cookies never follow from one address to the next.
            route=route_of(lease.proxy.address, f"{self.session}@{lease.proxy.id}"),
            timeout_seconds=seconds,
            connect_timeout_seconds=min(seconds, self.request.connect_timeout_seconds),
        )
        async with Renewal(seconds, partial(owner.pool.renew, lease)):
            if owner.lane is None:
                return await owner.inner.fetch(request)
            return await owner.lane.fetch(request, lease.proxy.id, self._may_use_browser)

    async def _may_use_browser(self) -> bool:
        """Take the ladder's next step for a challenge; whether it is the browser."""
        self.has_climbed = True
        return await self._climb(challenged=True) is Rung.BROWSER

    async def _disprove(self, lease: Lease, why: str) -> None:
        """Record a block that showed only when the page was parsed."""
        await self.owner.pool.note(lease.proxy.id, lease.domain, Use("blocked", why=why))
        await self._climb()

    async def _climb(self, *, challenged: bool = False) -> Rung:
        """Take the ladder's next step; a direct request is left to the caller."""
        owner = self.owner
        rung = owner.ladder.failed(owner.clock(), challenged=challenged)
        if rung is Rung.DIRECT:
            return rung
        await owner.pool.climbed(owner.domain, rung)
        if rung not in {Rung.OTHER_PROXY, Rung.NEW_SESSION}:
            log.warning("%s: proxies do not help, next step: %s", owner.domain, rung)
        if rung in {Rung.NEW_SESSION, Rung.RESTART}:
            self.session = owner.new_session()
        if rung is Rung.RESTART:
            owner.restart()
        if rung is Rung.REFRESH:
            await owner.refresh()
        return rung

    async def _none_ready(self, refusal: NoProxy) -> CrawlError:
        wait = refusal.retry_after_seconds
        if wait is None:
            await self.owner.refresh_if_needed()
        reason = "no proxy is known" if wait is None else f"no proxy is ready for {wait:.0f} s"
        error = NoProxyReady(f"{self.request.url}: {reason}")
        error.retry_after_seconds = wait
        return error

    def _left(self) -> float:
        return max(0.0, self.ends + self._waited() - self.owner.clock())

    def _waited(self) -> float:
        """Seconds spent waiting for the rate limit, which are not the proxy's or the portal's fault."""
        return self.request.escort.waited if self.request.escort else 0.0
