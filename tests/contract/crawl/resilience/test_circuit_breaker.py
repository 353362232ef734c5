from dataclasses import replace

import pytest

from contract.crawl.resilience.backends import Backend
from sale_sofia.crawl.resilience.breaker import CircuitState, CircuitStatus, Permission
from sale_sofia.crawl.resilience.policy import BreakerRules
from sale_sofia.crawl.resilience.redis_parts import CircuitBreaker

IMOT = "imot.bg"
CHANCE = 0.5
RULES = BreakerRules(
    fail_max=3,
    reset_timeout_seconds=60.0,
    half_open_calls=2,
    window_seconds=100.0,
    window_buckets=10,
    min_volume=10,
    failure_rate=0.5,
    reset_step=2.0,
    reset_max_seconds=300.0,
    reset_jitter=0.2,
    probe_lease_seconds=30.0,
    probe_busy_seconds=5.0,
)


class Fuse:
    """A breaker asked step by step."""

    def __init__(self, backend: Backend, rules: BreakerRules = RULES) -> None:
        self.breaker: CircuitBreaker = backend.breaker(rules, lambda: CHANCE)
        self.run = backend.run

    def allow(self, now: float, domain: str = IMOT) -> Permission:
        return self.run(self.breaker.allow(domain, now))

    def record(self, permission: Permission, now: float, *, ok: bool, block: str | None = None) -> None:
        self.run(self.breaker.record(IMOT, permission, ok=ok, now=now, block_kind=block))

    def cancel(self, permission: Permission) -> None:
        self.run(self.breaker.cancel(IMOT, permission))

    def confirm(self, permission: Permission, now: float) -> Permission:
        return self.run(self.breaker.confirm(IMOT, permission, now))

    def renew(self, permission: Permission, now: float) -> bool:
        return self.run(self.breaker.renew(IMOT, permission.token, now))

    def results(self, signs: str, now: float) -> None:
        for sign in signs:
            self.record(self.allow(now), now, ok=sign == "+")

    def status(self) -> CircuitStatus:
        return self.run(self.breaker.get_state(IMOT))

    @property
    def state(self) -> CircuitState:
        return self.status().state


@pytest.fixture
def fuse(backend: Backend) -> Fuse:
    return Fuse(backend)


@pytest.fixture
def half_open(fuse: Fuse) -> Fuse:
    """Opened at 0; the first question from 60 on is a probe."""
    fuse.results("---", now=0.0)
    return fuse


def test_nothing_known_is_closed(fuse: Fuse) -> None:
    assert fuse.status() == CircuitStatus()
    assert fuse.allow(0.0).allowed


def test_failures_in_a_row_open_it(fuse: Fuse) -> None:
    fuse.results("--", now=10.0)
    assert fuse.state == "CLOSED"
    fuse.results("-", now=10.0)
    refused = fuse.allow(25.0)
    assert (fuse.state, refused.allowed, refused.retry_after_seconds) == ("OPEN", False, 45.0)


def test_a_success_ends_the_row(fuse: Fuse) -> None:
    fuse.results("--+--+--", now=0.0)
    assert fuse.state == "CLOSED"


def test_failures_of_long_ago_do_not_add_up(fuse: Fuse) -> None:
    fuse.results("--", now=0.0)
    fuse.results("--", now=100.1)
    assert (fuse.state, fuse.status().failures) == ("CLOSED", 2)
    fuse.results("-", now=200.0)
    assert fuse.state == "OPEN"


def test_failures_as_far_apart_as_the_window_is_long_still_add_up(fuse: Fuse) -> None:
    fuse.results("-", now=0.0)
    fuse.results("-", now=100.0)
    assert fuse.status().failures == 2


def test_half_of_many_failing_opens_it_though_never_in_a_row(fuse: Fuse) -> None:
    fuse.results("+-" * 4 + "+", now=0.0)
    assert fuse.state == "CLOSED"
    fuse.results("-", now=0.0)
    assert fuse.state == "OPEN"


def test_less_than_half_failing_does_not(fuse: Fuse) -> None:
    fuse.results("++-" * 20, now=0.0)
    assert fuse.state == "CLOSED"


def test_the_failure_rate_forgets_what_left_the_window(fuse: Fuse) -> None:
    fuse.results("+-" * 4, now=0.0)
    fuse.results("+-", now=100.0)
    assert fuse.state == "CLOSED"


def test_the_window_moves_on_bucket_by_bucket(fuse: Fuse) -> None:
    fuse.results("+-" * 4, now=9.9)
    fuse.results("+-", now=99.9)
    assert fuse.state == "OPEN"


