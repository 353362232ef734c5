"""What both pools promise."""

from dataclasses import replace

import pytest
from redis.asyncio import Redis

from contract.proxies.pools import BAZAR, BLOCKED, IMOT, OK, RULES, TRANSPORT, WORLDS, World, proxy
from sale_sofia.crawl.resilience.scripts import ForeignKey
from sale_sofia.proxies.model import DomainStats, NoProxy, Proxy, ProxyQuery, Use, parse_proxy
from sale_sofia.proxies.pool import RedisProxyPool
from sale_sofia.proxies.settings import Choice, PoolRules


def stats(world: World, number: int, domain: str = IMOT) -> DomainStats:
    rows = world.run(world.pool.get_stats(domain))
    return next(row for row in rows if row.id == proxy(number).id)


def wait(world: World) -> float:
    found = world.look()
    assert isinstance(found, NoProxy)
    assert found.retry_after_seconds is not None
    return found.retry_after_seconds


def test_an_empty_pool_gives_nothing_and_says_so(world: World) -> None:
    assert world.look() == NoProxy(None)


def test_a_proxy_is_given_to_one_at_a_time(world: World) -> None:
    world.put(proxy(1))
    lease = world.pick()
    assert lease.proxy == proxy(1)
    assert world.look() == NoProxy(30.0)


def test_another_portal_may_have_the_same_proxy_meanwhile(world: World) -> None:
    world.put(proxy(1))
    world.pick(IMOT)
    assert world.pick(BAZAR).proxy == proxy(1)


def test_a_lease_that_nobody_ended_ends_by_itself(world: World) -> None:
    world.put(proxy(1))
    lost = world.pick()
    world.now += 30
    held = world.pick()
    assert not world.run(world.pool.report(lost, TRANSPORT))
    assert stats(world, 1).uses == 0
    assert world.run(world.pool.report(held, OK))


def test_a_report_counts_once(world: World) -> None:
    world.put(proxy(1))
    lease = world.pick()
    assert world.run(world.pool.report(lease, OK))
    assert not world.run(world.pool.report(lease, OK))
    assert stats(world, 1).uses == 1


def test_a_renewed_lease_goes_on(world: World) -> None:
    world.put(proxy(1))
    lease = world.pick()
    world.now += 20
    assert world.run(world.pool.renew(lease))
    world.now += 20
    assert world.look() == NoProxy(10.0)
    world.run(world.pool.report(lease, OK))
    assert not world.run(world.pool.renew(lease))


def test_a_proxy_rests_between_two_requests_to_one_portal(world: World) -> None:
    world.put(proxy(1))
    world.use(OK)
    assert world.look() == NoProxy(5.0)
    world.now += 5
    assert world.pick().proxy == proxy(1)


def test_a_block_counts_on_that_portal_only(world: World) -> None:
    world.put(proxy(1))
    world.use(BLOCKED)
    assert world.look() == NoProxy(120.0)
    assert world.pick(BAZAR).proxy == proxy(1)
    assert stats(world, 1).expected < 0.5
    assert stats(world, 1, "*").failures_in_a_row == 0
    assert stats(world, 1).last_reason == "captcha"


def test_a_transport_error_counts_everywhere(world: World) -> None:
    world.put(proxy(1))
    before = stats(world, 1, BAZAR).expected
    world.use(TRANSPORT, IMOT)
    assert world.look(BAZAR) == NoProxy(30.0)
    assert stats(world, 1, BAZAR).expected < before
    world.now += 30
    assert world.pick(BAZAR).proxy == proxy(1)


@pytest.mark.parametrize("kind", ["target", "rate_limited"])
def test_what_the_portal_itself_says_costs_the_proxy_nothing(world: World, kind: str) -> None:
    world.put(proxy(1))
    world.use(OK)
    before = stats(world, 1)
    world.now += 5
    world.use(Use(kind))  # type: ignore[arg-type]
    after = stats(world, 1)
    assert (after.expected, after.score, after.failures_in_a_row) == (before.expected, before.score, 0)
    assert after.ready_in_seconds == 5.0


def test_a_portal_that_asks_for_a_pause_is_left_alone_by_that_proxy(world: World) -> None:
    world.put(proxy(1))
    world.use(Use("rate_limited", retry_after_seconds=77))
    assert world.look() == NoProxy(77.0)
    assert world.pick(BAZAR).proxy == proxy(1)


