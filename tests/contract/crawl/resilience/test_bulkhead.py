import asyncio

import pytest

from contract.crawl.resilience.backends import Backend
from sale_sofia.crawl.resilience.bulkhead import BulkheadPlace
from sale_sofia.crawl.resilience.redis_parts import Bulkhead, holding

IMOT = "imot.bg"
LEASE = 30.0


class Hall:
    def __init__(self, backend: Backend) -> None:
        self.bulkhead: Bulkhead = backend.bulkhead(LEASE)
        self.run = backend.run

    def enter(self, now: float, limit: int = 2, domain: str = IMOT) -> BulkheadPlace | None:
        return self.run(self.bulkhead.enter(domain, limit, now))

    def taken(self, now: float) -> BulkheadPlace:
        place = self.enter(now)
        assert place is not None
        return place

    def leave(self, place: BulkheadPlace) -> bool:
        return self.run(self.bulkhead.leave(place))

    def renew(self, place: BulkheadPlace, now: float) -> bool:
        return self.run(self.bulkhead.renew(place, now))


def test_no_more_places_than_the_limit(backend: Backend) -> None:
    hall = Hall(backend)
    places = [hall.enter(0.0) for _ in range(4)]
    assert [place is not None for place in places] == [True, True, False, False]
    assert places[0] != places[1]


def test_a_place_left_is_free_at_once(backend: Backend) -> None:
    hall = Hall(backend)
    first = hall.taken(0.0)
    hall.taken(0.0)
    hall.leave(first)
    assert [hall.enter(0.0) is None, hall.enter(0.0) is None] == [False, True]


def test_leaving_twice_frees_one_place(backend: Backend) -> None:
    hall = Hall(backend)
    first = hall.taken(0.0)
    hall.taken(0.0)
    hall.leave(first)
    hall.leave(first)
    assert [hall.enter(0.0) is None, hall.enter(0.0) is None] == [False, True]


def test_the_place_of_the_dead_comes_back_when_its_lease_ends(backend: Backend) -> None:
    hall = Hall(backend)
    hall.taken(0.0)
    hall.taken(10.0)
    assert hall.enter(29.999) is None
    assert [hall.enter(30.0) is None, hall.enter(30.0) is None] == [False, True]


def test_a_late_leaver_does_not_free_the_place_of_another(backend: Backend) -> None:
    hall = Hall(backend)
    late = hall.taken(0.0)
    assert [hall.enter(LEASE) is None, hall.enter(LEASE) is None] == [False, False]
    hall.leave(late)
    assert hall.enter(LEASE) is None


def test_domains_have_places_of_their_own_and_the_limit_may_change(backend: Backend) -> None:
    hall = Hall(backend)
    hall.taken(0.0)
    hall.taken(0.0)
    assert hall.enter(0.0, domain="bazar.bg") is not None
    assert hall.enter(0.0, limit=3) is not None
    assert hall.enter(0.0, limit=0, domain="homes.bg") is None


def test_a_renewed_place_is_held_for_another_lease(backend: Backend) -> None:
    hall = Hall(backend)
    first = hall.taken(0.0)
    hall.taken(0.0)
    assert hall.renew(first, 20.0)
    assert [hall.enter(49.0) is None, hall.enter(49.0) is None] == [False, True]
    assert hall.enter(50.0) is not None


def test_a_lost_place_cannot_be_renewed(backend: Backend) -> None:
    hall = Hall(backend)
    ended, left = hall.taken(0.0), hall.taken(0.0)
    hall.leave(left)
    assert [hall.renew(ended, LEASE), hall.renew(left, 1.0)] == [False, False]


def test_leaving_says_whether_the_place_was_still_held(backend: Backend) -> None:
    hall = Hall(backend)
    lost, kept = hall.taken(0.0), hall.taken(20.0)
    hall.enter(LEASE)
    assert [hall.leave(kept), hall.leave(kept), hall.leave(lost)] == [True, False, False]


def test_who_asks_twice_under_one_name_holds_one_place(backend: Backend) -> None:
    hall = Hall(backend)
    again = [hall.run(hall.bulkhead.enter(IMOT, 1, 0.0, "me")) for _ in range(3)]
    assert again == [BulkheadPlace(IMOT, "me")] * 3
    assert [hall.enter(0.0) is None, hall.enter(0.0) is None] == [False, True]


@pytest.mark.slow
def test_holding_keeps_the_place_past_its_lease_and_gives_it_back(backend: Backend) -> None:
    bulkhead = backend.bulkhead(0.6)

    async def story() -> list[bool]:
        async with holding(bulkhead, IMOT, 1) as place:
            assert place is not None
            await asyncio.sleep(1.5)
            async with holding(bulkhead, IMOT, 1) as second:
                taken = second is None
        async with holding(bulkhead, IMOT, 1) as third:
            return [taken, third is not None]

    assert backend.run(story()) == [True, True]
