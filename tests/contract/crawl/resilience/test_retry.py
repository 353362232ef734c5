import math

import pytest

from sale_sofia.crawl.resilience.errors import (
    Action,
    BodyTooLarge,
    CrawlError,
    DatabaseCorrupt,
    HttpBlocked,
    HttpClient,
    HttpRateLimit,
    HttpServer,
    LeftAlone,
    NetworkBroken,
    NetworkConnection,
    NetworkReset,
    NetworkTimeout,
    ParseHtml,
    ParseJson,
    ParseOtherPage,
    ParseSelector,
    RobotsDisallowed,
    ServiceProxy,
)
from sale_sofia.crawl.resilience.policy import RetryRules
from sale_sofia.crawl.resilience.retry import GiveUp, RetryAt, RetryPolicy
from tables import each_row


def policy(chance: float = 0.0, jitter: float = 0.5) -> RetryPolicy:
    rules = RetryRules(max_attempts=5, base_delay_seconds=2.0, max_delay_seconds=60.0, jitter_factor=jitter)
    return RetryPolicy(rules, lambda: chance)


def test_waits_double_up_to_the_longest() -> None:
    waits = [policy().delay(attempt) for attempt in (1, 2, 3, 4, 5, 6, 7, 5000)]
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


@each_row(("chance", "jitter", "wait"), [(0.5, 0.5, 6.0), (1.0, 0.5, 4.0), (0.75, 1.0, 2.0), (0.9, 0.0, 8.0)])
def test_chance_takes_away_its_share_of_the_wait(chance: float, jitter: float, wait: float) -> None:
    assert policy(chance, jitter).delay(3) == pytest.approx(wait)


@each_row(
    ("retry_after", "wait"),
    [(None, 4.0), (1.0, 4.0), (90.0, 90.0), (-3.0, 4.0), (math.nan, 4.0), (1e9, 86_400.0)],
)
def test_retry_after_is_the_least_wait(retry_after: float | None, wait: float) -> None:
    assert policy().delay(2, retry_after) == wait


def test_a_base_equal_to_the_longest_wait_never_grows() -> None:
    rules = RetryRules(max_attempts=1, base_delay_seconds=60.0, max_delay_seconds=60.0, jitter_factor=0.0)
    assert RetryPolicy(rules, lambda: 0.0).delay(9) == 60.0


def test_a_base_below_a_second_still_reaches_the_longest_wait() -> None:
    rules = RetryRules(max_attempts=9, base_delay_seconds=0.5, max_delay_seconds=60.0, jitter_factor=0.0)
    assert [RetryPolicy(rules, lambda: 0.0).delay(attempt) for attempt in (7, 8, 99)] == [32.0, 60.0, 60.0]


@each_row(
    ("error", "most", "then"),
    [
        (NetworkConnection, 5, Action.SKIP),
        (NetworkTimeout, 3, Action.SKIP),
        (HttpServer, 5, Action.SKIP),
        (HttpRateLimit, 5, Action.SKIP),
        (HttpBlocked, 3, Action.ESCALATE),
        (ParseHtml, 5, Action.MANUAL_REVIEW),
        (ParseSelector, 3, Action.MANUAL_REVIEW),
    ],
)
def test_each_class_has_its_tries(error: type[CrawlError], most: int, then: Action) -> None:
    plans = [
        policy().plan(error(), attempt, [error.__name__] * (attempt - 1)) for attempt in range(1, most + 2)
    ]
    assert plans[: most - 1] == [RetryAt(2.0**attempt, Action.BACKOFF) for attempt in range(1, most)]
    assert plans[most - 1 :] == [GiveUp(f"{error.__name__}: all {most} attempts used", then)] * 2


def test_tries_that_ended_otherwise_are_none_of_the_class_but_some_of_all() -> None:
    earlier = ["LeftAlone", "HttpRateLimit", "HttpServer", "HttpRateLimit"]
    assert policy().plan(HttpBlocked(), 3, earlier[:3]) == RetryAt(8.0, Action.BACKOFF)
    assert policy().plan(HttpBlocked(), 3, ["HttpServer", "HttpBlocked"]) == RetryAt(8.0, Action.BACKOFF)
    assert policy().plan(HttpBlocked(), 5, earlier) == GiveUp(
        "HttpBlocked: the last of 5 attempts", Action.ESCALATE
    )


def test_a_turn_that_never_comes_in_the_middle_of_a_redirect_ends_though_it_is_no_try() -> None:
    assert isinstance(policy().plan(LeftAlone(), 1, ["LeftAlone"] * 3), RetryAt)
    assert policy().plan(LeftAlone(), 1, ["LeftAlone"] * 4) == GiveUp(
        "LeftAlone: all 5 attempts used", Action.SKIP
    )


@each_row(
    ("error", "then"),
    [
        (RobotsDisallowed, Action.SKIP),
        (BodyTooLarge, Action.SKIP),
        (CrawlError, Action.SKIP),
        (HttpClient, Action.SKIP),
        (ParseOtherPage, Action.SKIP),
        (ParseJson, Action.MANUAL_REVIEW),
        (DatabaseCorrupt, Action.MANUAL_REVIEW),
    ],
)
def test_what_waiting_cannot_mend_is_given_up_at_once(error: type[CrawlError], then: Action) -> None:
    assert policy().plan(error(), 1) == GiveUp(f"{error.__name__}: trying again would not help", then)


@pytest.mark.parametrize(("setting", "rate_limit", "timeout"), [(1, 1, 1), (2, 2, 2), (100, 5, 3)])
def test_no_class_exceeds_the_setting(setting: int, rate_limit: int, timeout: int) -> None:
    rules = RetryRules(max_attempts=setting, base_delay_seconds=2, max_delay_seconds=60, jitter_factor=0)
    own = RetryPolicy(rules, lambda: 0.0)
    tries = (own.tries(HttpServer), own.tries(HttpRateLimit), own.tries(NetworkTimeout), own.tries(ParseJson))
    assert tries == (setting, rate_limit, timeout, 0)


def test_a_connection_that_broke_waits_once_its_quick_try_is_over() -> None:
    assert policy().plan(NetworkReset(), 1) == RetryAt(2.0, Action.BACKOFF)
    assert policy().plan(NetworkBroken(), 2) == RetryAt(4.0, Action.BACKOFF)
    assert policy().plan(ServiceProxy(), 1) == RetryAt(2.0, Action.OTHER_PROXY)


def test_a_retry_after_is_never_undercut() -> None:
    error = HttpRateLimit()
    error.retry_after_seconds = 120.0
    assert policy(chance=0.9).plan(error, 1) == RetryAt(120.0, Action.BACKOFF)


def test_a_retry_that_is_not_paid_for_waits_longest() -> None:
    assert (policy().longest_delay(), policy(chance=0.5).longest_delay()) == (60.0, 45.0)
