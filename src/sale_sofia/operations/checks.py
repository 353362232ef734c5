"""The slower checks of the doctor: files that people write, robots.txt, Redis.

Nothing is made, started or changed.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import redis

from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.alerts.editing import check_file
from sale_sofia.alerts.kept import kept_channels
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.crawl.fetch.base import Fetcher
from sale_sofia.crawl.fetch.robots import RobotsGate
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.resilience.errors import CrawlError, LeftAlone
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.runners.schedule import load_schedule
from sale_sofia.crawl.visit.assembly import make_fetcher, request_maker, robots_gate
from sale_sofia.crawl.visit.politely import PoliteFetcher, polite_gate
from sale_sofia.flats.matching.fingerprint import load_secret
from sale_sofia.flats.settings import SECRET_FILE
from sale_sofia.geography import imported
from sale_sofia.installation import open_database
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.doctor import CheckResult, verdict
from sale_sofia.operations.services.redis import check_reachable, connect
from sale_sofia.proxies.sources import SourceList
from sale_sofia.settings.errors import RedisUnreachable
from sale_sofia.settings.model import Settings
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.migrate import HEAD, current_revision
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite, page_limits
from sale_sofia.websites.site_file import (
    SiteConfig,
    SiteConfigError,
    all_starts,
    available_sites,
    load_site_config,
    load_start_urls,
    start_urls_of,
)

_CORRECT: Final = "Correct what the line names; a damaged file may be in a backup."


def check_files(settings: Settings) -> list[CheckResult]:
    """A result for each kind of file, or for each mistake: which file, where in it, what is allowed."""
    folder, proxies = settings.data_dir, SourceList(settings.data_dir)
    imported.use(folder)
    mistakes: dict[str, list[Exception]] = {
        "site files": [
            *_mistakes(load_start_urls),
            *(error for name in available_sites() for error in _mistakes(partial(_load_site, name))),
        ],
        "schedule": _mistakes(lambda: load_schedule(folder)),
        "alerts": _mistakes(lambda: _check_alerts(settings)),
        "profiles": list(load_profiles(folder).mistakes.values()),
        "proxies": _mistakes(proxies.sources, proxies.load_usable),
        "places": _mistakes(*(partial(imported.own, kind) for kind in imported.FILES)),
        "phone key": _mistakes(lambda: load_secret(folder)) if (folder / SECRET_FILE).exists() else [],
    }
    verdicts = []
    for name, errors in mistakes.items():
        lines = [line for error in errors for line in str(error).splitlines()]
        verdicts += [verdict(name, line, _CORRECT) for line in lines]
        if not errors:
            verdicts.append(verdict(name, "as they should be"))
    return verdicts


def _mistakes(*loads: Callable[[], object]) -> list[Exception]:
    mistakes: list[Exception] = []
    for load in loads:
        try:
            load()
        except (ValueError, OSError) as error:
            mistakes.append(error)
    return mistakes


def _load_site(name: str) -> None:
    TableSite(load_site_config(name), page_limits())


def _check_alerts(settings: Settings) -> None:
    """Check the alerts file; what its rules name is looked up if there is a current database."""
    if (file := load_alerts(settings.data_dir)) is None:
        kept_channels(settings.data_dir)  # which are else read with the rules
        return
    database = open_database(settings)
    try:
        if current_revision(database) == HEAD:
            check_file(settings, database, file)
    except DatabaseError:
        return  # reported by the check of the database
    finally:
        database.dispose()


# What robots.txt of each portal allows, requested as politely as any page.

_SECONDS_PER_MINUTE = 60
_LATER = "Nothing of the portal is crawled while its robots.txt cannot be had; try later."


def check_robots(settings: Settings, sites: Sequence[str] = ()) -> list[CheckResult]:
    """What each portal's robots.txt says of its start URLs; all portals without `sites`."""
    if unknown := [site for site in sites if site not in AVAILABLE_SITES]:
        raise UnknownSite(f"no site {unknown[0]!r}; allowed: {', '.join(AVAILABLE_SITES)}")

    async def check_all() -> list[CheckResult]:
        fetcher = make_fetcher(settings)
        try:
            chosen = sites or AVAILABLE_SITES
            return list(await asyncio.gather(*(_check(settings, site, fetcher) for site in chosen)))
        finally:
            await fetcher.close()

    return asyncio.run(check_all())


async def _check(settings: Settings, site: str, fetcher: Fetcher) -> CheckResult:
    name = f"robots {site}"
    try:
        config = load_site_config(site)
    except SiteConfigError as error:
        return verdict(name, str(error), _CORRECT)
    if config.proxies.use:
        return verdict(name, "not asked: this portal is asked through proxies alone")
    try:
        urls = start_urls_of(site)
    except SiteConfigError as error:
        return verdict(name, str(error), "Name start_urls in its site file.")
    gate = polite_gate(settings, config, rate_per_minute(settings, config))
    polite = PoliteFetcher(
        fetcher=fetcher,
        gate=gate,
        domain=site,
        longest_wait=fixed.ROBOTS_WAIT_SECONDS,
        most_redirects=settings.fetch_max_redirects,
    )
    try:
        robots = robots_gate(settings, polite, request_maker(settings, config, urls), {})
        return verdict(name, *await _judge_robots(settings, config, robots, polite.trouble, urls))
    except LeftAlone as error:
        return verdict(name, str(error), _LATER)
    finally:
        await gate.close()


