"""What holds for the breaker in every history, and not only in the told ones."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from contract.crawl.resilience.backends import BACKENDS
from sale_sofia.crawl.resilience.breaker import CircuitStatus, Permission
from sale_sofia.crawl.resilience.policy import BreakerRules

IMOT = "imot.bg"
LEASE = 20.0
RESET = 10.0


class BreakerHistory(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.backend = BACKENDS[self.kind]()
        self.now = 1000.0
        self.given: list[Permission] = []
        self.probes: dict[Permission, float] = {}

    @initialize(probes=st.integers(1, 3), fail_max=st.integers(1, 3))
    def begin(self, probes: int, fail_max: int) -> None:
        self.most = probes
        self.breaker = self.backend.breaker(
            BreakerRules(
                fail_max=fail_max,
                reset_timeout_seconds=RESET,
                half_open_calls=probes,
                reset_max_seconds=RESET,
                probe_lease_seconds=LEASE,
            ),
            lambda: 0.5,
        )

    def status(self) -> CircuitStatus:
        return self.backend.run(self.breaker.get_state(IMOT))

    def living(self) -> int:
        generation = self.status().generation
        return sum(end > self.now for one, end in self.probes.items() if one.generation == generation)

    @rule(seconds=st.sampled_from([0.1, 1.0, RESET, LEASE]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def somebody_asks(self) -> None:
        permission = self.backend.run(self.breaker.allow(IMOT, self.now))
        assert permission.allowed == (permission.retry_after_seconds <= 0)
        if permission.allowed:
            self.given.append(permission)
        if permission.probe:
            assert self.status().state == "HALF_OPEN"
            self.probes[permission] = self.now + LEASE

    @rule(ok=st.booleans(), data=st.data())
    def a_result_comes(self, *, ok: bool, data: st.DataObject) -> None:
        if not self.given:
            return
        permission = data.draw(st.sampled_from(self.given))
        before = self.status()
        lost = permission.probe and self.probes.get(permission, self.now) <= self.now
        self.backend.run(self.breaker.record(IMOT, permission, ok=ok, now=self.now, block_kind="captcha"))
        self.probes.pop(permission, None)
        if lost or permission.generation != before.generation:
            assert self.status() == before
        elif permission.probe and not ok:
            assert (self.status().state, self.status().opened_at) == ("OPEN", self.now)

    @rule(data=st.data())
    def somebody_gives_up(self, data: st.DataObject) -> None:
        if not self.probes:
            return
        permission = data.draw(st.sampled_from(list(self.probes)))
        before = self.status()
        self.backend.run(self.breaker.cancel(IMOT, permission))
        del self.probes[permission]
        assert self.status() == before

    @invariant()
    def never_more_probes_at_once_than_allowed(self) -> None:
        assert self.living() <= self.most

    @invariant()
    def an_open_circuit_lets_nobody_through(self) -> None:
        status = self.status()
        if status.state == "OPEN" and self.now < (status.opened_at or 0.0) + RESET:
            assert not self.backend.run(self.breaker.allow(IMOT, self.now)).allowed

    def teardown(self) -> None:
        self.backend.close()


@pytest.mark.slow
@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_no_history_breaks_the_breaker(backend: str) -> None:
    history = type("History", (BreakerHistory,), {"kind": backend})
    run_state_machine_as_test(
        history, settings=settings(max_examples=12, stateful_step_count=50, deadline=None)
    )
