"""Every deal breaker on a table of cases: pass, fail, unknown."""

from typing import Any

import pytest

from sale_sofia.advice.scoring import breakers
from sale_sofia.advice.scoring.judging import State
from sale_sofia.advice.scoring.profile import BREAKERS
from sale_sofia.geography.surroundings import Nearby, Nearest
from tables import each_row
from unit.advice.scored import EVERY_CONDITION, empty_flat, finding, flat, profile, score, trap

AT_A_POINT = {"lat": 42.6737, "lon": 23.3252}
P, F, U = State.PASS, State.FAIL, State.UNKNOWN
CASES: list[tuple[str, dict[str, Any], State]] = [
    ("offer", {}, P),
    ("offer", {"deal": "rent"}, F),
    ("offer", {"property_type": "plot"}, F),
    ("offer", {"property_type": "garage"}, F),
    ("offer", {"deal": None}, U),
    ("offer", {"property_type": None}, U),
    ("place", {}, P),
    ("place", {"city": "Перник"}, F),
    ("place", {"flags": frozenset({"place_conflict"})}, F),
    ("place", {"city": None}, U),
    ("budget", {"price_eur": 180_000.0}, P),
    ("budget", {"price_eur": 240_000.0}, F),  # with fees it is more than 250 000
    ("budget", {"price_eur": None}, U),
    ("budget", {"price_eur": 210_000.0, "vat": "excluded"}, F),
    ("budget", {"price_eur": 200_000.0, "vat": None, "act_status": "act15"}, U),  # perhaps VAT comes on top
    ("budget", {"price_eur": 190_000.0, "vat": None, "act_status": None, "condition": None}, P),
    ("budget", {"price_eur": 215_000.0, "condition": None}, U),  # perhaps it has to be renovated
    ("budget", {"price_eur": 215_000.0, "condition": "needs_renovation"}, F),
    ("budget", {"price_eur": 180_000.0, "condition": None, "area_sqm": None}, U),
    ("budget", {"price_eur": 180_000.0, "condition": "renovated", "area_sqm": None}, P),
    ("budget", {"price_eur": 100_000.0, "traps": {"price_from": trap("цени от")}}, U),
    ("budget", {"price_eur": 260_000.0, "traps": {"price_from": trap("цени от")}}, F),
    ("budget", {"price_eur": 210_000.0, "vat": None, "traps": {"price_without_vat": trap("без ДДС")}}, F),
    ("neighbourhood", {"neighbourhood": "Лозенец"}, P),
    ("neighbourhood", {"neighbourhood": "Изток"}, P),  # not named: fair
    ("neighbourhood", {"neighbourhood": "Факултета"}, F),
    ("neighbourhood", {"neighbourhood": None}, U),
    ("rooms", {"rooms": 2}, P),
    ("rooms", {"rooms": 1}, F),
    ("rooms", {"rooms": None}, U),
    ("area", {"area_sqm": 60.0}, P),
    ("area", {"area_sqm": 59.0}, F),
    ("area", {"area_sqm": None}, U),
    ("area_net", {"area_net_sqm": 50.0}, P),
    ("area_net", {"area_net_sqm": 49.0}, F),
    ("area_net", {"area_net_sqm": None, "area_sqm": 200.0}, U),
    ("bathrooms", {"bathrooms": 1}, P),
    ("bathrooms", {"bathrooms": None}, U),  # unknown bathrooms do not fail
    ("ground_floor", {"floor": 1}, P),
    ("ground_floor", {"floor": 0}, F),
    ("ground_floor", {"floor": -1}, F),
    ("ground_floor", {"floor": None}, U),
    ("last_floor", {"floor": 5, "floors_total": 6}, P),
    ("last_floor", {"floor": 6, "floors_total": 6}, F),
    ("last_floor", {"floor": 6, "floors_total": None}, U),
    ("last_floor", {"floor": None, "floors_total": 6}, U),
    ("elevator", {"floor": 5, "elevator": True}, P),
    ("elevator", {"floor": 5, "elevator": False}, F),
    ("elevator", {"floor": 3, "elevator": False}, P),
    ("elevator", {"floor": 3, "elevator": None}, P),
    ("elevator", {"floor": 4, "elevator": None}, U),
    ("elevator", {"floor": None, "elevator": False}, U),
    ("elevator", {"floor": None, "elevator": True}, P),
    ("panel", {"construction": "brick"}, P),
    ("panel", {"construction": "epk"}, P),
    ("panel", {"construction": "panel"}, F),
    ("panel", {"construction": None}, U),
    ("act15", {"act_status": "act15"}, P),
    ("act15", {"act_status": "before_act16"}, P),
    ("act15", {"act_status": "commissioned"}, P),
    ("act15", {"act_status": "before_act15"}, F),
    ("act15", {"act_status": "act14"}, F),
    ("act15", {"act_status": "planned"}, F),
    ("act15", {"act_status": None, "year_built": 1985}, P),
    ("act15", {"act_status": "before_act15", "year_built": 1985}, F),  # what is printed counts
    ("act15", {"act_status": None, "year_built": None}, U),
    ("act15", {"act_status": None, "year_built": None, "under_construction": True}, U),
    ("act15", {"act_status": None, "year_built": 2026}, U),
    ("act15", {"act_status": None, "year_built": 2028, "under_construction": True}, F),
    ("act15", {"act_status": None, "year_built": 2030}, F),
    ("act15", {"act_status": None, "year_built": 2030, "flags": frozenset({"built_in_future"})}, U),
    ("act15", {"act_status": "act15", "year_built": 2027}, P),  # what is printed counts
    ("metro", {"metro_minutes": 15}, P),
    ("metro", {"metro_minutes": 16}, F),
    ("metro", {"metro_minutes": None, "metro_distance_m": 1200}, P),
    ("metro", {"metro_minutes": None, "metro_distance_m": 1300}, F),
    ("metro", {"metro_minutes": 5, "metro_distance_m": 1300}, F),
    ("metro", {"metro_minutes": None}, U),  # 0 to 22 minutes from Лозенец
    ("metro", {"metro_minutes": None, "neighbourhood": "Хладилника"}, P),  # 0 to 11
    ("metro", {"metro_minutes": None, "neighbourhood": "Бояна"}, F),  # 36 to 75
    ("metro", {"metro_minutes": None, "neighbourhood": "Редута"}, U),
    ("metro", {"metro_minutes": 5, "lat": 42.67, "lon": 23.335}, F),  # where it stands: 19
    ("metro", {"metro_minutes": 30, "lat": 42.6737, "lon": 23.3252}, P),
    ("stop", AT_A_POINT, P),  # two minutes
    ("stop", {"lat": 42.6650, "lon": 23.3790}, F),  # seven
    ("stop", {}, U),  # 0 to 10 minutes from Лозенец
    ("shop", AT_A_POINT, P),
    ("shop", {"neighbourhood": "Хладилника"}, P),  # 0 to 8
    ("shop", {"neighbourhood": "м-т Яладжа"}, F),  # 29 to 47
    ("shop", {"neighbourhood": "Бояна"}, U),  # 4 to 33
    ("shop", {"neighbourhood": "Редута"}, U),  # its borders are not known
    ("shop", {"neighbourhood": "Кремиковци"}, U),  # the data does not cover it
    ("school", AT_A_POINT, U),  # none are shipped
    ("road", AT_A_POINT, P),
    ("road", {"lat": 42.7000, "lon": 23.3675}, F),  # on a boulevard
    ("road", {"neighbourhood": "ж.гр.Южен парк"}, P),  # close or far from all of it
    ("road", {}, U),
    ("orientation", {"orientation": ("S", "N")}, P),
    ("orientation", {"orientation": ("W",)}, F),
    ("orientation", {"orientation": ("N",)}, F),
    ("orientation", {"orientation": ("SW", "NE")}, F),
    ("orientation", {"orientation": ()}, U),
    ("outdoors", {"has_balcony": True}, P),
    ("outdoors", {"has_balcony": None, "balconies": 2}, P),
    ("outdoors", {"has_balcony": None, "yard_sqm": 30.0}, P),
    ("outdoors", {"has_balcony": False}, F),
    ("outdoors", {"has_balcony": False, "floor": 0}, U),  # there may be a garden
    ("outdoors", {"has_balcony": None}, U),
    ("traps", {}, P),
    ("traps", {"traps": {"tenants": trap("с наематели до май")}}, F),
    ("traps", {"traps": {"mortgage": trap("ипотека")}}, P),  # this profile does not mind
    ("traps", {"described": False}, U),
]  # fmt: skip


