"""Every criterion on a table of cases: what each fact is worth, and what is not known."""

from typing import Any

import pytest

from sale_sofia.advice.scoring.settings import PART_SHARES, WEIGHTS
from sale_sofia.advice.scoring.yardsticks import Prices, Rents, Yardstick
from tables import each_row
from unit.advice.scored import BY, SURROUNDED, WISHES, flat, part, profile, score, trap

U = None
HERE = {"lat": 42.6737, "lon": 23.3252}
CASES: list[tuple[str, str, dict[str, Any], float | None]] = [
    ("location", "tier", {"neighbourhood": "Лозенец"}, 5.0),
    ("location", "tier", {"neighbourhood": "Изток"}, 4.0),
    ("location", "tier", {"neighbourhood": "Люлин 5"}, 2.5),
    ("location", "tier", {"neighbourhood": "Факултета"}, 0.0),
    ("location", "tier", {"neighbourhood": None}, U),
    ("location", "metro", {"metro_minutes": 5}, 5.0),
    ("location", "metro", {"metro_minutes": 15}, 2.5),
    ("location", "metro", {"metro_minutes": 60}, 0.0),
    ("location", "metro", {"metro_minutes": None, "metro_distance_m": 800}, 3.75),
    ("location", "metro", {"metro_minutes": 5, "metro_distance_m": 1200}, 2.5),  # the longer of the two
    ("location", "metro", {"metro_minutes": None}, U),  # 0 to 22 minutes from Лозенец
    ("location", "metro", {"metro_minutes": None, "neighbourhood": None}, U),
    ("location", "metro", {"metro_minutes": None, "neighbourhood": "Бояна"}, 0.0),  # 36 to 75
    ("location", "metro", {"metro_minutes": None, "neighbourhood": "в.з.Американски колеж"}, U),  # 4 to 24
    ("location", "metro", {"metro_minutes": 5, "lat": 42.6737, "lon": 23.3252}, 4.25),  # where it stands: 8
    ("price", "place", {"price_eur": 150_000.0}, 5.0),  # on the lowest mark
    ("price", "place", {"price_eur": 190_000.0}, 2.5),  # in the middle
    ("price", "place", {"price_eur": 400_000.0}, 0.0),
    ("price", "place", {"price_eur": 165_000.0}, 5 * (1 - 1.5 / 8)),  # between two marks
    ("price", "place", {"price_eur": 150_000.0, "vat": "excluded"}, 5 * (1 - 3 / 8)),  # it is 180 000
    ("price", "place", {"price_eur": 150_000.0, "vat": None, "act_status": "act15"}, 5 * (1 - 3 / 8)),
    ("price", "place", {"price_eur": None}, U),
    ("price", "place", {"area_sqm": None}, U),
    ("price", "place", {"neighbourhood": None}, U),
    ("price", "place", {"traps": {"price_from": trap("цени от 1800")}}, U),
    ("condition", "condition", {"condition": "new"}, 5.0),
    ("condition", "condition", {"condition": "turnkey"}, 5.0),
    ("condition", "condition", {"condition": "renovated"}, 4.5),
    ("condition", "condition", {"condition": "good"}, 4.0),
    ("condition", "condition", {"condition": "needs_renovation", "area_sqm": 40.0}, 3.5 * (1 - 14 / 30)),
    ("condition", "condition", {"condition": "needs_renovation", "area_sqm": 100.0}, 0.0),  # 35 000 > 30 000
    ("condition", "condition", {"condition": "bare", "area_sqm": 20.0}, 3.5 * (1 - 9 / 30)),
    ("condition", "condition", {"condition": "needs_renovation", "area_sqm": None}, U),
    ("condition", "condition", {"condition": None}, U),
    ("layout", "rooms", {"rooms": 4}, 5.0),
    ("layout", "rooms", {"rooms": 3}, 5.0),
    ("layout", "rooms", {"rooms": 2}, 2.5),
    ("layout", "rooms", {"rooms": 1}, 0.0),
    ("layout", "rooms", {"rooms": None}, U),
    ("layout", "bathrooms", {"bathrooms": 2}, 5.0),
    ("layout", "bathrooms", {"bathrooms": 1}, 2.0),
    ("layout", "bathrooms", {"bathrooms": 1, "wc_separate": True}, 3.5),
    ("layout", "bathrooms", {"bathrooms": 2, "wc_separate": True}, 5.0),
    ("layout", "bathrooms", {"bathrooms": None, "wc_separate": True}, U),
    ("layout", "orientation", {"orientation": ("S",)}, 5.0),
    ("layout", "orientation", {"orientation": ("N", "E")}, 5.0),
    ("layout", "orientation", {"orientation": ("W",)}, 0.0),
    ("layout", "orientation", {"orientation": ("SW",)}, 0.0),  # neither S nor W: sides are compared whole
    ("layout", "orientation", {"orientation": ()}, U),
    ("layout", "area_net", {"area_net_sqm": 90.0}, 5.0),
    ("layout", "area_net", {"area_net_sqm": 64.0}, 2.5),
    ("layout", "area_net", {"area_net_sqm": 48.0}, 0.0),
    ("layout", "area_net", {"area_net_sqm": None, "area_sqm": 200.0}, U),  # the total area is not the net one
    ("building", "construction", {"construction": "brick"}, 5.0),
    ("building", "construction", {"construction": "epk"}, 3.0),
    ("building", "construction", {"construction": "panel"}, 1.0),
    ("building", "construction", {"construction": None}, U),
    ("building", "year", {"year_built": 2015}, 5.0),
    ("building", "year", {"year_built": 2000}, 4.0),
    ("building", "year", {"year_built": 1985}, 2.5),
    ("building", "year", {"year_built": 1965}, 2.0),
    ("building", "year", {"year_built": 1936}, 3.0),
    ("building", "year", {"year_built": None}, U),
    ("building", "act", {"act_status": "act16"}, 5.0),
    ("building", "act", {"act_status": "act15"}, 3.5),
    ("building", "act", {"act_status": "before_act15"}, 2.0),
    ("building", "act", {"act_status": "planned"}, 0.0),
    ("building", "act", {"act_status": None, "year_built": 2024}, 5.0),  # so old it is finished
    ("building", "act", {"act_status": None, "year_built": 2025}, U),
    ("building", "act", {"act_status": None, "year_built": 1985, "under_construction": True}, U),
    ("building", "act", {"act_status": None, "year_built": None, "construction": "panel"}, 5.0),
    ("building", "act", {"act_status": None, "year_built": None}, U),
    ("building", "floor", {"floor": 5, "elevator": True}, 5.0),
    ("building", "floor", {"floor": 6, "elevator": True}, 3.5),  # the last one
    ("building", "floor", {"floor": 5, "elevator": False}, 0.0),
    ("building", "floor", {"floor": 3, "elevator": False}, 4.0),
    ("building", "floor", {"floor": 3, "elevator": None}, 4.0),
    ("building", "floor", {"floor": 3, "floors_total": 3, "elevator": None}, 3.5),  # as with an elevator
    ("building", "floor", {"floor": 3, "floors_total": 3, "elevator": False}, 3.5),
    ("building", "floor", {"floor": 5, "floors_total": None, "elevator": True}, 3.5),  # it may be the last
    ("building", "floor", {"floor": 5, "elevator": None}, U),
    ("building", "floor", {"floor": 0, "elevator": True}, 1.5),
    ("building", "floor", {"floor": None}, U),
    ("rental", "yield", {"price_eur": 160_000.0}, 5.0),  # 6 %
    ("rental", "yield", {"price_eur": 240_000.0}, 2.5),  # 4 %
    ("rental", "yield", {"price_eur": 480_000.0}, 0.0),  # 2 %
    ("rental", "yield", {"price_eur": None}, U),
    ("rental", "yield", {"area_sqm": None}, U),
    ("extras", "parking", {"parking": ("street", "underground_space")}, 4.5),
    ("extras", "parking", {"parking": ("garage",), "parking_status": "optional_purchase"}, 2.0),
    ("extras", "parking", {"parking": ("garage",), "parking_status": "included"}, 5.0),
    ("extras", "parking", {"parking": ()}, U),
    ("extras", "storage", {"storage": ("attic",)}, 5.0),
    ("extras", "storage", {"storage": ()}, U),
    ("extras", "balcony", {"has_balcony": True}, 5.0),
    ("extras", "balcony", {"has_balcony": False}, 0.0),
    ("extras", "balcony", {"has_balcony": None}, U),
    ("extras", "balcony", {"has_balcony": None, "balconies": 2}, 5.0),
    ("extras", "balcony", {"has_balcony": False, "balconies": 1}, 5.0),  # another advert counts one
    ("extras", "view", {"features": frozenset({"С гледка "})}, 5.0),
    ("extras", "view", {"features": frozenset({"Без гледка"})}, U),
    ("travel", "places", HERE, 5 * (60 - 17) / 45),  # 17 minutes
    ("travel", "places", {"neighbourhood": "Люлин 5"}, 5 * (60 - 35) / 45),  # 26 to 35
    ("travel", "places", {"neighbourhood": "Лозенец"}, U),  # 6 to 27
    ("travel", "places", {"neighbourhood": None}, U),
    ("nearby", "stop", HERE, 5.0),  # 2 minutes
    ("nearby", "stop", {"neighbourhood": None}, U),
    ("nearby", "shop", HERE, 5.0),  # 5
    ("nearby", "shop", {"lat": 42.60, "lon": 23.17}, U),  # none is known so far out
    ("nearby", "school", HERE, 5 * (25 - 7) / 20),  # 7
    ("nearby", "school", {"neighbourhood": None}, U),
    ("nearby", "exam", HERE, 5 * (120 - 32) / 110),
    ("nearby", "exam", {"lat": 42.71, "lon": 23.30}, U),  # the nearest has none
    ("nearby", "road", HERE, 4.0),  # 150 to 300 m
    ("nearby", "road", {"neighbourhood": "Лозенец"}, U),
]  # fmt: skip


