"""Which fetcher a portal gets, what keeps canaries polite, and a refresh in the background of one process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from browsers import chromium_or_skip
from contract.proxies.pools import RULES, proxy
from redis_servers import fresh_database, shared_server
from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.errors import NetworkTimeout
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import memory_gate
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.proxies import control, refresh
from sale_sofia.proxies.browser import BrowserLane, browser_lane
from sale_sofia.proxies.checker import Checker, Label, ProxyFinding
from sale_sofia.proxies.control import (
    LocalRefresh,
    ProxyControl,
    RotatorKeeper,
    RotatorService,
    refresh_here,
    through_proxies,
)
from sale_sofia.proxies.fetcher import ProxiedFetcher, Rung
from sale_sofia.proxies.model import Proxy, ProxyAddress, Use
from sale_sofia.proxies.pool import DomainTable, MemoryProxyPool, domain_tables, get_pool, open_pool
from sale_sofia.proxies.refresh import RefreshResult, canary_request, make_canary
from sale_sofia.proxies.sources import ProxySource, SourceList
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings, SettingsError, load_settings
from sale_sofia.websites.site_file import ProxyTable, SiteConfig, load_site_config
from tables import each_row


def site(**table: object) -> SiteConfig:
    config = load_site_config("imot.bg")
    return config.model_copy(update={"proxies": ProxyTable.model_validate(table)})


def test_no_portal_uses_proxies_unless_its_file_says_so(tmp_path: Path) -> None:
    async def scenario() -> None:
        fetcher = CurlFetcher("chrome", 5)
        settings = Settings(data_dir=tmp_path)
        assert await through_proxies(settings, load_site_config("imot.bg"), fetcher, None) is fetcher
        wrapped = await through_proxies(settings, site(use=True, tiers=["paid"]), fetcher, None)
        assert isinstance(wrapped, ProxiedFetcher)
        assert wrapped.tiers == ("paid",)
        other = await through_proxies(settings, site(use=True), fetcher, None)
        assert isinstance(other, ProxiedFetcher)
        assert other.pool is wrapped.pool
        again = await through_proxies(settings, site(use=True), CurlFetcher("chrome", 5), None)
        assert isinstance(again, ProxiedFetcher)
        assert again.ladder is other.ladder
        assert again.ladder is not wrapped.ladder
        await fetcher.close()

    asyncio.run(scenario())


class Portal:
    """Stands for the client; notes what is asked."""

    def __init__(self, answer: Response | Exception) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    async def fetch(self, request: Request) -> Response:
        self.requests.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def close(self) -> None: ...


@each_row(
    ("answer", "kind"),
    [
        (Response("https://x/robots.txt", 200, {"content-type": "text/plain"}, b"User-agent: *", 0.2), "ok"),
        (Response("https://x/robots.txt", 403, {}, b"no", 0.2), "blocked"),
        (Response("https://x/robots.txt", 404, {}, b"none", 0.2), "target"),
        (NetworkTimeout("late"), "transport"),
    ],
)
def test_a_canary_asks_once_and_within_the_rate(answer: Any, kind: str) -> None:  # noqa: ANN401
    async def scenario() -> tuple[list[str | None], list[Request]]:
        portal = Portal(answer)
        config = ResilienceConfig.from_settings(Settings())
        gate = memory_gate(config, MemoryRateLimiter(config.limiter, lambda _: 1.0), lambda _: 9)
        ask = make_canary(canary_request(load_site_config("imot.bg"), 1000), portal, gate, "imot.bg")
        return [
            use.kind if use else None for use in [await ask(proxy(number), 0.0) for number in (1, 2, 3)]
        ], portal.requests

    kinds, requests = asyncio.run(scenario())
    assert kinds == [kind, None, None]
    assert [request.route.proxy for request in requests if request.route] == ["http://10.0.0.1:3128"]
    assert requests[0].url.endswith("/robots.txt")


def test_a_refresh_in_the_background_is_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    class Refresher:
        async def run(self) -> RefreshResult:
            runs.append(1)
            await asyncio.sleep(0.05)
            return RefreshResult(usable=[proxy(1)])

    monkeypatch.setattr(control, "get_refresher", lambda *_: Refresher())

    async def scenario() -> list[Proxy]:
        pool = MemoryProxyPool(rules=RULES)
        local = LocalRefresh(Settings(data_dir=tmp_path), "imot.bg", pool, None)
        for _ in range(3):
            await local.begin_if_needed()
        await asyncio.sleep(0.2)
        await local.begin_if_needed()
        await local.stop()
        return SourceList(tmp_path).load_usable()

    assert asyncio.run(scenario()) == [proxy(1)]
    assert runs == [1]


def test_a_site_file_says_nothing_wrong_about_proxies() -> None:
    assert load_site_config("imot.bg").proxies == ProxyTable(use=False)
    wrongs: list[dict[str, object]] = [{"us": True}, {"tiers": []}, {"tiers": ["best"]}, {"canary": "x.txt"}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"unknown key|tiers|canary"):
            ProxyTable.model_validate(wrong)


@pytest.mark.parametrize(
    "wrong", ["http://judge", "https://", "https://me:x@judge", "https://judge/path", "judge"]
)
def test_a_judge_is_named_by_its_origin(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("PROXY_JUDGE_URL", wrong)
    with pytest.raises(
        SettingsError, match=r"PROXY_JUDGE_URL: .* is not allowed; https://host\[:port\] \(URL\)"
    ):
        load_settings()
    monkeypatch.setenv("PROXY_JUDGE_URL", "https://judge.example:8443/")
    assert load_settings().proxy_judge_url == "https://judge.example:8443"


@pytest.mark.parametrize("proxies", [True, False])
@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("allowed", [True, False])
def test_the_browser_needs_the_setting_and_the_portals_file(
    tmp_path: Path,
    proxies: bool,  # noqa: FBT001
    enabled: bool,  # noqa: FBT001
    allowed: bool,  # noqa: FBT001
) -> None:
    chromium_or_skip()

    async def scenario() -> bool:
        fetcher = CurlFetcher("chrome", 5)
        settings = Settings(data_dir=tmp_path, browser_enabled=enabled)
        config = site(use=proxies).model_copy(update={"browser_allowed": allowed})
        found = await through_proxies(settings, config, fetcher, None)
        await fetcher.close()
        assert isinstance(found, ProxiedFetcher) == proxies
        lane = found.lane if isinstance(found, ProxiedFetcher) else found
        lane = lane if isinstance(lane, BrowserLane) else None
        if isinstance(found, ProxiedFetcher):
            assert (found.ladder.budgets[Rung.BROWSER] > 0) == (enabled and allowed)
        return lane is not None

    assert asyncio.run(scenario()) == (enabled and allowed)


def test_without_a_browser_the_crawl_goes_on_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(data_dir=tmp_path, browser_enabled=True, browser_path=tmp_path / "none")
    config = load_site_config("imot.bg").model_copy(update={"browser_allowed": True})
    assert browser_lane(settings, config, CurlFetcher("chrome", 5), None) is None
    assert "BROWSER_PATH" in caplog.text


def test_tables_of_all_portals_with_masked_passwords_the_best_first(tmp_path: Path, redis_url: str) -> None:
    settings = Settings(data_dir=tmp_path)
    good, bad = (Proxy(ProxyAddress("http", "10.0.0.1", port, "me", "s3cret")) for port in (1, 2))

    async def scenario() -> list[DomainTable]:
        pool = await get_pool(settings, redis_url)
        for member in (good, bad):
            await pool.put(member)
        await pool.note(good.id, "imot.bg", Use("ok", 0.25))
        await pool.note(bad.id, "imot.bg", Use("blocked", why="captcha"))
        await pool.climbed("imot.bg", Rung.NEW_SESSION)
        await pool.close()
        return await domain_tables(settings, redis_url)

    portal, everywhere = asyncio.run(scenario())
    assert [(row.id, row.latency_seconds, row.last_reason) for row in portal.rows] == [
        (good.id, 0.25, ""),
        (bad.id, None, "captcha"),
    ]
    assert portal.rows[1].ready_in_seconds > 100
    assert (portal.domain, portal.recovery) == ("imot.bg", {"new_session": 1})
    assert (everywhere.domain, len(everywhere.rows)) == ("*", 2)
    assert "s3cret" not in repr([portal, everywhere])
    assert portal.rows[0].address == "http://me:***@10.0.0.1:1"


@pytest.mark.parametrize("portals", [0, 1])
def test_a_rotator_is_kept_where_a_portal_uses_proxies_and_what_fails_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, portals: int
) -> None:
    monkeypatch.setattr(control, "sites_with_proxies", lambda: [site(use=True)] * portals)
    settings = Settings(data_dir=tmp_path)
    said: list[str] = []

    class Control(ProxyControl):
        def start_rotator(self) -> str:
            raise ServiceUnavailable("The rotator cannot listen.")

    proxies = Control(settings, lambda: "redis://nobody", lambda: None, RotatorService(settings))
    keeper = RotatorKeeper(proxies, said.append)
    for step in (keeper.start, keeper.supervise, keeper.supervise):
        step()
    assert said == ["no rotator: The rotator cannot listen. All else goes on."] * portals


def test_a_rotator_of_the_users_gets_no_proxy_in_quarantine(tmp_path: Path) -> None:
    settings, redis_url = Settings(data_dir=tmp_path), fresh_database(shared_server())
    given: list[Proxy] = []

    class Rotator(RotatorService):
        def start(
            self, redis_url: str, proxies: Sequence[Proxy] = (), check: Callable[[], None] = lambda: None
        ) -> str:
            del redis_url, check
            given.extend(proxies)
            return "http://127.0.0.1:1"

    async def scenario() -> None:
        async with open_pool(settings, redis_url) as pool:
            for number in (1, 2):
                await pool.put(proxy(number))
            await pool.quarantine(proxy(2).id, "it changed a plain page")

    asyncio.run(scenario())
    ProxyControl(settings, lambda: redis_url, lambda: None, Rotator(settings)).start_rotator()
    assert given == [proxy(1)]


def test_a_known_proxy_that_no_portal_had_a_turn_for_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels: dict[str, Label] = {proxy(1).id: "usable", proxy(2).id: "unsure", proxy(3).id: "dead"}

    class Looks(Checker):
        async def check(self, proxy: Proxy) -> ProxyFinding:
            return ProxyFinding(proxy, labels.get(proxy.id, "unsure"))

    @asynccontextmanager
    async def open_checker(*_: object) -> AsyncIterator[Checker]:
        yield Looks(judge=None, ourselves=None)

    monkeypatch.setattr(refresh, "open_checker", open_checker)
    settings, sources = Settings(data_dir=tmp_path), SourceList(tmp_path)
    sources.remember([proxy(number) for number in (1, 2, 3)])
    sources.add(ProxySource("10.0.0.4:3128"))  # never found usable yet

    async def scenario() -> None:
        await refresh_here(settings, await get_pool(settings, None), None)

    asyncio.run(scenario())
    assert sources.load_usable() == [proxy(1), proxy(2)]
