from contract.crawl.resilience.backends import Clock
from sale_sofia.crawl.resilience.fallback import GateOutage

GONE = ConnectionError("gone")


def test_while_it_lasts_one_request_tries_now_and_then() -> None:
    clock = Clock()
    outage = GateOutage(clock, 3.0)
    assert [outage.worth_a_try(), outage.worth_a_try(), outage.lasts] == [True, True, False]
    assert [outage.begin(GONE), outage.begin(GONE), outage.lasts] == [True, False, True]
    assert not outage.worth_a_try()
    clock.now += 3.0
    assert [outage.worth_a_try(), outage.worth_a_try()] == [True, False]
    clock.now += 2.9
    assert not outage.worth_a_try()


def test_a_late_answer_from_before_the_loss_does_not_end_it() -> None:
    clock = Clock()
    outage = GateOutage(clock, 3.0)
    asked_before = clock.now
    clock.now += 1.0
    outage.begin(GONE)
    outage.end(asked_before)
    assert outage.lasts
    clock.now += 3.0
    outage.end(clock.now)
    assert not outage.lasts
