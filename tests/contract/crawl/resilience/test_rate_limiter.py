import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from contract.crawl.resilience.backends import Backend
from sale_sofia.crawl.resilience.limiter import Reservation
from sale_sofia.crawl.resilience.policy import LimiterRules
from sale_sofia.crawl.resilience.redis_parts import RateLimiter

IMOT = "imot.bg"
ONE = LimiterRules(burst=1)
TWO = LimiterRules(burst=2)
RATES = {IMOT: 10.0, "bazar.bg": 60.0, "homes.bg": 7.0}


class Pacer:
    """A limiter asked step by step, with as much patience as needed unless told otherwise."""

    def __init__(self, backend: Backend, rules: LimiterRules) -> None:
        self.limiter: RateLimiter = backend.limiter(rules, RATES.__getitem__)
        self.run = backend.run

    def reserve(self, now: float, max_wait: float = math.inf, domain: str = IMOT) -> Reservation:
        return self.run(self.limiter.reserve(domain, max_wait, now))

    def instants(self, number: int, now: float, domain: str = IMOT) -> list[float]:
        return [now + self.reserve(now, domain=domain).wait_seconds for _ in range(number)]

    def peek(self, now: float) -> float:
        return self.run(self.limiter.peek(IMOT, now))

    def penalise(self, retry_after: float | None, now: float, seen_epoch: int | None = None) -> None:
        self.run(self.limiter.penalise(IMOT, retry_after, now, seen_epoch=seen_epoch))

    def succeed(self, times: int, now: float) -> None:
        for _ in range(times):
            self.run(self.limiter.succeeded(IMOT, now))

    def epoch(self, domain: str = IMOT) -> int:
        return self.run(self.limiter.epoch(domain))


@pytest.fixture
def pacer(backend: Backend) -> Callable[[LimiterRules], Pacer]:
    return lambda rules: Pacer(backend, rules)


Make = Callable[[LimiterRules], Pacer]


def test_ten_a_minute_is_one_every_six_seconds(pacer: Make) -> None:
    assert pacer(ONE).instants(4, now=1000.0) == [1000.0, 1006.0, 1012.0, 1018.0]


@pytest.mark.parametrize("now", [0.0, 86_400.5, 1_790_000_000.25])
def test_spacing_is_exact_to_the_microsecond(pacer: Make, now: float) -> None:
    instants = pacer(ONE).instants(100, now, "homes.bg")
    gaps = [later - earlier for earlier, later in pairwise(instants)]
    assert gaps == pytest.approx([60 / 7] * 99, rel=0, abs=1e-6)


def test_a_burst_of_two_goes_at_once_and_then_keeps_the_pace(pacer: Make) -> None:
    assert pacer(TWO).instants(4, now=50.0) == [50.0, 50.0, 56.0, 62.0]


def test_a_rest_of_any_length_saves_up_no_more_than_the_burst(pacer: Make) -> None:
    limiter = pacer(TWO)
    limiter.instants(2, now=0.0)
    assert limiter.instants(3, now=100_000.0) == [100_000.0, 100_000.0, 100_006.0]


