import pytest

from contract.crawl.resilience.backends import Backend, Clock, GatePlan
from sale_sofia.crawl.resilience.breaker import CircuitStatus
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.crawl.resilience.policy import BreakerRules

IMOT = "imot.bg"
BREAKER = BreakerRules(fail_max=2, reset_timeout_seconds=60.0, half_open_calls=1, reset_jitter=0.0)


class House:
    """A gate whose time stands still, asked step by step."""

    def __init__(self, backend: Backend) -> None:
        self.clock = Clock()
        self.run = backend.run
        self.gate = backend.gate(GatePlan(breaker=BREAKER, clock=self.clock, sleep=self.clock.sleep))

    def admit(self, max_wait: float = 60.0) -> Admission | Refusal:
        return self.run(self.gate.admit(IMOT, max_wait))

    def admitted(self) -> Admission:
        admission = self.admit()
        assert isinstance(admission, Admission)
        return admission

    def wait(self, admission: Admission) -> Admission | Refusal:
        return self.run(self.gate.wait(admission))

    def report(self, admission: Admission, outcome: Outcome) -> None:
        self.run(self.gate.report(admission, outcome))

    def results(self, *outcomes: Outcome) -> None:
        """Requests one after the other, with time to spare between them."""
        for outcome in outcomes:
            self.clock.now += 10.0
            self.report(self.admitted(), outcome)

    def status(self) -> CircuitStatus:
        return self.run(self.gate.breaker.get_state(IMOT))

    def peek(self) -> float:
        return self.run(self.gate.limiter.peek(IMOT, self.clock.now))

    def free_places(self) -> int:
        entered = [self.run(self.gate.bulkhead.enter(IMOT, 2, self.clock.now)) for _ in range(3)]
        places = [place for place in entered if place]
        for place in places:
            self.run(self.gate.bulkhead.leave(place))
        return len(places)


@pytest.fixture
def house(gate_backend: Backend) -> House:
    return House(gate_backend)


def test_admissions_are_spaced_and_hold_their_places(house: House) -> None:
    first, second = house.admitted(), house.admitted()
    assert (first.wait_seconds, second.wait_seconds, house.free_places()) == (0.0, 6.0, 0)


def test_no_place_free_is_busy_and_reserves_nothing(house: House) -> None:
    first, _ = house.admitted(), house.admitted()
    assert [house.admit(), house.admit()] == [Refusal(2.0, "busy")] * 2
    house.report(first, Outcome.ok())
    assert house.admitted().wait_seconds == 12.0


def test_too_long_a_wait_is_refused_and_the_place_comes_back(house: House) -> None:
    house.admitted()
    assert house.admit(max_wait=5.9) == Refusal(6.0, "rate_limit")
    assert house.free_places() == 1


def test_an_open_circuit_refuses_before_anything_is_taken(house: House) -> None:
    house.results(Outcome.failure(), Outcome.failure())
    house.clock.now += 20.0
    assert house.admit() == Refusal(40.0, "circuit_open")
    assert (house.free_places(), house.peek()) == (2, 0.0)


def test_waiting_sleeps_the_given_time_and_goes_on(house: House) -> None:
    house.admitted()
    second = house.admitted()
    assert house.wait(second) == second
    assert (house.clock.slept, house.free_places()) == ([6.0], 0)


def test_a_penalty_during_the_wait_stops_the_sleeper(house: House) -> None:
    first, second = house.admitted(), house.admitted()
    limited = Outcome.rate_limited(90.0)
    house.clock.meanwhile.append(lambda: house.gate.report(first, limited))
    assert house.wait(second) == Refusal(84.0, "penalty")
    assert house.free_places() == 2


def test_a_circuit_that_opened_during_the_wait_stops_the_sleeper(house: House) -> None:
    house.results(Outcome.failure())
    first, second = house.admitted(), house.admitted()
    house.clock.meanwhile.append(lambda: house.gate.report(first, Outcome.failure()))
    refused = house.wait(second)
    assert refused == Refusal(60.0 - second.wait_seconds, "circuit_open")
    assert house.free_places() == 2