@pytest.mark.parametrize(("use", "first"), [(TRANSPORT, 30.0), (BLOCKED, 120.0)])
def test_rests_double_and_have_an_end(world: World, use: Use, first: float) -> None:
    world.put(proxy(1))
    rests = []
    for _ in range(9):
        world.use(use)
        rests.append(wait(world))
        world.now += rests[-1]
    most = 1800.0 if use is TRANSPORT else 3600.0
    assert rests == pytest.approx([min(most, first * 2**n) for n in range(9)])


def test_chance_makes_a_rest_longer(world: World) -> None:
    world.put(proxy(1))
    world.drawn = 1.0
    world.use(TRANSPORT)
    assert wait(world) == pytest.approx(36.0)


def test_a_success_ends_the_doubling(world: World) -> None:
    world.put(proxy(1))
    for use, rest in ((TRANSPORT, 30), (TRANSPORT, 60), (OK, 5), (TRANSPORT, 30)):
        world.use(use)
        assert wait(world) == pytest.approx(rest)
        world.now += rest


def test_a_failure_never_deletes(world: World) -> None:
    world.put(proxy(1))
    for _ in range(50):
        world.use(TRANSPORT)
        world.now += 1801
    assert world.run(world.pool.list_proxies()) == [proxy(1)]


def test_the_good_ones_are_preferred(world: World) -> None:
    world.put(*(proxy(number) for number in range(1, 11)))
    good = {proxy(1).id, proxy(2).id}
    chosen = []
    for _ in range(300):
        lease = world.pick()
        chosen.append(lease.proxy.id in good)
        world.run(world.pool.report(lease, OK if chosen[-1] else Use("transport")))
        world.now += 3
    assert sum(chosen[-100:]) >= 90


def test_what_was_long_ago_counts_little(world: World) -> None:
    world.put(proxy(1))
    for _ in range(100):
        world.use(OK)
        world.now += 2000
    assert stats(world, 1).expected > 0.95
    for _ in range(4):
        world.use(TRANSPORT)
        world.now += 2000
    assert stats(world, 1).expected < 0.5


def test_the_slow_are_preferred_less(world: World) -> None:
    world.put(proxy(1), proxy(2))
    seconds = {proxy(1).id: 0.1, proxy(2).id: 12.0}
    chosen = []
    for _ in range(200):
        lease = world.pick()
        chosen.append(lease.proxy.id == proxy(1).id)
        world.run(world.pool.report(lease, Use("ok", seconds[lease.proxy.id])))
        world.now += 10
    assert sum(chosen) > 180


def test_excluded_ones_are_not_given(world: World) -> None:
    world.put(proxy(1), proxy(2))
    assert world.pick(exclude=(proxy(1).id,)).proxy == proxy(2)
    assert world.look(exclude=(proxy(1).id,)) == NoProxy(30.0)
    assert world.look(exclude=(proxy(1).id, proxy(2).id)) == NoProxy(None)


def test_a_further_try_goes_to_a_proven_one(world: World) -> None:
    world.put(*(proxy(number) for number in range(1, 30)))
    world.run(world.pool.note(proxy(7).id, IMOT, OK))
    assert world.look(exclude=(proxy(1).id,)) == NoProxy(5.0)
    world.now += 5
    assert world.pick(exclude=(proxy(1).id,)).proxy == proxy(7)
    assert world.pick(exclude=(proxy(1).id,)).proxy != proxy(7)


def test_one_alone_may_be_asked_for(world: World) -> None:
    world.put(proxy(1), proxy(2))
    assert world.use(TRANSPORT, only=proxy(2).id) == proxy(2)
    assert world.look(only=proxy(2).id) == NoProxy(30.0)
    assert world.look(only="nobody") == NoProxy(None)


def test_only_the_tiers_asked_for_are_given(world: World) -> None:
    world.put(proxy(1, "paid"), proxy(2, "free"))
    assert world.pick(tiers=("paid",)).proxy == proxy(1, "paid")
    assert world.look(tiers=("own",)) == NoProxy(None)