async def _judge_robots(
    settings: Settings,
    config: SiteConfig,
    robots: RobotsGate,
    trouble: list[CrawlError],
    urls: tuple[str, ...],
) -> tuple[str, str | None]:
    forbidden = [url for url in urls if not await robots.allowed(url)]
    if trouble:
        return f"{type(trouble[0]).__name__}: {trouble[0]}", _LATER
    delay = await robots.crawl_delay(urls[0])
    rate = slowed(rate_per_minute(settings, config), delay)
    pace = f"one request every {_SECONDS_PER_MINUTE / rate:.3g} s"
    delay_text = f"Crawl-delay {delay:g} s" if delay is not None else "no Crawl-delay"
    detail = f"{len(urls) - len(forbidden)} of {len(urls)} start URLs allowed, {delay_text}, {pace}"
    if not forbidden:
        return detail, None
    if settings.robots_obeyed and (other := await _allowed_start(config.site, robots)):
        return f"{detail}; a crawl begins at {other}, for robots.txt forbids {', '.join(forbidden)}", None
    obeyed = "they are left alone" if settings.robots_obeyed else "ROBOTS_OBEYED is off: switch it on"
    return f"{detail}; forbidden: {', '.join(forbidden)}", f"Take them out of the start URLs; {obeyed}."


async def _allowed_start(site: str, robots: RobotsGate) -> str | None:
    """The first of the portal's other starts that robots.txt allows."""
    for urls in all_starts(site)[1:]:
        if all([await robots.allowed(url) for url in urls]):
            return urls[0]
    return None


# The Redis that a crawl would use: asked, never started and never changed.

_MILLISECONDS: Final = 1000
_BYTES_PER_MB: Final = 1_000_000
_NOT_TOLD: Final = "the server does not say; its user may not ask for INFO"
Info = dict[str, Any]


def look_at_redis(url: str, whose: str = "") -> Iterator[CheckResult]:
    """Speed, version, memory and persistence of a server that answers; raises RedisUnreachable."""
    place = check_reachable(url)
    with connect(url) as client:
        times = []
        for _ in range(fixed.REDIS_PINGS):
            begun = time.perf_counter()
            client.ping()
            times.append(time.perf_counter() - begun)
        seconds, info = min(times), _info(client)
        slow = f"Slower than {fixed.REDIS_SLOW_SECONDS * _MILLISECONDS:g} ms: use one that is nearer."
        name = str(info.get("server_name", "redis")).capitalize()
        version = info.get("valkey_version") or info.get("redis_version")
        program = f", {name} {version}" if version else ""
        detail = f"{whose}{place} answers in {seconds * _MILLISECONDS:.1f} ms{program}"
        yield verdict("redis server", detail, None if seconds <= fixed.REDIS_SLOW_SECONDS else slow)
        yield verdict("redis memory", *_memory(info))
        yield verdict("redis persistence", *_persistence(info))


def redis_clock_offset(url: str) -> float | None:
    """By how many seconds Redis' clock is ahead of ours; None if it does not answer."""
    try:
        check_reachable(url)
        with connect(url) as client:
            before = time.time()
            seconds, microseconds = client.time()
            # The answer is as old as half of the way there and back.
            return float(seconds) + float(microseconds) / 1e6 - (before + time.time()) / 2
    except (RedisUnreachable, redis.RedisError):
        return None


def _info(client: redis.Redis) -> Info:
    try:
        return dict(client.info())
    except redis.exceptions.NoPermissionError:
        return {}


def _memory(info: Info) -> tuple[str, str | None]:
    if not info:
        return _NOT_TOLD, None
    used, most, policy = int(info["used_memory"]), int(info["maxmemory"]), str(info["maxmemory_policy"])
    detail = f"{used / _BYTES_PER_MB:.1f} MB" + (f" of {most / _BYTES_PER_MB:.0f} MB" if most else "")
    advice = None
    if most and policy != "noeviction":
        advice = "Set maxmemory-policy to noeviction: it may throw away messages and limits."
    elif most and used > fixed.REDIS_MEMORY_SHARE * most:
        advice = "Raise maxmemory: it will soon refuse writes."
    return f"{detail}, {policy}", advice


def _persistence(info: Info) -> tuple[str, str | None]:
    if not info:
        return _NOT_TOLD, None
    if info["aof_enabled"]:
        sound = info["aof_last_write_status"] == "ok"
        return "every write is logged", None if sound else "Its last write to disk failed: look at its log."
    if info["rdb_last_bgsave_status"] != "ok":
        return "snapshots", "Its last snapshot failed: look at its log and at its disk."
    # Enough: after a crash messages are sent again from the database.
    return "no log of writes; after a crash of Redis waiting messages are sent again", None
