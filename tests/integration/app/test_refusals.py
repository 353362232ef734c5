"""What is refused, and what is wrong with a portal, is said in Bulgarian on a Bulgarian page."""

import re
import time
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import yaml
from streamlit.testing.v1 import AppTest

import sale_sofia
from app_runs import APP, open_screen, put_adverts, store, table
from integration.app.test_chosen_language import latin
from sale_sofia.advice.scoring.profile import ProfileError, new_profile, profile_path
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.app.formatting import translated
from sale_sofia.flats import overrides
from sale_sofia.flats.overrides import WrongDecision
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident

FLAT = {
    "deal": "sale",
    "property_type": "apartment",
    "city": "София",
    "area_sqm": 80.0,
    "price_eur": 160_000.0,
}
INCIDENTS = {
    IncidentKind.EMPTY_JOB: "the portal shows no advert for this search",
    IncidentKind.FAILED_JOB: "none of 40 adverts could be read; https://www.imot.bg/x",
    IncidentKind.PARTIAL_JOB: "31 of 40 opened adverts could not be read; https://www.imot.bg/x",
    IncidentKind.COLLAPSE: "collapsed: 3 adverts, where 300 are usual; nothing is delisted",
    IncidentKind.COVERAGE: (
        "homes.bg: 1 000 of 11 204 seen, the portal shows 1 000 of a query; nothing is delisted"
    ),
    IncidentKind.CIRCUIT_OPEN_LONG: "the circuit was open for 900 seconds",
    IncidentKind.STUCK_JOB: "nothing has moved for 3600 seconds",
    IncidentKind.NO_CRAWL: "the last complete crawl ended on 01.11.2026 08:00",
    IncidentKind.PRICE_MEANING: (
        "advert 1b2 shows 55 € where 55000 € was: 0.001 of the price; the old price is kept"
    ),
    IncidentKind.DRIFT_FILL: (
        "listing.price_eur is filled on 40% of 200, where 95% is usual; a text was found on 120 (b.x), "
        "for example https://www.imot.bg/x; and 2 more; nothing is delisted"
    ),
    IncidentKind.DRIFT_FLOOR: (
        "price on 0 of 30 opened adverts (at least 80% expected) (b.x), for example https://www.imot.bg/x; "
        "place on 3 of 30 opened adverts (at least 80% expected) (b.x); nothing is delisted; "
        "no advert is shown as new"
    ),
    IncidentKind.DRIFT_PRICE: (
        "the median of listing.price_eur is 900 €, where 90000 € is usual; "
        "12 known prices are 0.01 times what they were; nothing is delisted"
    ),
}  # fmt: skip
"""As they are stored."""


def errors(screen: AppTest) -> str:
    assert screen.error
    return "\n".join(str(one.value) for one in screen.error)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"price_min": 5, "price_max": 3}, "„Цена от, €“ 5 е повече от „Цена до, €“ 3"),
        ({"rooms": ["nine"]}, "Стаи: 'nine': трябва да е цяло число"),
        ({"area_min": -1}, "Площ от, m² (обща): -1: трябва да е поне 0"),
        ({"deal": "swap"}, "Сделка: 'swap': трябва да е 'sale' или 'rent'"),
        ({"cut_percent": 5}, "„Поевтинял с поне“ иска и за колко дни"),
        ({"neighbourhood": ["Няма"]}, "Квартали: 'Няма': няма такъв квартал в София; изберете го от списъка"),
        ({"sort": "score"}, "за това подреждане или условие е нужен профил"),
    ],
)
def test_a_search_is_refused_in_bulgarian(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(WrongSearch) as refused:
        SearchQuery.of(asked)
    assert translated(refused.value) == said


def test_a_page_refuses_a_search_in_bulgarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, FLAT)
    screen = open_screen("search", tmp_path, monkeypatch)
    screen.number_input(key="q.price_min").set_value(5).run()
    screen.number_input(key="q.price_max").set_value(3).run()
    assert latin(errors(screen)) == set()


