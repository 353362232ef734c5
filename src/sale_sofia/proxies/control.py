"""What the orchestrator can do about proxies: ask for a refresh, wait, and run the rotator."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from sale_sofia.config.settings import Settings
from sale_sofia.proxies.canary import sites_with_proxies
from sale_sofia.proxies.factory import get_pool
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.refresh_board import RefreshProgress
from sale_sofia.proxies.refreshing import trigger
from sale_sofia.proxies.rotator_service import RotatorService
from sale_sofia.proxies.sending import refresh_sender
from sale_sofia.proxies.source_list import SourceList
from sale_sofia.proxies.waiting import Wait, wait_for_ready, wait_for_refresh, wait_for_some
from sale_sofia.resilience.redis_client import connect


@dataclass(frozen=True, slots=True)
class ProxyControl:
    """Proxies of a data folder, on a Redis that is started when it is needed."""

    settings: Settings
    start_redis: Callable[[], str]
    between: Callable[[], None]
    """Done between two looks: keeps house, and raises when an end was asked for."""
    rotator: RotatorService

    def trigger_refresh(self) -> str:
        """The job of the refresh that is under way; begun now if there was none."""
        url = self.start_redis()
        return asyncio.run(trigger(url, refresh_sender(url)))

    def wait_for_refresh(self, job_id: str, seconds: float) -> RefreshProgress:
        """Its last numbers, when it has ended; `RefreshStillOpen` when the time is up."""

        async def wait(url: str) -> RefreshProgress:
            async with connect(url) as redis:
                return await wait_for_refresh(redis, job_id, seconds, self.between)

        return asyncio.run(wait(self.start_redis()))

    def wait_for_proxies(self, seconds: float, wanted: Mapping[str, int] | None = None) -> dict[str, int]:
        """How many are ready for each portal that uses proxies, when each has MIN_PROXIES_TO_START.

        Raises:
            ProxiesStillMissing: the time was up.
        """
        least = self.settings.min_proxies_to_start
        counts = dict(wanted) if wanted else {config.site: least for config in sites_with_proxies()}

        async def wait(url: str) -> dict[str, int]:
            pool = await get_pool(self.settings, url)
            try:
                async with connect(url) as redis:
                    return await wait_for_ready(redis, pool, counts, seconds, self.between)
            finally:
                await pool.close()

        return asyncio.run(wait(self.start_redis()))

    def supply(self, sites: Collection[str], wait: Wait) -> dict[str, int]:
        """How many are ready for each portal; with too few a refresh is begun and waited for."""
        wanted = dict.fromkeys(sites, self.settings.min_proxies_to_start)
        return asyncio.run(self._supply(self.start_redis(), wanted, wait))

    async def _supply(self, url: str, wanted: dict[str, int], wait: Wait) -> dict[str, int]:
        pool = await get_pool(self.settings, url)
        try:
            found = {domain: await pool.ready(domain) for domain in wanted}
            listed = SourceList(self.settings.data_dir).sources()
            if not listed or all(found[domain] >= least for domain, least in wanted.items()):
                return found
            job_id = await trigger(url, refresh_sender(url))
            async with connect(url) as redis:
                return await wait_for_some(redis, pool, wanted, job_id, wait)
        finally:
            await pool.close()

    def start_rotator(self) -> str:
        """The address of a rotator at work."""
        url = self.start_redis()
        return self.rotator.start(url, asyncio.run(self._known(url)), self.between)

    async def _known(self, url: str) -> list[Proxy]:
        pool = await get_pool(self.settings, url)
        try:
            return await pool.known()
        finally:
            await pool.close()