def test_a_sleeper_that_wakes_into_a_half_open_circuit_is_its_probe(house: House) -> None:
    house.results(Outcome.failure())
    first, second = house.admitted(), house.admitted()
    house.report(first, Outcome.failure())
    house.clock.now += 60.0
    woken = house.wait(second)
    assert isinstance(woken, Admission)
    assert woken.permission.probe
    house.report(woken, Outcome.ok())
    assert (house.status().state, house.free_places()) == ("CLOSED", 2)


def test_a_refused_probe_is_given_back(house: House) -> None:
    house.results(Outcome.failure(), Outcome.failure())
    house.clock.now += 60.0
    house.run(house.gate.limiter.reserve(IMOT, 60.0, house.clock.now))
    assert [house.admit(max_wait=1.0), house.admit(max_wait=1.0)] == [Refusal(6.0, "rate_limit")] * 2
    assert house.admitted().permission.probe


@pytest.mark.parametrize(
    ("outcome", "failures", "block"),
    [
        (Outcome.ok(), 0, None),
        (Outcome.neutral(), 1, None),
        (Outcome.failure(), 2, None),
        (Outcome.rate_limited(), 2, "rate_limit"),
        (Outcome.blocked("captcha"), 2, "captcha"),
    ],
)
def test_the_breaker_hears_what_concerns_it(
    house: House, outcome: Outcome, failures: int, block: str | None
) -> None:
    house.results(Outcome.failure(), outcome)
    assert (house.status().failures, house.status().last_block) == (failures, block)
    assert house.free_places() == 2


@pytest.mark.parametrize(
    ("outcome", "wait"),
    [
        (Outcome.ok(), 6.0),
        (Outcome.neutral(), 6.0),
        (Outcome.failure(), 6.0),
        (Outcome.blocked("captcha"), 6.0),
        (Outcome.failure(retry_after=40.0), 40.0),
        (Outcome.blocked("captcha", retry_after=50.0), 50.0),
        (Outcome.rate_limited(), 30.0),
        (Outcome.rate_limited(70.0), 70.0),
    ],
)
def test_the_limiter_hears_what_concerns_it(house: House, outcome: Outcome, wait: float) -> None:
    house.report(house.admitted(), outcome)
    assert house.peek() == wait


def test_good_answers_let_a_slowed_domain_recover(house: House) -> None:
    house.report(house.admitted(), Outcome.rate_limited(1.0))
    house.clock.now += 100.0
    for _ in range(5):
        house.clock.now += 100.0
        house.report(house.admitted(), Outcome.ok())
    house.clock.now += 100.0
    house.admitted()
    assert house.peek() == pytest.approx(12.0 * 0.9)


def test_refusals_that_come_together_slow_the_domain_once(house: House) -> None:
    first, second = house.admitted(), house.admitted()
    for admission in (first, second):
        house.report(admission, Outcome.rate_limited(10.0))
    house.clock.now += 100.0
    house.run(house.gate.limiter.reserve(IMOT, 0.0, house.clock.now))
    assert house.peek() == 12.0


def test_only_the_first_report_counts(house: House) -> None:
    admission = house.admitted()
    for _ in range(3):
        house.report(admission, Outcome.failure())
    assert (house.status().state, house.status().failures) == ("CLOSED", 1)


def test_a_pause_is_heard_though_the_place_is_lost_but_nothing_else_is(house: House) -> None:
    first, second = house.admitted(), house.admitted()
    house.clock.now += 100.0
    assert house.free_places() == 2
    house.report(first, Outcome.failure())
    assert (house.status().failures, house.peek()) == (0, 0.0)
    house.report(second, Outcome.rate_limited(70.0))
    assert (house.status().failures, house.peek()) == (0, 70.0)


def test_a_probe_that_a_penalty_stopped_leaves_room_for_the_next(house: House) -> None:
    house.results(Outcome.failure(), Outcome.failure())
    house.clock.now += 60.0
    house.run(house.gate.limiter.reserve(IMOT, 60.0, house.clock.now))
    probe = house.admitted()
    house.clock.meanwhile.append(lambda: house.gate.limiter.penalise(IMOT, 20.0, house.clock.now))
    refused = house.wait(probe)
    assert (isinstance(refused, Refusal), house.free_places()) == (True, 2)
    assert house.admitted().permission.probe
