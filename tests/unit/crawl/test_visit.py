"""A visit against a real portal on the loopback: what it asks, what comes of it, what the error log says."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.resilience.policy import RetryBudgetRules
from sale_sofia.crawl.resilience.settings import FRESH_TURN_SECONDS, PROBES_PER_PAGE
from sale_sofia.crawl.tables import spoken
from sale_sofia.crawl.visit.outcomes import Failed, Gone, Later, Outcome, Read
from visiting import RESET, SILENCE, Mistaken, Step, Visiting, advert, good, html, listing, scripted

NO_RETRIES = RetryBudgetRules(share=0.0, per_minute=0.0, most=0.0)
ONE_RETRY = RetryBudgetRules(share=0.0, per_minute=0.0, most=1.0)
OTHER_LAYOUT = "<html><body>Здравейте, това е нов облик на страницата</body></html>"
CAPTCHA = (
    f"<html><body>{'Моля, потвърдете. ' * 400}<div class='g-recaptcha' data-sitekey='0'></div></body></html>"
)
LOST_TEXT = "<html><body>no letter of ours</body></html>"


def why(outcome: Gone | Failed | Later) -> str:
    """As the error log tells it."""
    return spoken(outcome.code, None if isinstance(outcome, Gone) else outcome.reason)


def visits(
    visiting: Visiting, *steps: Step, attempts: tuple[int, ...] = (1,), tried: str | None = None
) -> tuple[list[Outcome], int]:
    """The outcomes of visits to one address, and how often the portal was asked."""

    async def run() -> tuple[list[Outcome], int]:
        async with scripted(*steps) as log:
            outcomes = await visiting.visit(
                *(listing(log.url("").rstrip("/"), one, tried if one > 1 else None) for one in attempts)
            )
            return outcomes, len(log.paths)

    return asyncio.run(run())


def visit(
    visiting: Visiting, *steps: Step, attempt: int = 1, tried: str | None = None
) -> tuple[Outcome, int]:
    [outcome], asked = visits(visiting, *steps, attempts=(attempt,), tried=tried)
    return outcome, asked


def test_a_sound_page_is_read_with_one_request(tmp_path: Path) -> None:
    outcome, asked = visit(Visiting(tmp_path), good())
    assert isinstance(outcome, Read)
    assert (outcome.requests, asked, Visiting(tmp_path).lines("error_type")) == (1, 1, [])


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/closed/1", (False, "RobotsDisallowed", True)),
        ("/closed/login", (True, "HttpBlocked", False)),
    ],
    ids=["a page", "a login"],
)
def test_a_redirect_that_robots_txt_forbids_is_not_followed(
    tmp_path: Path, place: str, expected: tuple[bool, str, bool]
) -> None:
    visiting = Visiting(tmp_path, robots="User-agent: *\nDisallow: /closed/")
    outcome, asked = visit(visiting, web.Response(status=302, headers={"Location": place}), good())
    assert isinstance(outcome, Failed | Later)
    assert asked == 1
    forbidden = isinstance(outcome, Failed) and outcome.forbidden
    assert (isinstance(outcome, Later), outcome.code, forbidden) == expected


def test_a_redirect_that_robots_txt_allows_is_followed(tmp_path: Path) -> None:
    visiting = Visiting(tmp_path, robots="User-agent: *\nDisallow: /closed/")
    moved = web.Response(status=302, headers={"Location": f"{advert()[0]}?moved"})
    outcome, asked = visit(visiting, moved, good())
    assert (type(outcome), asked) == (Read, 2)


def test_a_broken_connection_is_tried_again_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcome, asked = visit(Visiting(tmp_path), RESET, good())
    assert isinstance(outcome, Read)
    assert (outcome.requests, asked) == (2, 2)
    assert Visiting(tmp_path).lines("error_type", "recovery_action", "next_delay", "attempt") == [
        ("NetworkReset", "retry_now", 0.2, 1)
    ]
    assert caplog.records == []  # the error log is enough; nothing is said on the screen


def test_a_connection_that_breaks_twice_waits_in_the_frontier(tmp_path: Path) -> None:
    outcome, asked = visit(Visiting(tmp_path), RESET)
    assert isinstance(outcome, Later)
    assert (outcome.seconds_later, outcome.refund, outcome.requests, asked) == (2.0, False, 2, 2)
    assert why(outcome).startswith("NetworkReset: http://127.0.0.1:")
    assert Visiting(tmp_path).lines("error_type", "recovery_action", "next_delay") == [
        ("NetworkReset", "retry_now", 0.2),
        ("NetworkReset", "backoff", 2.0),
    ]


def test_the_second_try_needs_the_budget(tmp_path: Path) -> None:
    outcome, asked = visit(Visiting(tmp_path, budget=NO_RETRIES), RESET, good())
    assert isinstance(outcome, Later)
    assert (outcome.requests, asked, outcome.refund) == (1, 1, False)


def test_the_second_try_needs_the_gate_and_what_it_cost_comes_back(tmp_path: Path) -> None:
    slow = Visiting(tmp_path, rate=1.0, budget=ONE_RETRY)
    outcome, asked = visit(slow, RESET, good())
    assert isinstance(outcome, Later)
    assert (outcome.requests, asked, outcome.refund) == (1, 1, False)
    [_, *refused], _ = visits(slow, RESET, attempts=(1, 2, 2))
    assert [
        isinstance(one, Later) and (one.code, one.refund, one.all_pages, one.requests) for one in refused
    ] == [("rate_limit", True, True, 0)] * 2


def test_a_page_asked_to_test_a_shut_portal_loses_no_try_and_not_its_turn(tmp_path: Path) -> None:
    blocked = Visiting(tmp_path, fail_max=1, reset_seconds=0.0)
    [first, *probes], asked = visits(blocked, html(CAPTCHA), attempts=(1,) * 4)
    assert isinstance(first, Later)
    assert (first.refund, first.ended_as, first.in_its_place) == (False, "HttpBlocked", False)
    assert [
        isinstance(one, Later) and (one.code, one.refund, one.ended_as, one.in_its_place) for one in probes
    ] == [("HttpBlocked", True, "probed", True)] * 3
    assert asked == 4
    assert blocked.lines("error_type", "recovery_action")[1:] == [("HttpBlocked", "open_circuit")] * 3


def test_a_page_that_failed_as_a_test_again_and_again_is_given_up_like_any_other(tmp_path: Path) -> None:
    blocked = Visiting(tmp_path, fail_max=1, reset_seconds=0.0)
    tried = " ".join(["probed"] * PROBES_PER_PAGE + ["HttpBlocked"] * 2)
    [_, last], _ = visits(blocked, html(CAPTCHA), attempts=(1, 3), tried=tried)
    assert isinstance(last, Failed)
    assert why(last).startswith("HttpBlocked: ")


def test_a_retry_that_is_not_paid_for_is_put_off_and_uses_up_no_attempt(tmp_path: Path) -> None:
    visiting = Visiting(tmp_path, budget=ONE_RETRY)
    [paid, unpaid], asked = visits(visiting, html("busy", 500), attempts=(2, 2))
    assert isinstance(paid, Later)
    assert isinstance(unpaid, Later)
    assert (paid.seconds_later, paid.refund, paid.requests) == (4.0, False, 1)
    assert (unpaid.seconds_later, unpaid.refund, unpaid.all_pages, unpaid.requests) == (60.0, True, False, 0)
    assert why(unpaid) == "retry_budget: the domain has had its share of retries"
    assert asked == 1


def test_first_tries_pay_for_retries_but_only_those_that_went_out(tmp_path: Path) -> None:
    share = RetryBudgetRules(share=0.5, per_minute=0.0, most=1.0)
    visiting = Visiting(tmp_path, budget=share)
    outcomes, asked = visits(visiting, html("busy", 500), attempts=(2, 2, 1, 2, 1, 2))
    assert [isinstance(one, Later) and one.refund for one in outcomes] == [
        False, True, False, True, False, False,
    ]  # fmt: skip
    assert asked == 4


def test_too_many_requests_has_five_tries_of_its_own(tmp_path: Path) -> None:
    limited = html("slow down", 429, Retry_After="7")
    # a visitor of its own for each: the limiter would make the second wait for the pause
    outcomes = [visit(Visiting(tmp_path), limited, attempt=attempt)[0] for attempt in (1, 4, 5)]
    assert [isinstance(one, Later) and (one.seconds_later, one.refund) for one in outcomes[:2]] == [
        (7.0, False), (16.0, False),
    ]  # fmt: skip
    assert isinstance(outcomes[2], Failed)
    assert why(outcomes[2]) == "HttpRateLimit: rate_limited: HTTP 429 (skip)"


def test_a_retry_after_may_be_a_date(tmp_path: Path) -> None:
    # by the portal's own clock, which need not be ours
    sent, until = "Tue, 14 Nov 2023 10:00:00 GMT", "Tue, 14 Nov 2023 10:01:40 GMT"
    outcome, _ = visit(Visiting(tmp_path), html("slow down", 429, Date=sent, Retry_After=until))
    assert isinstance(outcome, Later)
    assert outcome.seconds_later == 100.0


def test_a_block_is_escalated_after_three_tries(tmp_path: Path) -> None:
    outcome, _ = visit(Visiting(tmp_path), html("no", 403), attempt=3, tried="HttpBlocked HttpBlocked")
    assert isinstance(outcome, Failed)
    assert why(outcome) == "HttpBlocked: blocked: HTTP 403 by the portal (escalate)"
    assert Visiting(tmp_path).lines(
        "error_type", "recovery_action", "http_status", "attempt", "next_delay"
    ) == [("HttpBlocked", "escalate", 403, 3, None)]


def test_a_page_that_was_refused_otherwise_is_not_given_up_at_its_first_block(tmp_path: Path) -> None:
    outcome, _ = visit(
        Visiting(tmp_path), html("no", 403), attempt=3, tried="LeftAlone HttpRateLimit NetworkDns"
    )
    assert isinstance(outcome, Later)
    assert (outcome.seconds_later, outcome.refund, outcome.ended_as) == (8.0, False, "HttpBlocked")


def test_a_visit_ends_with_its_own_time_whatever_the_site_allows(tmp_path: Path) -> None:
    started = time.monotonic()
    outcome, _ = visit(Visiting(tmp_path, seconds=0.4, timeout=30.0), SILENCE)
    assert 0.3 < time.monotonic() - started < 20
    assert isinstance(outcome, Later)
    assert why(outcome).startswith("NetworkTimeout")


def test_waiting_for_a_turn_leaves_room_for_the_request(tmp_path: Path) -> None:
    visiting = Visiting(tmp_path, rate=1.0, seconds=30.2, timeout=30.0)
    [first, second], asked = visits(visiting, good(), attempts=(1, 1))
    assert isinstance(first, Read)
    assert isinstance(second, Later)
    assert (second.code, second.refund, asked) == ("rate_limit", True, 1)


def test_a_captcha_where_the_advert_should_be_is_a_block_and_the_breaker_hears_of_it(tmp_path: Path) -> None:
    [seen, after], asked = visits(
        Visiting(tmp_path, fail_max=1, archive=True), html(CAPTCHA), attempts=(1, 1)
    )
    assert isinstance(seen, Later)
    assert why(seen).startswith("HttpBlocked: blocked: HTTP 200 by ")
    assert seen.kept is None
    assert isinstance(after, Later)
    assert (why(after), asked) == ("circuit_open", 1)
    assert Visiting(tmp_path).lines("error_type", "page") == [("HttpBlocked", None)]


def test_a_new_layout_is_kept_for_review_and_no_fault_of_the_portal(tmp_path: Path) -> None:
    visiting = Visiting(tmp_path, fail_max=1, archive=True)
    [seen, again], asked = visits(
        visiting, html(OTHER_LAYOUT), attempts=(1, 3), tried="ParseSelector ParseSelector"
    )
    assert isinstance(seen, Later)
    assert isinstance(again, Failed)
    assert why(again).startswith("ParseSelector: layout_changed: ")
    assert why(again).endswith("(manual_review)")
    assert asked == 2
    assert seen.kept is not None
    body = PageArchive(tmp_path / "archive", 10**9).get(seen.kept.digest)
    assert (body.decode(), seen.kept, again.kept) == (OTHER_LAYOUT, again.kept, seen.kept)
    digest = seen.kept.digest
    assert visiting.lines("error_type", "page") == [("ParseSelector", digest), ("ParseSelector", digest)]


def test_a_page_that_can_never_be_read_is_kept_but_not_read_again(tmp_path: Path) -> None:
    visiting = Visiting(tmp_path, archive=True)
    outcome, _ = visit(visiting, html(LOST_TEXT))
    assert isinstance(outcome, Later)
    assert outcome.kept is None
    [(name, digest)] = visiting.lines("error_type", "page")
    assert name == "ParseHtml"
    assert PageArchive(tmp_path / "archive", 10**9).get(digest).decode() == LOST_TEXT


def test_a_removed_advert_is_no_failure(tmp_path: Path) -> None:
    outcome, _ = visit(Visiting(tmp_path, fail_max=1), html("gone", 404))
    assert isinstance(outcome, Gone)
    assert (why(outcome), outcome.requests, outcome.kept) == ("removed", 1, None)
    assert Visiting(tmp_path).lines("error_type") == []


def test_a_mistake_of_ours_ends_one_page_and_not_the_crawl(tmp_path: Path) -> None:
    visiting = Visiting(tmp_path, site=Mistaken(), fail_max=1, archive=True)
    outcome, _ = visit(visiting, good())
    assert isinstance(outcome, Failed)
    assert why(outcome).startswith("ParseError: KeyError: ")
    assert why(outcome).endswith("(manual_review)")
    [(page,)] = visiting.lines("page")
    assert page is not None


class Told(CurlFetcher):
    """Hears of pages that were blocks after all."""

    def __init__(self) -> None:
        super().__init__("chrome", 5)
        self.blocks: list[str] = []

    async def fetch(self, request: Request) -> Response:
        async def hear(why: str) -> None:
            self.blocks.append(why)

        return replace(await super().fetch(request), disprove=hear)


def test_whoever_led_to_a_captcha_hears_of_it_though_it_looked_like_a_page(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with scripted(html(CAPTCHA), html(OTHER_LAYOUT), good()) as log:
            fetcher = Told()
            visitor = Visiting(tmp_path).visitor([log.host], fetcher)
            for _ in range(3):
                await visitor.visit(listing(log.url("").rstrip("/")))
            await visitor.close()
            await fetcher.close()
            return fetcher.blocks

    assert asyncio.run(run()) == ["captcha"]


class Sleepy(CurlFetcher):
    """Its process gets no time to run until its turn is stale."""

    async def fetch(self, request: Request) -> Response:
        time.sleep(FRESH_TURN_SECONDS + 0.1)  # noqa: ASYNC251 - all coroutines stand still
        return await super().fetch(request)


def test_a_page_whose_turn_has_passed_unused_was_not_asked_for(tmp_path: Path) -> None:
    async def run() -> tuple[Outcome, int]:
        async with scripted(good()) as log:
            fetcher = Sleepy("chrome", 5)
            visitor = Visiting(tmp_path, rate=1.0).visitor([log.host], fetcher)
            outcome = await visitor.visit(listing(log.url("").rstrip("/")))
            await visitor.close()
            await fetcher.close()
            return outcome, len(log.paths)

    outcome, asked = asyncio.run(run())
    assert isinstance(outcome, Later)
    assert (outcome.code, outcome.refund, outcome.requests, asked) == ("rate_limit", True, 0, 0)
