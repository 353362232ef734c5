import math

import pytest

from sale_sofia.fetching.base import Verdict, VerdictKind
from sale_sofia.resilience.errors import (
    BodyTooLarge,
    BrokenAnswer,
    ConnectionFailed,
    CrawlError,
    FetchTimeout,
    RobotsDisallowed,
)
from sale_sofia.resilience.gate import Refusal
from sale_sofia.resilience.policy import RetryRules
from sale_sofia.resilience.retry import GiveUp, RetryAt, RetryPolicy


def policy(chance: float = 0.0, jitter: float = 0.5) -> RetryPolicy:
    rules = RetryRules(max_attempts=5, base_delay_seconds=2.0, max_delay_seconds=60.0, jitter_factor=jitter)
    return RetryPolicy(rules, lambda: chance)


def test_waits_double_up_to_the_longest() -> None:
    waits = [policy().delay(attempt) for attempt in (1, 2, 3, 4, 5, 6, 7, 5000)]
    assert waits == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


@pytest.mark.parametrize(
    ("chance", "jitter", "wait"), [(0.5, 0.5, 6.0), (1.0, 0.5, 4.0), (0.75, 1.0, 2.0), (0.9, 0.0, 8.0)]
)
def test_chance_takes_away_its_share_of_the_wait(chance: float, jitter: float, wait: float) -> None:
    assert policy(chance, jitter).delay(3) == pytest.approx(wait)


@pytest.mark.parametrize(
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


def test_the_last_attempt_is_the_last() -> None:
    assert [policy().exhausted(attempts) for attempts in (0, 4, 5, 6)] == [False, False, True, True]


@pytest.mark.parametrize("error", [FetchTimeout(), ConnectionFailed(), BrokenAnswer()])
def test_no_answer_is_tried_again_until_the_attempts_are_used(error: CrawlError) -> None:
    assert policy().plan(error, 2) == RetryAt(4.0, burns_attempt=True)
    gone = policy().plan(error, 5)
    assert gone == GiveUp(f"{type(error).__name__}: all 5 attempts used")


@pytest.mark.parametrize("error", [RobotsDisallowed(), BodyTooLarge(), CrawlError()])
def test_what_waiting_cannot_mend_is_given_up_at_once(error: CrawlError) -> None:
    plan = policy().plan(error, 1)
    assert isinstance(plan, GiveUp)
    assert type(error).__name__ in plan.reason


@pytest.mark.parametrize("kind", ["blocked", "proxy_fault", "server_error", "truncated", "empty"])
def test_bad_answers_are_tried_again_within_the_attempts(kind: VerdictKind) -> None:
    verdict = Verdict(kind, retry_after_seconds=7.0)
    assert policy().plan(verdict, 1) == RetryAt(7.0, burns_attempt=True)
    assert policy().plan(verdict, 5) == GiveUp(f"{kind}: all 5 attempts used")


@pytest.mark.parametrize("kind", ["removed", "redirected"])
def test_answers_that_will_stay_as_they_are_are_not(kind: VerdictKind) -> None:
    assert isinstance(policy().plan(Verdict(kind), 1), GiveUp)


@pytest.mark.parametrize("attempts", [1, 5, 50])
def test_rate_limits_and_open_circuits_use_up_no_attempt(attempts: int) -> None:
    limited = policy().plan(Verdict("rate_limited", retry_after_seconds=120.0), attempts)
    refused = policy().plan(Refusal(45.0, "circuit_open"), attempts)
    assert limited == RetryAt(120.0, burns_attempt=False)
    assert refused == RetryAt(45.0, burns_attempt=False)
