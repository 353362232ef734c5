import asyncio

import pytest

from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.resilience import errors as tree
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.telemetry.metrics import NO_METER, MetricsCollector, measured, verdict_of
from tables import each_row

ANSWER = Response("https://x/1", 200, {}, b"12345", 0.25)


def collector() -> MetricsCollector:
    return MetricsCollector("job")


def test_a_good_request_is_counted_once() -> None:
    meter = collector()
    with measured(meter, "x") as request:
        request.response = ANSWER
    assert meter.domains["x"].verdicts == {"ok": 1}
    assert meter.domains["x"].bytes == 5
    assert meter.domains["x"].response.mean() == 0.25


def test_a_verdict_of_its_own() -> None:
    meter = collector()
    with measured(meter, "x") as request:
        request.response, request.verdict = ANSWER, "removed"
    assert meter.domains["x"].verdicts == {"removed": 1}


def test_an_answer_that_is_an_error_has_a_time() -> None:
    meter = collector()

    def blocked() -> None:
        with measured(meter, "x") as request:
            request.response = ANSWER
            raise tree.HttpBlocked("captcha")

    with pytest.raises(tree.HttpBlocked):
        blocked()
    assert meter.domains["x"].verdicts == {"blocked": 1}
    assert meter.domains["x"].response.count == 1


def test_no_answer_has_no_time() -> None:
    meter = collector()
    with pytest.raises(tree.NetworkTimeout), measured(meter, "x"):
        raise tree.NetworkTimeout("30 s")
    assert meter.domains["x"].verdicts == {"no_answer": 1}
    assert meter.domains["x"].response.count == 0


def test_a_cancelled_request_is_nobodys() -> None:
    meter = collector()
    with pytest.raises(asyncio.CancelledError), measured(meter, "x"):
        raise asyncio.CancelledError
    assert meter.domains == {}


@each_row(
    ("error", "verdict"),
    [
        (tree.HttpRateLimit("429"), "rate_limited"),
        (tree.HttpBlocked("403"), "blocked"),
        (tree.HttpServer("503"), "server_error"),
        (tree.HttpClient("400"), "client_error"),
        (tree.ParseSelector("layout"), "unreadable"),
        (tree.ParseOtherPage("another"), "unreadable"),
        (tree.ServiceProxy("dead"), "proxy_fault"),
        (tree.NetworkBroken("half"), "truncated"),
        (tree.NetworkReset("reset"), "no_answer"),
        (tree.NetworkDns("unknown"), "no_answer"),
        (tree.BodyTooLarge("9 MB"), "refused"),
        (CrawlError("what"), "refused"),
    ],
)
def test_the_word_for_an_error(error: CrawlError, verdict: str) -> None:
    assert verdict_of(error) == verdict


def test_who_does_not_count_hears_everything() -> None:
    with measured(NO_METER, "x") as request:
        request.response = ANSWER
    with pytest.raises(CrawlError), measured(NO_METER, "x"):
        raise CrawlError
    NO_METER.stored("x", new=1)
    NO_METER.retried("x")
    NO_METER.waited("x", 1.0)
    NO_METER.circuit_open("x", 1.0)