@each_row(("breaker", "facts", "state"), CASES)
def test_a_breaker_finds_what_the_table_says(breaker: str, facts: dict[str, Any], state: State) -> None:
    assert finding(flat(**facts), breaker).state == state


def test_every_breaker_has_a_case_of_each_state() -> None:
    states = {(breaker, state) for breaker, _, state in CASES}
    wanted = {(name, state) for name in BREAKERS for state in State} - {("bathrooms", F)}
    assert states >= wanted - {("school", P), ("school", F)}  # see below
    assert finding(flat(bathrooms=1), "bathrooms", profile(must={"bathrooms_least": 2})).state == F


def test_a_school_is_near_enough_or_not_once_schools_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for minutes, state in ((15, P), (16, F)):
        near = Nearby(Nearest(minutes, minutes), None, None, None)
        monkeypatch.setattr(breakers, "what_is_near", lambda *_, near=near: near)
        found = finding(flat(), "school", profile(must={"school_most_minutes": 15}))
        assert (found.state, found.say) == (state, "metro.walk")
        assert found.values == {"minutes": minutes, "limit": 15}
    assert finding(flat(), "road", profile(must={"road": ["far"]})).say == "road.unknown"


def test_a_trap_is_told_in_the_words_of_the_advert() -> None:
    found = finding(flat(traps={"share_of_ownership": trap("продава се 1/2 идеална част")}), "traps")
    assert (found.state, found.quote) == (F, "продава се 1/2 идеална част")
    assert found.values == {"trap": "share_of_ownership"}


def test_of_an_empty_flat_everything_is_unknown_and_nothing_passes() -> None:
    found = score(empty_flat(), EVERY_CONDITION)
    assert {one.state for one in found.findings} == {U}
    assert {one.name for one in found.findings} == set(BREAKERS)
    assert found.verdict == U


def test_what_a_profile_does_not_ask_for_is_not_judged() -> None:
    assert {one.name for one in score(flat(), profile()).findings} == {"offer", "place", "budget"}


def test_one_failure_fails_all_and_an_accepted_unknown_holds_nothing_back() -> None:
    strict = profile(must={"not_panel": True, "not_ground_floor": True})
    lenient = profile(must={"not_panel": True, "not_ground_floor": True}, unknown_ok=["panel"])
    for by, verdict in ((strict, U), (lenient, P)):
        found = score(flat(construction=None), by)
        assert (found.verdict, found.breakers_in(U)) == (verdict, ("panel",))  # it is still said
    assert score(flat(construction=None, floor=0), lenient).verdict == F
    assert score(flat(construction="panel"), lenient).verdict == F
