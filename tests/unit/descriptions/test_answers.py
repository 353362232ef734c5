"""Which answers of a model count."""

from typing import Any

import pytest

from sale_sofia.descriptions.asking import AnswerKey, judge, judge_text, merge_answers, open_fields
from sale_sofia.descriptions.enrichment import COLUMNS, find_disagreements
from sale_sofia.descriptions.fields import ATTRIBUTE_FIELDS, Attribute, check_value, json_schema
from tables import each_row

TEXT = "Слънчево  жилище на пети етаж, тухла. Ремонтът е правен скоро."


def answer(field: str, value: object, quote: str) -> dict[str, Any]:
    return {field: {"value": value, "quote": quote}}


def test_a_value_with_its_words_counts_in_the_spelling_of_the_text() -> None:
    found = judge(answer("condition", "renovated", "ремонтът Е правен"), ["condition"], TEXT)
    assert found.attributes == {"condition": Attribute("renovated", "stated", "Ремонтът е правен", "model")}
    assert (
        judge(answer("floor", "5", "слънчево жилище на пети етаж"), ["floor"], TEXT).attributes["floor"].value
        == 5
    )


@each_row(
    ("field", "value", "quote", "problem"),
    [
        ("condition", "lovely", "Ремонтът", "condition: 'lovely' is none of new, turnkey"),
        ("condition", "renovated", "прясно боядисано", "condition: the quote is not in the text"),
        ("condition", "renovated", "", "condition: the quote is not in the text"),
        ("condition", "renovated", "Слънчево жилище", "condition: the quote does not say 'renovated'"),
        ("floor", "7", "пети етаж", "floor: the quote does not say 7"),
        ("floor", "99", "пети етаж", "floor: '99' is not from -1 to 45"),
        ("floor", "пети", "пети етаж", "floor: 'пети' is no number"),
        ("floor", "4.5", "пети етаж", "floor: '4.5' is no whole number"),
        ("construction", "panel", "тухла", "construction: the quote does not say 'panel'"),
        ("heating", "gas", "тухла", "heating: a list is needed"),
        ("elevator", "maybe", "тухла", "elevator: 'maybe' is none of yes, no"),
        ("elevator", ["yes"], "тухла", "elevator: ['yes'] is none of yes, no"),
        ("elevator", {"yes": 1}, "тухла", "elevator: {'yes': 1} is none of yes, no"),
        ("year_range", "1979-1970", "тухла", "year_range: '1979-1970' is no span such as 1970-1979"),
    ],
)
def test_anything_else_does_not(field: str, value: object, quote: str, problem: str) -> None:
    found = judge(answer(field, value, quote), [field], TEXT)
    assert found.attributes == {}
    assert found.problems[0].startswith(problem)


@each_row("words", ["", "{", "[]", '"x"', "null", "[" * 100_000, '{"condition": 5}', "{}"])
def test_no_answer_upsets_the_judge(words: str) -> None:
    found = judge_text(words, ["condition"], TEXT)
    assert (found.attributes, len(found.problems)) == ({}, 1)


def test_unknown_is_no_problem() -> None:
    assert judge(answer("condition", "unknown", ""), ["condition"], TEXT).problems == []
    assert judge(answer("heating", [], ""), ["heating"], TEXT).problems == []


def test_one_bad_field_spoils_no_other() -> None:
    both = {**answer("floor", "5", "пети етаж"), **answer("condition", "bad", "Ремонтът")}
    assert set(judge(both, ["floor", "condition"], TEXT).attributes) == {"floor"}


@each_row("field", ATTRIBUTE_FIELDS)
def test_every_field_has_a_flat_schema_and_takes_unknown(field: str) -> None:
    shape = json_schema([field])["properties"][field]["properties"]["value"]
    assert set(shape) <= {"type", "enum", "items"}
    assert check_value(field, "unknown") is None


def test_the_key_holds_text_schema_rules_and_model() -> None:
    key = AnswerKey.of(TEXT, ["floor"], "m1")
    assert key.digest == AnswerKey.of(TEXT.replace("  ", " ").upper(), ["floor"], "m1").digest
    others = [
        AnswerKey.of(TEXT + "!", ["floor"], "m1"),
        AnswerKey.of(TEXT, ["floor", "year"], "m1"),
        AnswerKey.of(TEXT, ["floor"], "m2"),
        AnswerKey(key.text_hash, key.schema_hash, "other rules", key.model),
    ]
    assert len({key.digest, *(one.digest for one in others)}) == 5


