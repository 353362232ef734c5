"""What answers and errors say of a proxy; and a chance that both backends draw alike."""

import statistics
from typing import get_args

import pytest

from sale_sofia.crawl.fetch.base import Verdict, VerdictKind
from sale_sofia.crawl.resilience.errors import (
    BodyTooLarge,
    CrawlError,
    ForeignAddress,
    NetworkReset,
    NetworkTimeout,
    NetworkTls,
    ServiceProxy,
)
from sale_sofia.proxies.fetcher import route_of, use_of_error, use_of_verdict
from sale_sofia.proxies.model import NotAProxy, parse_proxy
from sale_sofia.proxies.pool import Chance
from tables import each_row

VERDICTS = {
    "ok": "ok", "not_modified": "ok", "redirected": "ok", "removed": "target", "server_error": "target",
    "rate_limited": "rate_limited", "blocked": "blocked", "proxy_fault": "transport",
    "truncated": "transport",
    "empty": "neutral",
}  # fmt: skip


@each_row("kind", get_args(VerdictKind))
def test_every_verdict_has_its_meaning(kind: VerdictKind) -> None:
    use = use_of_verdict(Verdict(kind, "why", 7.0), 0.5)
    assert (use.kind, use.retry_after_seconds) == (VERDICTS[kind], 7.0)
    assert (use.seconds is not None) is (use.kind == "ok")


@each_row("error", [NetworkTimeout, NetworkReset, NetworkTls, ServiceProxy])
def test_without_an_answer_it_is_the_proxy(error: type[CrawlError]) -> None:
    assert use_of_error(error("x")).kind == "transport"


@pytest.mark.parametrize("error", [ForeignAddress, BodyTooLarge])
def test_what_we_refused_ourselves_is_nobodys_fault(error: type[CrawlError]) -> None:
    assert use_of_error(error("x")).kind == "neutral"


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.5, 7.0), (40.0, 1.2)])
def test_draws_are_of_a_beta_distribution(a: float, b: float) -> None:
    chance = Chance(17)
    drawn = [chance.beta(a, b) for _ in range(4000)]
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert statistics.mean(drawn) == pytest.approx(a / (a + b), abs=0.02)
    assert statistics.pvariance(drawn) == pytest.approx(variance, rel=0.15)
    assert all(0 < number < 1 for number in drawn)


def test_a_session_keeps_its_profile() -> None:
    address = parse_proxy("socks5://me:s3cret@gate.example:1080")
    route = route_of(address, "one")
    assert route == route_of(address, "one")
    assert (route.proxy, route.user, route.password) == ("socks5://gate.example:1080", "me", "s3cret")
    assert len({route_of(address, str(number)).profile for number in range(50)}) > 1


@each_row(
    "text",
    [
        "",
        "host",
        "host:",
        ":80",
        "1.2.3.4.5:80",
        "1.2.3:80",
        "0x7f.1:80",
        "a b:80",
        "[::1:80",
        "http://x:1/path",
    ],
)
def test_what_is_no_proxy_is_refused(text: str) -> None:
    with pytest.raises(NotAProxy):
        parse_proxy(text)