@pytest.mark.usefixtures("schools")
@each_row(("criterion", "name", "facts", "worth"), CASES)
def test_a_fact_is_worth_what_the_table_says(
    criterion: str, name: str, facts: dict[str, Any], worth: float | None
) -> None:
    found = part(flat(**facts), criterion, name, SURROUNDED if criterion == "nearby" else WISHES)
    assert found.value == (None if worth is None else pytest.approx(worth))


def test_every_part_of_every_criterion_has_a_case_of_worth_and_one_of_not_knowing() -> None:
    parts = {(criterion, name) for criterion, names in PART_SHARES.items() for name in names}
    assert {(one[0], one[1]) for one in CASES if one[3] is not None} == parts
    assert {(one[0], one[1]) for one in CASES if one[3] is None} == parts


def test_shares_and_weights_are_whole() -> None:
    assert {name: sum(parts.values()) for name, parts in PART_SHARES.items()} == pytest.approx(
        dict.fromkeys(PART_SHARES, 1.0)
    )
    assert sum(WEIGHTS.values()) == 100
    assert WEIGHTS.keys() == PART_SHARES.keys()


def test_what_is_near_all_of_a_neighbourhood_counts_where_it_is_worth_nearly_the_same() -> None:
    """From ж.гр.Южен парк a big road may be 150 m away, or none; Христо Ботев is outside their mesh."""
    assert part(flat(lat=42.665, lon=23.379), "nearby", "road", SURROUNDED).value == 5.0
    assert part(flat(neighbourhood="Христо Ботев"), "nearby", "road", SURROUNDED).value is None
    found = part(flat(neighbourhood="ж.гр.Южен парк"), "nearby", "road", SURROUNDED)
    assert (found.value, found.values) == (4.0, {"told": ("road_close", "road_far")})
    assert part(flat(neighbourhood="Христо Ботев"), "nearby", "stop", SURROUNDED).value is None  # 0 to 15