def test_the_model_never_overrules_the_rules() -> None:
    rules = {"floor": Attribute(5, "stated", "пети етаж"), "year": Attribute(1990, "conflict", "1990")}
    said = {"floor": Attribute(7, "stated", "x", "model"), "year": Attribute(1991, "stated", "1991", "model")}
    assert {name: one.value for name, one in merge_answers(rules, said).items()} == {"floor": 5, "year": 1991}


@each_row(
    ("field", "value", "quote", "text"),
    [
        ("floor", "4", "на 4-ти етаж", "Под нас, на 4-ти етаж, живеят тихи хора."),
        ("act", "act16", "с Акт 16", "Съседната сграда е с Акт 16."),
        ("elevator", "yes", "асансьор", "Отсрещният блок има асансьор."),
        ("condition", "renovated", "ремонт", "Входът е след ремонт."),
        ("furnishing", "furnished", "обзаведен", "Не се предлага обзаведен."),
        ("metro_near", "yes", "метростанция", "Бъдеща метростанция на 300 метра."),
        ("rooms", "4", "четиристаен", "Бивш четиристаен, преустроен в тристаен."),
        # What is only named, as the rules judge their own candidates.
        ("floor", "7", "7-ми етаж", "Чака се разрешение за 7-ми етаж."),
        ("storage", ["closet"], "Склад", "Склад на Кауфланд."),
        ("construction", "panel", "панелен блок", "Залепен за панелен блок."),
        ("deal", "rent", "под наем", "Давам под наем паркомясто."),
    ],
)
def test_what_is_said_of_something_else_does_not_count(field: str, value: str, quote: str, text: str) -> None:
    found = judge(answer(field, value, quote), [field], text)
    assert found.attributes == {}
    assert found.problems == [f"{field}: the text says it of something else, or denies it"]


def test_a_quote_counts_where_it_is_said_of_this_flat() -> None:
    text = "Съседите са на пети етаж, а апартаментът също е на пети етаж."
    assert judge(answer("floor", "5", "пети етаж"), ["floor"], text).attributes["floor"].value == 5
    denied = judge(answer("elevator", "no", "няма асансьор"), ["elevator"], "В блока няма асансьор.")
    assert denied.attributes["elevator"].value is False


def test_what_is_open() -> None:
    assert open_fields("Ремонтът се обсъжда.", {}) == ("condition",)
    assert open_fields("Съседите обсъждат ремонт.", {}) == ()
    assert open_fields(TEXT, {"floor": Attribute(5, "conflict", "пети етаж")}) == ("floor", "condition")
    assert open_fields("Слънчево жилище.", {}) == ()


def test_where_portal_and_text_differ_it_is_noted() -> None:
    columns = tuple(COLUMNS.values())
    listing: dict[str, Any] = dict.fromkeys(columns) | {"floor": 4, "area_sqm": 80.4, "heating": ["gas"]}
    said = {
        "floor": Attribute(3, "stated", "трети етаж"),
        "area": Attribute(80, "stated", "80 кв.м"),
        "heating": Attribute(["gas", "floor"], "stated", "газ"),
        "rooms": Attribute(2, "conflict", "двустаен"),
        "elevator": Attribute(value=False, status="negated", quote="асансьор"),
    }
    assert [(one.field, one.portal, one.text) for one in find_disagreements(listing, said)] == [
        ("floor", 4, 3)
    ]


@pytest.mark.parametrize(
    ("portal", "text", "differ"),
    [("commissioned", "act16", False), ("act16", "commissioned", False), ("act15", "commissioned", True)],
)
def test_a_building_with_act_16_is_commissioned(portal: str, text: str, differ: bool) -> None:  # noqa: FBT001
    listing: dict[str, Any] = dict.fromkeys(COLUMNS.values()) | {"act_status": portal}
    said = {"act": Attribute(text, "stated", "акт")}
    assert [(one.portal, one.text) for one in find_disagreements(listing, said)] == [(portal, text)] * differ