def test_a_proxy_that_changed_its_tier_stands_in_the_new_one(world: World) -> None:
    world.put(proxy(1, "free"))
    world.use(OK)
    world.put(proxy(1, "paid"))
    assert world.look(tiers=("free",)) == NoProxy(None)
    assert world.look(tiers=("paid",)) == NoProxy(RULES.spacing_seconds)
    world.now += RULES.spacing_seconds
    assert world.pick(tiers=("paid",)).proxy == proxy(1, "paid")


def test_a_proxy_in_use_that_changes_its_tier_is_given_to_nobody_else(world: World) -> None:
    world.put(proxy(1, "free"))
    lease = world.pick()
    world.put(proxy(1, "paid"))
    assert world.look(tiers=("paid",)) == NoProxy(RULES.lease_seconds)
    assert world.run(world.pool.report(lease, OK))


def test_a_session_keeps_its_proxy(world: World) -> None:
    world.put(*(proxy(number) for number in range(1, 6)))
    first = world.use(OK, session="one")
    other = world.use(OK, session="two")
    assert other != first
    for _ in range(5):
        assert world.look(session="one") == NoProxy(5.0)
        world.now += 5
        assert world.use(OK, session="one") == first


@pytest.mark.parametrize("use", [BLOCKED, TRANSPORT])
def test_a_session_whose_proxy_failed_gets_another(world: World, use: Use) -> None:
    world.put(proxy(1), proxy(2))
    first = world.use(use, session="one")
    assert world.pick(session="one").proxy != first


def test_a_session_bound_to_another_tier_gets_one_of_the_tier(world: World) -> None:
    world.put(proxy(1, "free"), proxy(2, "paid"))
    assert world.use(OK, session="one", tiers=("free",)) == proxy(1, "free")
    assert world.pick(session="one", tiers=("paid",)).proxy == proxy(2, "paid")


def test_a_quarantined_proxy_is_not_given_until_a_check_finds_it_clean(world: World) -> None:
    world.put(proxy(1))
    lease = world.pick()
    world.run(world.pool.quarantine(proxy(1).id, "breaks TLS"))
    assert world.run(world.pool.report(lease, OK))
    world.now += 10
    assert world.look() == NoProxy(None)
    assert world.look(BAZAR) == NoProxy(None)
    assert stats(world, 1, "*").quarantined
    assert stats(world, 1, "*").last_reason == "breaks TLS"
    world.put(proxy(1))
    assert world.pick(BAZAR).proxy == proxy(1)


def test_dead_in_three_checks_in_a_row_is_forgotten(world: World) -> None:
    world.put(proxy(1), proxy(2))
    assert not world.run(world.pool.missed(proxy(1).id, "dead"))
    assert world.pick().proxy == proxy(2)
    assert not world.run(world.pool.missed(proxy(1).id, "dead"))
    world.put(proxy(1))
    assert not world.run(world.pool.missed(proxy(1).id, "dead"))
    assert not world.run(world.pool.missed(proxy(1).id, "dead"))
    assert world.run(world.pool.missed(proxy(1).id, "dead"))
    assert world.run(world.pool.list_proxies()) == [proxy(2)]
    assert not world.run(world.pool.missed("nobody", "dead"))


def test_a_canary_teaches_without_a_lease(world: World) -> None:
    world.put(proxy(1))
    world.run(world.pool.note(proxy(1).id, IMOT, BLOCKED))
    assert world.look() == NoProxy(120.0)
    world.run(world.pool.note("nobody", IMOT, OK))
    lease = world.pick(BAZAR)
    world.run(world.pool.note(proxy(1).id, BAZAR, OK))
    assert world.look(BAZAR) == NoProxy(30.0)
    assert world.run(world.pool.report(lease, OK))


def test_ready_counts_what_can_be_used_soon_with_a_fair_chance(world: World) -> None:
    world.put(*(proxy(number) for number in range(1, 7)))
    world.run(world.pool.note(proxy(1).id, IMOT, BLOCKED))
    for _ in range(3):
        world.run(world.pool.note(proxy(2).id, BAZAR, TRANSPORT))
    world.run(world.pool.quarantine(proxy(3).id, "breaks TLS"))
    assert world.run(world.pool.ready(IMOT)) == 3
    assert world.run(world.pool.ready(BAZAR)) == 4
    world.now += 3600
    assert world.run(world.pool.ready(IMOT)) == 5