def test_a_late_caller_shifts_the_pace_and_catches_nothing_up(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.reserve(0.0)
    assert limiter.instants(2, now=7.0) == [7.0, 13.0]


def test_a_refusal_says_how_long_and_reserves_nothing(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.reserve(0.0)
    refused = [limiter.reserve(0.0, max_wait=5.999999) for _ in range(3)]
    assert refused == [Reservation(granted=False, wait_seconds=6.0, epoch=0)] * 3
    assert limiter.reserve(0.0, max_wait=6.0) == Reservation(granted=True, wait_seconds=6.0, epoch=0)


def test_peeking_reserves_nothing(pacer: Make) -> None:
    limiter = pacer(ONE)
    assert [limiter.peek(0.0), limiter.peek(0.0)] == [0.0, 0.0]
    limiter.reserve(0.0)
    assert [limiter.peek(1.0), limiter.peek(1.0)] == [5.0, 5.0]


def test_each_domain_has_its_own_rate_and_its_own_queue(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.instants(5, now=0.0)
    assert limiter.instants(3, 0.0, "bazar.bg") == [0.0, 1.0, 2.0]


def test_a_penalty_stops_everybody_and_halves_the_rate_without_a_burst(pacer: Make) -> None:
    limiter = pacer(TWO)
    limiter.penalise(30.0, now=100.0)
    assert limiter.reserve(100.0, max_wait=29.9) == Reservation(granted=False, wait_seconds=30.0, epoch=1)
    assert limiter.instants(3, now=110.0) == [130.0, 142.0, 154.0]


def test_there_is_no_burst_for_those_who_come_when_the_pause_is_over(pacer: Make) -> None:
    limiter = pacer(TWO)
    limiter.penalise(30.0, now=100.0)
    assert limiter.instants(2, now=130.0) == [130.0, 142.0]


def test_a_penalty_frees_the_instants_it_made_void(pacer: Make) -> None:
    limiter = pacer(ONE)
    assert limiter.instants(5, now=0.0)[-1] == 24.0
    limiter.penalise(15.0, now=1.0)
    assert limiter.instants(2, now=1.0) == [16.0, 28.0]


@pytest.mark.parametrize(
    ("retry_after", "pause"),
    [
        (None, 30.0),
        (45.5, 45.5),
        (0.0, 12.0),
        (-5.0, 12.0),
        (11.0, 12.0),
        (math.nan, 12.0),
        (math.inf, 86_400.0),
        (1e12, 86_400.0),
    ],
)
def test_any_retry_after_gives_a_pause_of_sense(pacer: Make, retry_after: float | None, pause: float) -> None:
    limiter = pacer(ONE)
    limiter.penalise(retry_after, now=0.0)
    assert limiter.peek(0.0) == pause


def test_a_shorter_penalty_never_shortens_a_longer_one(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.penalise(600.0, now=0.0)
    limiter.penalise(5.0, now=10.0)
    assert limiter.peek(10.0) == 590.0


def test_penalties_slow_down_to_a_sixteenth_and_no_further(pacer: Make) -> None:
    limiter = pacer(ONE)
    for _ in range(10):
        limiter.penalise(1.0, now=0.0)
    first, second = limiter.instants(2, now=1000.0)
    assert second - first == 6.0 * 16


def test_refusals_of_requests_that_went_together_slow_down_once(pacer: Make) -> None:
    limiter = pacer(ONE)
    for _ in range(3):
        limiter.penalise(1.0, now=0.0, seen_epoch=0)
    assert limiter.instants(2, now=1000.0) == [1000.0, 1012.0]
    limiter.penalise(1.0, now=2000.0, seen_epoch=3)
    assert limiter.instants(2, now=3000.0) == [3000.0, 3024.0]


def test_a_late_refusal_still_moves_the_pause(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.penalise(20.0, now=0.0, seen_epoch=0)
    limiter.penalise(90.0, now=1.0, seen_epoch=0)
    assert limiter.peek(1.0) == 90.0


def test_every_penalty_moves_the_epoch_of_its_domain_alone(pacer: Make) -> None:
    limiter = pacer(ONE)
    before = limiter.reserve(0.0).epoch
    epochs = []
    for _ in range(3):
        limiter.penalise(1.0, now=0.0)
        epochs.append(limiter.epoch())
    assert (before, epochs) == (0, [1, 2, 3])
    assert limiter.epoch("bazar.bg") == 0
    assert limiter.reserve(100.0).epoch == 3


def test_a_slowed_domain_recovers_step_by_step(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.penalise(10.0, now=0.0)
    limiter.succeed(4, now=100.0)
    assert limiter.instants(2, now=100.0) == [100.0, 112.0]
    limiter.succeed(1, now=200.0)
    assert limiter.instants(2, now=200.0) == pytest.approx([200.0, 210.8])


@pytest.mark.slow
def test_recovery_ends_at_the_configured_rate(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.penalise(10.0, now=0.0)
    limiter.succeed(34, now=100.0)
    slow = limiter.instants(2, now=1000.0)
    limiter.succeed(1000, now=2000.0)
    assert slow[1] - slow[0] > 6.0
    assert limiter.instants(2, now=3000.0) == [3000.0, 3006.0]


def test_answers_from_before_the_pause_are_no_recovery(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.penalise(50.0, now=0.0)
    limiter.succeed(100, now=49.9)
    assert limiter.instants(2, now=100.0) == [100.0, 112.0]
    limiter.succeed(5, now=50.0)
    assert limiter.instants(2, now=200.0) == pytest.approx([200.0, 210.8])


def test_a_new_penalty_begins_the_count_of_good_answers_again(pacer: Make) -> None:
    limiter = pacer(ONE)
    limiter.penalise(10.0, now=0.0)
    limiter.succeed(4, now=100.0)
    limiter.penalise(10.0, now=200.0)
    limiter.succeed(4, now=300.0)
    assert limiter.instants(2, now=300.0) == [300.0, 324.0]


def test_a_burst_that_is_used_up_stays_used_up_at_another_rate(pacer: Make) -> None:
    limiter = pacer(TWO)
    assert limiter.instants(2, now=0.0) == [0.0, 0.0]
    limiter.run(limiter.limiter.set_rate(IMOT, 60.0))
    assert limiter.instants(2, now=0.0) == [1.0, 2.0]