def test_open_until_the_very_end_then_as_many_probes_as_allowed(half_open: Fuse) -> None:
    assert not half_open.allow(59.999).allowed
    asked = [half_open.allow(60.0) for _ in range(4)]
    assert [(one.allowed, one.probe) for one in asked] == [(True, True)] * 2 + [(False, False)] * 2
    assert (half_open.state, asked[2].retry_after_seconds) == ("HALF_OPEN", 5.0)


def test_it_closes_when_all_probes_succeeded(half_open: Fuse) -> None:
    first, second = half_open.allow(60.0), half_open.allow(60.0)
    half_open.record(first, 61.0, ok=True)
    assert (half_open.state, half_open.allow(61.0).allowed) == ("HALF_OPEN", False)
    half_open.record(second, 62.0, ok=True)
    status = half_open.status()
    assert (status.state, status.opened_at, status.retry_at) == ("CLOSED", None, None)
    assert not half_open.allow(62.0).probe


def test_one_failed_probe_opens_it_for_longer_with_jitter(half_open: Fuse) -> None:
    half_open.record(half_open.allow(60.0), 70.0, ok=False)
    refused = half_open.allow(70.0)
    status = half_open.status()
    assert (status.state, status.opened_at, status.retry_at) == (
        "OPEN",
        70.0,
        70.0 + refused.retry_after_seconds,
    )
    assert refused.retry_after_seconds == pytest.approx(60 * 2 * (1 + 0.2 * CHANCE))


def test_the_time_open_grows_up_to_its_cap_and_is_short_again_after_closing(half_open: Fuse) -> None:
    now, waits = 60.0, []
    for _ in range(4):
        half_open.record(half_open.allow(now), now, ok=False)
        waits.append(half_open.allow(now).retry_after_seconds)
        now += waits[-1]
    assert waits == pytest.approx([132.0, 290.4, 300.0, 300.0])
    half_open.results("++", now)
    half_open.results("---", now)
    assert half_open.allow(now).retry_after_seconds == pytest.approx(60.0)


def test_a_first_timeout_above_the_cap_is_kept(backend: Backend) -> None:
    rules = BreakerRules(fail_max=1, reset_timeout_seconds=500.0, half_open_calls=1, reset_max_seconds=300.0)
    long = Fuse(backend, rules)
    long.results("-", now=0.0)
    long.record(long.allow(500.0), 500.0, ok=False)
    assert long.allow(500.0).retry_after_seconds == 500.0


def test_a_probe_not_heard_of_gives_its_lease_back(half_open: Fuse) -> None:
    half_open.allow(60.0)
    half_open.allow(70.0)
    assert half_open.allow(88.0).retry_after_seconds == 2.0
    assert [half_open.allow(90.0).probe, half_open.allow(90.0).allowed] == [True, False]


@pytest.mark.parametrize("ok", [True, False])
def test_the_late_result_of_a_lost_probe_changes_nothing(half_open: Fuse, *, ok: bool) -> None:
    lost = half_open.allow(60.0)
    half_open.allow(90.0)
    before = half_open.status()
    half_open.record(lost, 90.0, ok=ok)
    assert half_open.status() == before
    assert [half_open.allow(90.0).allowed, half_open.allow(90.0).allowed] == [True, False]


def test_a_cancelled_probe_may_be_made_again_and_counts_for_nothing(half_open: Fuse) -> None:
    first, _ = half_open.allow(60.0), half_open.allow(60.0)
    half_open.cancel(first)
    assert half_open.state == "HALF_OPEN"
    assert [half_open.allow(60.0).allowed, half_open.allow(60.0).allowed] == [True, False]
    half_open.record(first, 60.0, ok=False)
    assert half_open.state == "HALF_OPEN"


def test_stragglers_neither_push_the_reset_out_nor_close_anything(fuse: Fuse) -> None:
    late = [fuse.allow(0.0) for _ in range(4)]
    fuse.results("---", now=0.0)
    before = fuse.status()
    fuse.record(late[0], 50.0, ok=False, block="captcha")
    fuse.record(late[1], 65.0, ok=True)
    assert fuse.status() == before
    assert fuse.allow(60.0).probe
    fuse.record(late[2], 61.0, ok=False)
    fuse.record(late[3], 61.0, ok=True)
    assert fuse.state == "HALF_OPEN"
    assert [fuse.allow(61.0).allowed, fuse.allow(61.0).allowed] == [True, False]


