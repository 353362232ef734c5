"""What is refused, and what is wrong with a portal, is said in Bulgarian on a Bulgarian page."""

import ast
import copy
import json
import pickle
import time
from pathlib import Path
from string import Formatter
from typing import Any, Literal

import pytest
import yaml
from pydantic import BaseModel, Field, ValidationError

import sale_sofia
from app_runs import put_adverts, store
from integration.app.test_chosen_language import latin
from sale_sofia.advice.scoring.profile import ProfileError, new_profile, profile_path
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.app.words import translate
from sale_sofia.flats import overrides
from sale_sofia.flats.overrides import WrongDecision
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from sale_sofia.settings.types import why_refused
from sale_sofia.settings.words import FILES, Said, dictionary
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident
from tables import each_row
from web_pages import browser

FLAT = {
    "deal": "sale",
    "property_type": "apartment",
    "city": "София",
    "area_sqm": 80.0,
    "price_eur": 160_000.0,
}
_PLACE = "https://www.imot.bg/x"
INCIDENTS = {
    IncidentKind.EMPTY_JOB: Said("job.no_advert"),
    IncidentKind.FAILED_JOB: Said("job.none_read", adverts=40, first=_PLACE),
    IncidentKind.COLLAPSE: Said("trouble.nothing_delisted", why=Said("sweep.collapsed", count=3, usual=300)),
    IncidentKind.COVERAGE: Said(
        "trouble.coverage",
        site="homes.bg",
        why=Said(
            "sweep.short",
            figures=Said("sweep.seen", seen=1000, all=11_204),
            why=Said("sweep.capped", most=1000, more=None, useless=None),
        ),
    ),
    IncidentKind.PRICE_MEANING: Said(
        "trouble.price_meaning", advert="1b2", new=55.0, old=55_000.0, why=Said("price.part", part=0.001)
    ),
    IncidentKind.DRIFT_FILL: Said(
        "drift.nothing_delisted",
        found=[
            Said(
                "drift.check",
                found=Said(
                    "drift.fill",
                    key="listing.price_eur",
                    share=0.4,
                    whole=200,
                    usual=Said("drift.usual_share", usual=0.95),
                    unread=Said("drift.text_found", found=120),
                ),
                where=Said("drift.where", selector="b.x"),
                page=Said("drift.page", url=_PLACE),
            ),
            Said("drift.more", count=2),
        ],
    ),
}
ENGLISH = (
    "the portal shows no advert for this search",
    "none of 40 adverts could be read; https://www.imot.bg/x",
    "collapsed: 3 adverts, where 300 are usual; nothing is delisted",
    "homes.bg: 1 000 of 11 204 seen, the portal shows 1 000 of a query; nothing is delisted",
    "advert 1b2 shows 55 € where 55000 € was: 0.001 of the price; the old price is kept",
    (
        "listing.price_eur is filled on 40% of 200, where 95% is usual; a text was found on 120 (b.x), "
        "for example https://www.imot.bg/x; and 2 more; nothing is delisted"
    ),
)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"price_min": 5, "price_max": 3}, "„Цена от, €“ 5 е повече от „Цена до, €“ 3"),
        (
            {"rooms": ["nine"]},
            "Стаи: 'nine': пишете числа със запетаи между тях, например 2,3",
        ),
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
    assert translate(refused.value) == said


def test_a_page_refuses_a_search_in_bulgarian(tmp_path: Path) -> None:
    put_adverts(tmp_path, FLAT)
    with browser(tmp_path) as buyer:
        wrong = buyer.data("/search.json?price_min=5&price_max=3")["error"]
    assert latin(wrong) == set()
    assert wrong.endswith("„Цена от, €“ 5 е повече от „Цена до, €“ 3")


def test_a_search_and_a_split_that_cannot_be_are_refused_in_bulgarian(tmp_path: Path) -> None:
    put_adverts(tmp_path, FLAT, FLAT | {"external_id": "x2"})
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    with browser(tmp_path) as buyer:
        told_of = buyer.fill("/search/save", name="", back="/search")
    assert "Не е запазено: полето е празно; напишете нещо" in told_of
    with pytest.raises(WrongDecision) as refused:
        overrides.split(matching, 1, [1])
    assert translate(refused.value).startswith("това са всички обяви на имот 1; изберете само онези")


def test_a_profile_that_cannot_be_made_is_refused_in_bulgarian(tmp_path: Path) -> None:
    for wrong, begins in (("a b", "профил не може да се казва 'a b'"), ("default", "вече има такъв профил")):
        profile_path(tmp_path, "default").parent.mkdir(exist_ok=True)
        profile_path(tmp_path, "default").touch()
        with pytest.raises(ProfileError) as refused:
            new_profile(tmp_path, wrong)
        assert translate(refused.value).startswith(begins)


