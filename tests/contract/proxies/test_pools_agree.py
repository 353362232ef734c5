"""Memory and Redis driven side by side: the same questions, clock and seeds give the same answers."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from contract.proxies.pools import BAZAR, IMOT, WORLDS, proxy
from sale_sofia.proxies.model import TIERS, DomainStats, Lease, ProxyQuery, Use
from sale_sofia.proxies.pool import ScoredProxyPool
from sale_sofia.proxies.settings import PoolRules

RULES = PoolRules(spacing_seconds=5.0, lease_seconds=30.0, sticky_seconds=1e6, candidates=3, explored=2)
DOMAINS = st.sampled_from([IMOT, BAZAR])
PROXIES = st.builds(proxy, st.integers(1, 9), st.sampled_from(TIERS))
USES = st.sampled_from(
    [
        Use("ok", 0.2),
        Use("ok", 9.0),
        Use("ok"),
        Use("blocked", why="captcha"),
        Use("blocked", retry_after_seconds=500.5, why="403"),
        Use("transport", why="reset"),
        Use("target"),
        Use("rate_limited", retry_after_seconds=42.25),
        Use("neutral"),
    ]
)
WISHES = st.builds(
    ProxyQuery,
    tiers=st.lists(st.sampled_from(TIERS), min_size=1, unique=True).map(tuple),
    session=st.sampled_from([None, None, "one", "two"]),
    only=st.sampled_from(["", "", "", proxy(1).id, proxy(2).id]),
    exclude=st.lists(st.integers(1, 9).map(lambda number: proxy(number).id), max_size=3).map(tuple),
)


class PoolPair(RuleBasedStateMachine):
    pool_rules = RULES

    def __init__(self) -> None:
        super().__init__()
        self.worlds = [WORLDS[name](self.pool_rules) for name in ("memory", "redis")]
        self.leases: list[Lease] = []

    def both(self, ask: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:  # noqa: ANN401
        memory, other = (world.run(ask(world.pool)) for world in self.worlds)
        assert other == memory
        return memory

    @rule(seconds=st.sampled_from([0.0, 1.0, 4.9, 5.0, 30.0, 119.0]) | st.floats(0, 400))
    def time_passes(self, seconds: float) -> None:
        for world in self.worlds:
            world.now += seconds

    @rule(candidate=PROXIES)
    def a_check_finds_one(self, candidate: Any) -> None:  # noqa: ANN401
        self.both(lambda pool: pool.put(candidate))

    @rule(domain=DOMAINS, wish=WISHES, seed=st.integers(0, 2**31))
    def somebody_picks(self, domain: str, wish: ProxyQuery, seed: int) -> None:
        for world in self.worlds:
            world.seeds = lambda: seed
        found = self.both(lambda pool: pool.pick(domain, wish))
        if isinstance(found, Lease):
            self.leases.append(found)

    @precondition(lambda self: self.leases)
    @rule(data=st.data(), use=USES, chance=st.floats(0, 1))
    def somebody_reports(self, data: st.DataObject, use: Use, chance: float) -> None:
        for world in self.worlds:
            world.drawn = chance
        lease = data.draw(st.sampled_from(self.leases))
        self.both(lambda pool: pool.report(lease, use))

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def somebody_renews(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        self.both(lambda pool: pool.renew(lease))

    @rule(candidate=PROXIES, domain=DOMAINS, use=USES)
    def a_canary_comes_back(self, candidate: Any, domain: str, use: Use) -> None:  # noqa: ANN401
        self.both(lambda pool: pool.note(candidate.id, domain, use))

    @rule(candidate=PROXIES, how=st.sampled_from(["missed", "quarantine", "remove"]))
    def one_is_taken_out(self, candidate: Any, how: str) -> None:  # noqa: ANN401
        if how == "remove":
            self.both(lambda pool: pool.remove([candidate.id]))
        else:
            self.both(lambda pool: getattr(pool, how)(candidate.id, "why"))

    @invariant()
    def they_are_in_the_same_state(self) -> None:
        self.both(lambda pool: pool.list_proxies())
        for domain in (IMOT, BAZAR, "*"):
            memory, other = (world.run(world.pool.get_stats(domain)) for world in self.worlds)
            assert [nearly(value) for value in other] == [nearly(value) for value in memory]
        for domain in (IMOT, BAZAR):
            self.both(partial(ready, domain=domain))

    def teardown(self) -> None:
        for world in self.worlds:
            world.close()


async def ready(pool: ScoredProxyPool, domain: str) -> int:
    return await pool.ready(domain)


def nearly(row: DomainStats) -> tuple[Any, ...]:
    """A row in which the last digits of a number do not matter."""
    values = (getattr(row, name) for name in row.__slots__)
    return tuple(round(value, 9) if isinstance(value, float) else value for value in values)


class ScoredPair(PoolPair):
    pool_rules = replace(RULES, choice="scored")


@pytest.mark.slow
@pytest.mark.usefixtures("redis_server")
@pytest.mark.parametrize("pair", [PoolPair, ScoredPair])
def test_memory_and_redis_never_differ(pair: type[PoolPair]) -> None:
    run_state_machine_as_test(pair, settings=settings(max_examples=5, stateful_step_count=40))