def test_a_note_a_search_and_a_split_that_cannot_be_are_refused_in_bulgarian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, FLAT, FLAT | {"external_id": "x2"})
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    search = open_screen("search", tmp_path, monkeypatch)
    next(one for one in search.button if one.label == "Запази търсенето").click().run()
    assert "Не е запазено: полето е празно; напишете нещо" in errors(search)
    with pytest.raises(WrongDecision) as refused:
        overrides.split(matching, 1, [1])
    assert translated(refused.value).startswith("това са всички обяви на имот 1; изберете само онези")


def test_criteria_are_refused_in_bulgarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    criteria = open_screen("criteria", tmp_path, monkeypatch)
    criteria.number_input(key="criteria:default:budget_eur").set_value(0).run()
    criteria.multiselect(key="criteria:default:property_types").set_value([]).run()
    said = errors(criteria).replace("\\", "")
    assert "Бюджет с всичко (€): '0' не може; позволено е: число над 0, до 100000000." in said
    assert "Вид имот: '[]' не може; позволено е: поне едно от: apartment" in said
    for wrong, told in (("a b", "профил не може да се казва 'a b'"), ("default", "вече има такъв профил")):
        profile_path(tmp_path, "default").parent.mkdir(exist_ok=True)
        profile_path(tmp_path, "default").touch()
        with pytest.raises(ProfileError) as refused:
            new_profile(tmp_path, wrong)
        assert translated(refused.value).startswith(told)


def test_rules_of_alerts_are_refused_in_bulgarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"name": "a<b", "profile": "default", "channels": ["phone"], "tell": []}
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"buyer": [rule]}), "utf-8")
    said = errors(open_screen("alerts", tmp_path, monkeypatch)).replace("\\", "")
    assert "Име: 'a<b' не може да е име; позволени са букви" in said
    rule |= {"name": "a", "tell": ["new"]}
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"buyer": [rule]}), "utf-8")
    said = errors(open_screen("alerts", tmp_path, monkeypatch)).replace("\\", "")
    assert "правило a: няма канал phone; има: none" in said


def test_incidents_are_told_in_bulgarian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, FLAT)
    with store(tmp_path).write() as connection:
        for kind, message in INCIDENTS.items():
            open_incident(connection, Trouble(kind, "imot.bg", message), now=time.time())
    health = open_screen("health", tmp_path, monkeypatch)
    told = {row["Какво"]: row["Защо"] for row in table(health, 2)}
    assert len(told) == len(INCIDENTS)
    assert {word for said in told.values() for word in latin(said)} == set()
    assert told["срив на броя обяви"] == "срив: 3 обяви, а обичайни са 300; нищо не се смята за свалено"
    english = open_screen("health", tmp_path, monkeypatch, lang="en")
    assert {row["Why"] for row in table(english, 2)} == set(INCIDENTS.values())
    assert told["по-малко попълнени полета"].startswith("цена е попълнено при 40% от 200, а обичайно е 95%")


def test_what_nobody_translated_stays_as_it_is() -> None:
    assert translated("<b>55</b> € where 55000 € was\nsomething: else") == (
        "<b>55</b> € where 55000 € was\nsomething: else"
    )
    for said in ("404: Not Found", "12.5: so much", "; " * 1500):
        assert translated(said) == said


def test_a_sentence_has_the_same_gaps_or_fewer_in_bulgarian_and_is_really_said() -> None:
    source = "\n".join(path.read_text("utf-8") for path in Path(sale_sofia.__file__).parent.rglob("*.py"))
    source = re.sub(r'"\s+f?"', "", source)  # a sentence of two lines is one
    for line in yaml.safe_load((APP / "sentences.yaml").read_text("utf-8")):
        gaps = [{name for _, name, _, _ in Formatter().parse(line[one]) if name} for one in ("en", "bg")]
        assert gaps[1] <= gaps[0], line
        pieces = [piece for piece, _, _, _ in Formatter().parse(line["en"])]
        longest = max(pieces, key=len).strip("`:;., ()")
        theirs = ("Input should", "String should", "Tuple should")
        put_together = {f"{name} failed: {{why}}" for name in ("matching", "scoring", "alerts")}
        ours = not line["en"].startswith(theirs) and line["en"] not in put_together
        assert not ours or max(longest.split("; "), key=len) in source, line