def test_what_is_near_counts_by_its_weight_and_not_without_one() -> None:
    one = flat(lat=42.6737, lon=23.3252)
    assert "nearby" not in [each.name for each in score(one, profile()).criteria]
    alone = score(one, profile(weights=dict.fromkeys(WEIGHTS, 0) | {"nearby": 10}))
    assert [alone.known, alone.points] == pytest.approx([0.75, 5 * 0.6 + 4 * 0.15])  # no school is imported


def test_without_enough_neighbours_price_and_yield_are_unknown() -> None:
    assert part(flat(), "price", "place", by=Yardstick(None, BY.rents)).value is None
    assert part(flat(), "rental", "yield", by=Yardstick(BY.prices, None)).value is None
    assert part(flat(), "price", "place", by=Yardstick(BY.prices, None)).value is not None


def test_the_scope_of_the_comparison_is_told() -> None:
    wide = Yardstick(Prices((1000.0, 2000.0), 31, "neighbourhood"), Rents(8.0, 5))
    found = part(flat(), "price", "place", by=wide)
    assert (found.say, found.values["flats"]) == ("price.place_neighbourhood", 31)
    assert found.values["cheaper"] == pytest.approx(0.8)


@pytest.mark.parametrize(("criterion", "name"), [("price", "place"), ("rental", "yield")])
def test_a_price_that_only_begins_is_not_called_missing(criterion: str, name: str) -> None:
    beginning = part(flat(traps={"price_from": trap("цени от 1800")}), criterion, name)
    assert (beginning.value, beginning.say) == (None, f"{criterion}.price_from")
    assert part(flat(price_eur=None), criterion, name).say == f"{criterion}.price_unknown"


def test_without_a_renovation_budget_what_needs_renovation_is_worth_nothing() -> None:
    frugal = profile(renovation_eur=0)
    needing = flat(condition="needs_renovation", area_sqm=10.0)
    assert part(needing, "condition", "condition", frugal).value == 0.0


def test_a_profile_that_wishes_no_side_leaves_the_orientation_open() -> None:
    assert part(flat(orientation=("S",)), "layout", "orientation", profile()).value is None


def test_a_criterion_is_the_mean_of_what_is_known_of_it() -> None:
    found = {one.name: one for one in score(flat(metro_minutes=None), WISHES).criteria}["location"]
    assert [found.value, found.known] == pytest.approx([5.0, 0.6])
    half = {one.name: one for one in score(flat(metro_minutes=15), WISHES).criteria}["location"]
    assert [half.value, half.known] == pytest.approx([0.6 * 5 + 0.4 * 2.5, 1.0])
    nothing = score(flat(metro_minutes=None, neighbourhood=None), WISHES).criteria[0]
    assert (nothing.value, nothing.known) == (None, 0.0)