def test_rules_of_alerts_are_refused_in_bulgarian(tmp_path: Path) -> None:
    rule = {"name": "a<b", "profile": "default", "channels": ["phone"], "tell": []}
    with browser(tmp_path) as buyer:
        (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"buyer": [rule]}), "utf-8")
        assert "Име: 'a<b' не може да е име; позволени са букви" in buyer.text("/alerts")
        rule |= {"name": "a", "tell": ["new"]}
        (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"buyer": [rule]}), "utf-8")
        assert "правило a: няма канал phone; има: none" in buyer.text("/alerts")


def test_incidents_are_told_in_bulgarian(tmp_path: Path) -> None:
    put_adverts(tmp_path, FLAT)
    with store(tmp_path).write() as connection:
        for kind, message in INCIDENTS.items():
            open_incident(connection, Trouble(kind, "imot.bg", message), now=time.time())
    with browser(tmp_path) as operator:
        bulgarian, english = operator.text("/health"), operator.text("/health?lang=en")
    for message in INCIDENTS.values():
        assert Said.of(message).in_words("bg") in bulgarian
        assert latin(Said.of(message).in_words("bg")) == set()
    assert "срив: 3 обяви, а обичайни са 300; нищо не се смята за свалено" in bulgarian
    assert [said for said in ENGLISH if said not in english] == []


def test_what_has_no_code_stays_as_it_is() -> None:
    for said in ("<b>55</b> € where 55000 € was\nsomething: else", "404: Not Found", "{gap}", "; " * 1500):
        assert translate(said) == said
        assert Said.of(Said.of(said).stored()) == said
    assert translate({"code": "of.tomorrow", "values": {}}) == "{'code': 'of.tomorrow', 'values': {}}"
    assert translate({"code": "sweep.limited", "values": {}}) == "ограничено до ? обяви"


def test_a_sentence_keeps_its_code_wherever_it_goes() -> None:
    said = INCIDENTS[IncidentKind.DRIFT_FILL]
    pickled = pickle.loads(pickle.dumps(said))  # noqa: S301 - our own
    kept = (Said.of(json.loads(json.dumps(said.stored()))), copy.deepcopy(said), pickled)
    assert {(one, one.code, one.in_words("bg")) for one in kept} == {(said, said.code, said.in_words("bg"))}


def test_every_code_is_in_the_catalogue_with_its_gaps_and_is_really_said() -> None:
    used: set[str] = {"other", "pydantic.literal_error"}
    for path in Path(sale_sofia.__file__).parent.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Said":
                code, gaps = call.args[0], {one.arg for one in call.keywords}
                if isinstance(code, ast.Constant) and isinstance(code.value, str):
                    used.add(code.value)
                    wanted = {
                        name for _, name, _, _ in Formatter().parse(dictionary()[code.value]["en"]) if name
                    }
                    assert None in gaps or gaps == wanted, (path, code.value)
    sentences = yaml.safe_load(FILES[1].read_text("utf-8"))
    computed = (
        "pydantic.", "allowed.", "drift.", "job.", "trouble.", "wrong_profile.", "start.", "estimate.stored",
    )  # fmt: skip
    assert {code for code in sentences.keys() - used if not code.startswith(computed)} == set()


@each_row(
    ("field", "value", "sentence"),
    [
        ("a", "x", "must be a whole number"),
        ("b", "x", "must be a number"),
        ("b", -1, "must be more than -1"),
        ("b", 100_000_001, "must be at most 100000000"),
        ("c", "x", "must be true or false"),
        ("d", float("inf"), "must be a finite number"),
        ("e", "", "must not be empty"),
        ("e", "xxxxx", "can have at most 4 characters"),
        ("f", "z", "must be 'x' or 'y'"),
        ("g", (), "needs at least 1"),
    ],
)
def test_what_pydantic_refuses_is_said_by_its_code_in_plain_words(
    field: str, value: object, sentence: str
) -> None:
    class Model(BaseModel):
        a: int = 0
        b: float = Field(0, gt=-1, le=100_000_000)
        c: bool = False
        d: float = Field(0, allow_inf_nan=False)
        e: str = Field("x", min_length=1, max_length=4)
        f: Literal["x", "y"] | None = None
        g: tuple[int, ...] = Field((1,), min_length=1)

    with pytest.raises(ValidationError) as refused:
        Model.model_validate({field: value})
    (mistake,) = refused.value.errors()
    said = why_refused(mistake, Model)
    assert str(said) == sentence
    assert said.code == f"pydantic.{mistake['type']}"


def test_an_id_that_no_database_has_is_a_page_that_is_not_there(tmp_path: Path) -> None:
    huge = "9" * 30
    with browser(tmp_path) as visitor:
        origin = {"origin": str(visitor.base_url).rstrip("/")}
        for path in (f"/flat/{huge}", f"/health/page/{huge}", f"/map/card/{huge}"):
            assert visitor.get(path).status_code == 404, path
        for path in (f"/flat/1/viewing/{huge}", f"/health/page/{huge}/reparse"):
            assert visitor.post(path, headers=origin, data={}).status_code == 404, path
        answer = visitor.post("/today/later", headers=origin, data={"id": "1,2"})
        assert answer.status_code == 404, "there is no flat 1"