@pytest.mark.parametrize(("choice", "share"), [("scored", 161), ("sampled", 137)])
@pytest.mark.parametrize("kind", sorted(WORLDS))
def test_where_it_is_asked_for_the_score_chooses(kind: str, choice: Choice, share: int) -> None:
    """Of two that never failed, one has a score of 10 and the other of 2.1: so are they picked."""
    world = WORLDS[kind](replace(RULES, choice=choice))
    for number, times in ((1, 30), (2, 8)):
        world.put(proxy(number))
        for _ in range(times):
            world.use(OK, only=proxy(number).id)
            world.now += 5
    scores = [round(stats(world, number).score, 9) for number in (1, 2)]
    picked = []
    for _ in range(200):
        picked.append(world.use(Use("neutral")))
        world.now += 5
    world.close()
    assert (scores, picked.count(proxy(1))) == ([10.0, 2.14358881], share)


def test_the_familiar_score_stays_within_its_bounds(world: World) -> None:
    world.put(proxy(1))
    for _ in range(40):
        world.run(world.pool.note(proxy(1).id, IMOT, OK))
    assert stats(world, 1).score == 10.0
    for _ in range(20):
        world.run(world.pool.note(proxy(1).id, IMOT, BLOCKED))
    assert stats(world, 1).score == 0.01


def test_removed_by_a_person(world: World) -> None:
    world.put(proxy(1), proxy(2))
    lease = world.pick(exclude=(proxy(2).id,))
    assert world.run(world.pool.remove([proxy(1).id, "nobody"])) == 1
    assert not world.run(world.pool.report(lease, OK))
    assert world.run(world.pool.list_proxies()) == [proxy(2)]


def test_a_proven_one_is_found_behind_hundreds_of_unknown_ones(world: World) -> None:
    world.put(*(proxy(number) for number in range(1, 201)))
    for _ in range(20):
        world.run(world.pool.note(proxy(150).id, IMOT, OK))
    world.now += 100
    chosen = []
    for _ in range(20):
        lease = world.pick()
        chosen.append(lease.proxy.id)
        world.run(world.pool.report(lease, Use("neutral")))
        world.now += 5
    assert chosen.count(proxy(150).id) >= 12


def test_a_proven_one_that_is_ready_soon_is_waited_for_rather_than_one_that_failed(world: World) -> None:
    world.put(proxy(1), proxy(2))
    world.use(TRANSPORT, exclude=(proxy(2).id,))
    world.use(OK)
    world.now += 29.0
    world.use(OK)
    world.now += 1.0
    assert world.look() == NoProxy(4.0)
    assert world.pick(exclude=(proxy(2).id,)).proxy == proxy(1)


def test_passwords_are_kept_and_never_shown(world: World) -> None:
    paid = Proxy(parse_proxy("socks5://me:s3cret@gate.example:1080"), "paid")
    world.put(paid)
    lease = world.pick()
    assert lease.proxy.address.password == "s3cret"  # noqa: S105 - of no proxy there is
    stats, proxies = world.run(world.pool.get_stats(IMOT)), world.run(world.pool.list_proxies())
    assert "s3cret" not in f"{lease!r} {lease} {stats} {proxies}"


def test_a_foreign_key_of_our_name_is_said_and_left_alone() -> None:
    made = WORLDS["redis"]()

    async def look(redis: Redis) -> None:
        await redis.set("proxies:{pool}:known", "theirs")
        with pytest.raises(ForeignKey, match="known holds a string where a hash belongs"):
            await made.pool.pick(IMOT, ProxyQuery())
        assert await redis.get("proxies:{pool}:known") == "theirs"

    assert isinstance(made.pool, RedisProxyPool)
    made.run(look(made.pool.redis))
    made.close()


def test_what_redis_knows_does_not_live_for_ever() -> None:
    made = WORLDS["redis"](PoolRules(spacing_seconds=5.0, lease_seconds=30.0))
    made.put(proxy(1))
    made.use(OK, session="one")
    assert made.run(made.pool.ready(IMOT)) == 1

    async def lives(redis: Redis) -> dict[str, int]:
        return {str(key): await redis.ttl(key) async for key in redis.scan_iter("*")}

    assert isinstance(made.pool, RedisProxyPool)
    found = made.run(lives(made.pool.redis))
    made.close()
    assert len(found) >= 6
    assert all(0 < seconds <= 604_800 for seconds in found.values()), found
