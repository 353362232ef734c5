"""Scores in words: every sentence is there in both languages, filled as people write."""

import re
from pathlib import Path

import pytest

import sale_sofia.advice.scoring
from sale_sofia.advice.scoring.explaining import Language, explain, explain_flat, name_of, sentence
from sale_sofia.advice.scoring.judging import BreakerFinding, CriterionPart
from sale_sofia.advice.scoring.profile import BREAKERS
from sale_sofia.advice.scoring.settings import PART_SHARES
from sale_sofia.advice.scoring.yardsticks import Prices, Yardstick
from sale_sofia.settings.files import read_yaml
from unit.advice import test_breakers, test_criteria
from unit.advice.scored import (
    BY,
    EVERY_CONDITION,
    SURROUNDED,
    WISHES,
    empty_flat,
    flat,
    profile,
    score,
    trap,
)

WORDS = read_yaml((Path(sale_sofia.advice.scoring.__file__).parent / "words.yaml").read_text("utf-8"))


def told() -> dict[str, CriterionPart | BreakerFinding]:
    """Every sentence that the cases of the tables bring about, by its key."""
    criteria = [flat(**facts) for _, _, facts, _ in test_criteria.CASES]
    breakers = [flat(**facts) for _, facts, _ in test_breakers.CASES]
    flats = [*criteria, *breakers, empty_flat()]
    found = [score(one, by) for one in flats for by in (WISHES, EVERY_CONDITION, SURROUNDED)]
    found.append(score(flat(), WISHES, Yardstick()))
    found.append(score(flat(), WISHES, Yardstick(Prices((1.0, 2.0), 3, "neighbourhood"))))
    found.append(score(flat(), profile()))
    parts: list[CriterionPart | BreakerFinding] = [
        part for one in found for each in one.criteria for part in each.parts
    ]
    parts += [finding for one in found for finding in one.findings]
    return {one.say: one for one in parts}


@pytest.mark.usefixtures("schools")
def test_every_sentence_is_used_and_every_use_has_its_sentence() -> None:
    assert set(told()) == set(WORDS["says"])


@pytest.mark.usefixtures("schools")
@pytest.mark.parametrize("language", ["en", "bg"])
def test_every_sentence_is_filled(language: Language) -> None:
    for one in told().values():
        text = sentence(one, language)
        assert text
        assert not re.search(r"[{}]|None|\w+_\w+", text), text
        own = re.sub("Лозенец|Перник|Факултета", "", text)
        assert bool(re.search("[а-я]", own)) == (language == "bg"), text


def test_every_criterion_breaker_and_state_has_a_name() -> None:
    for key in (*PART_SHARES, *BREAKERS, "pass", "fail", "unknown"):
        assert name_of(key, "en") != name_of(key, "bg")


def test_numbers_are_written_as_people_do() -> None:
    found = {one.say: one for one in score(flat(price_eur=240_000.0), EVERY_CONDITION).findings}
    above = found["budget.above"]
    assert sentence(above, "en").startswith("at least € 256 981 with")
    assert sentence(above, "bg").startswith("поне € 256 981 с")
    metro = {one.say: one for one in score(flat(metro_minutes=None, metro_distance_m=1000)).criteria[0].parts}
    assert sentence(metro["location.metro"], "en") == "12.5 minutes on foot to the metro"
    assert sentence(metro["location.metro"], "bg") == "12,5 минути пеша до метрото"


def test_an_explanation_adds_up() -> None:
    found = score(flat(metro_minutes=None), WISHES)
    view = explain(found, WISHES, "en")
    assert sum(one["points"] for one in view["criteria"]) == pytest.approx(found.points)
    for one in view["criteria"]:
        assert sum(part["points"] for part in one["parts"]) == pytest.approx(one["points"])
    assert view["verdict"] == "pass"


def test_a_quote_and_an_accepted_unknown_are_told() -> None:
    by = profile(must={"no_traps": ["tenants"], "not_panel": True}, unknown_ok=["panel"])
    one = flat(traps={"tenants": trap("с наематели")}, construction=None)
    view = {each["breaker"]: each for each in explain(score(one, by), by, "bg")["breakers"]}
    assert (view["traps"]["quote"], view["traps"]["why"]) == ("с наематели", "има наематели")
    assert (view["panel"]["state"], view["panel"]["accepted"]) == ("unknown", True)


def test_what_only_a_description_says_is_marked_where_it_passes_a_breaker() -> None:
    by = profile(must={"not_ground_floor": True, "not_panel": True, "act15_or_later": True})
    one = flat(from_text=frozenset({"floor", "construction", "act_status"}), construction="panel")
    view = {each["breaker"]: each for each in explain(score(one, by), by, "en")["breakers"]}
    assert (view["ground_floor"]["state"], view["ground_floor"]["only_text"]) == ("pass", ["floor"])
    assert view["ground_floor"]["why"].endswith(" (only a description says so)")
    assert view["act15"]["only_text"] == ["act_status"]
    assert (view["panel"]["state"], view["panel"]["only_text"]) == ("fail", [])
    assert (view["place"]["only_text"], "description" in view["place"]["why"]) == ([], False)
    [floor] = [each for each in score(one, by).findings if each.name == "ground_floor"]
    assert sentence(floor, "bg").endswith(" (казва го само описанието)")
    aged = flat(act_status=None, from_text=frozenset({"year_built", "floor"}))
    [act] = [each for each in score(aged, by).findings if each.name == "act15"]
    assert (act.state, act.only_text) == ("pass", ("year_built",))


def test_a_flat_is_explained_by_the_kept_yardsticks_with_its_costs() -> None:
    view = explain_flat(flat(), WISHES, {("Лозенец", 3): BY}, "bg")
    assert view["value"] == score(flat(), WISHES).value
    assert [one["item"] for one in view["costs"]] == ["price", "state", "commission", "renovation", "total"]
    assert view["costs"][-1]["name"] == "общо"
    assert explain_flat(flat(price_eur=None), WISHES, {}, "en")["costs"] == []