def test_stragglers_of_an_earlier_closed_time_do_not_open_it_again(fuse: Fuse) -> None:
    late = [fuse.allow(0.0) for _ in range(3)]
    fuse.results("---", now=0.0)
    fuse.results("++", now=60.0)
    for one in late:
        fuse.record(one, 61.0, ok=False)
    assert (fuse.state, fuse.status().failures) == ("CLOSED", 0)


def test_a_refused_request_has_no_result(half_open: Fuse) -> None:
    refused = half_open.allow(10.0)
    half_open.record(refused, 10.0, ok=False)
    assert half_open.status().opened_at == 0.0


def test_a_permission_that_still_holds_is_confirmed_as_it_is(half_open: Fuse) -> None:
    probe = half_open.allow(60.0)
    assert half_open.confirm(probe, 89.9) is probe
    assert half_open.status().allowed == 4


def test_a_permission_from_before_the_opening_is_not_confirmed(fuse: Fuse) -> None:
    early = fuse.allow(0.0)
    fuse.results("---", now=0.0)
    assert (fuse.confirm(early, 20.0).allowed, fuse.confirm(early, 20.0).retry_after_seconds) == (False, 40.0)
    assert fuse.confirm(early, 60.0).probe


def test_a_probe_whose_lease_ended_needs_a_new_one(half_open: Fuse) -> None:
    first = half_open.allow(60.0)
    assert half_open.allow(90.0).allowed
    assert half_open.allow(90.0).allowed
    assert not half_open.confirm(first, 90.0).allowed


def test_the_status_tells_what_happened(fuse: Fuse) -> None:
    for block in ("captcha", "cloudflare", None):
        fuse.record(fuse.allow(5.0), 5.0, ok=False, block=block)
    fuse.allow(6.0)
    status = fuse.status()
    assert (status.state, status.failures, status.opened_at, status.retry_at) == ("OPEN", 3, 5.0, 65.0)
    assert (status.last_block, status.allowed, status.refused) == ("cloudflare", 3, 1)


def test_domains_do_not_share_a_circuit(half_open: Fuse) -> None:
    assert half_open.allow(1.0, "bazar.bg").allowed
    states = half_open.run(half_open.breaker.get_all_states())
    assert {domain: status.state for domain, status in states.items()} == {IMOT: "OPEN", "bazar.bg": "CLOSED"}


def test_looking_at_a_domain_does_not_make_it_known(fuse: Fuse) -> None:
    fuse.status()
    assert fuse.run(fuse.breaker.get_all_states()) == {}


def test_who_asks_twice_under_one_name_makes_one_probe(half_open: Fuse) -> None:
    asked = [half_open.run(half_open.breaker.allow(IMOT, 60.0, "me")) for _ in range(2)]
    assert [half_open.allow(60.0).allowed, half_open.allow(60.0).allowed] == [True, False]
    asked.append(half_open.run(half_open.breaker.allow(IMOT, 60.0, "me")))
    assert [(one.probe, one.token) for one in asked] == [(True, "me")] * 3
    assert half_open.status().allowed == 5


def test_a_renewed_probe_keeps_its_lease_and_a_lost_one_does_not(half_open: Fuse) -> None:
    first, second = half_open.allow(60.0), half_open.allow(60.0)
    assert half_open.renew(first, 80.0)
    assert [half_open.allow(95.0).allowed, half_open.allow(95.0).allowed] == [True, False]
    assert [half_open.renew(second, 95.0), half_open.renew(first, 110.0)] == [False, False]


def test_a_probe_of_an_earlier_test_takes_no_room_in_the_next(backend: Backend) -> None:
    rules = replace(RULES, probe_lease_seconds=1000.0)
    fuse = Fuse(backend, rules)
    fuse.results("---", now=0.0)
    failed, _ = fuse.allow(60.0), fuse.allow(60.0)
    fuse.record(failed, 60.0, ok=False)
    assert [fuse.allow(400.0).allowed for _ in range(3)] == [True, True, False]


def test_a_half_open_circuit_whose_good_probes_are_enough_by_new_settings_is_closed(backend: Backend) -> None:
    before = Fuse(backend)
    for _ in range(RULES.fail_max):
        before.record(before.allow(0.0), 0.0, ok=False)
    before.record(before.allow(60.0), 60.0, ok=True)
    after = Fuse(backend, replace(RULES, half_open_calls=1))
    given = [after.allow(61.0), after.allow(100.0), after.allow(100_000.0)]
    assert [(one.allowed, one.probe) for one in given] == [(True, False)] * 3
