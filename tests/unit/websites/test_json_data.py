"""JSON in pages: the part asked for, lazily, and texts by paths."""

import json
from pathlib import Path

import pytest

from sale_sofia.listings.page import HostilePage, TruncatedPage, UndecodablePage
from sale_sofia.listings.settings import JSON_MOST_ELEMENTS
from sale_sofia.websites.document import Elements, json_texts, read_json
from sale_sofia.websites.site_file import JsonTable, Link
from tables import each_row

STATE = JsonTable(after=r"STATE\s*=", path="data.offer")
BODY = JsonTable(body=True)
OFFER = {"id": 7, "photos": [{"path": "a/", "name": "1"}, {"path": "b/"}, {"path": "c/", "name": "3"}]}


def link(path: str | tuple[str, ...], **more: object) -> Link:
    return Link.model_validate({"json": "offer", "path": path, **more})


@pytest.mark.parametrize(
    "text",
    [
        'STATE = {"data": {"offer": {"id": 7}}};',
        'STATE={"session": {"x": [1, {"offer": 2}]}, "data" : {"a": "}", "offer": {"id": 7}, "b": 1}} rest',
        "STATE = " + json.dumps(json.dumps({"data": {"offer": {"id": 7}}})) + ";",
    ],
)
def test_the_part_that_is_asked_for(text: str) -> None:
    assert read_json(f"<script>{text}</script>", STATE) == {"id": 7}


def test_what_stands_behind_the_part_is_not_read() -> None:
    assert read_json('STATE = {"data": {"offer": {"id": 7}, "broken', STATE) == {"id": 7}
    assert read_json('STATE = {"broken, "data": {"offer": {"id": 7}}}', STATE) is None


@each_row("text", ["", "STATE =", "STATE = {", 'STATE = {"data": 1}', "STATE = null", 'STATE = "x"'])
def test_a_page_without_it_has_none(text: str) -> None:
    assert read_json(text, STATE) is None


def test_a_body_must_be_whole() -> None:
    assert read_json('{"a": [1]}', BODY) == {"a": [1]}
    with pytest.raises(TruncatedPage):
        read_json('{"a": [1', BODY)
    with pytest.raises(HostilePage):
        read_json("[" * 50_000, BODY)


def test_texts_by_paths() -> None:
    assert json_texts(OFFER, link("id")) == ["7"]
    assert json_texts(OFFER, link("photos.2.name")) == ["3"]
    assert json_texts(OFFER, link("photos.*.path", all=True)) == ["a/", "b/", "c/"]
    assert json_texts(OFFER, link("nothing.here")) == []
    assert json_texts({"a": True, "b": None, "c": {}}, link("a")) == ["true"]
    assert json_texts({"a": True, "b": None, "c": {}}, link("c")) == []


def test_values_of_one_element_stay_together() -> None:
    """A photo without a name gives no address, and none of its neighbour's."""
    both = link(("photos.*.path", "photos.*.name"), form="https://x/{}{}.jpg", all=True)
    assert json_texts(OFFER, both) == ["https://x/a/1.jpg", "https://x/c/3.jpg"]
    assert json_texts({"price": "320,000", "currency": "EUR"}, link(("price", "currency"))) == ["320,000 EUR"]
    assert json_texts({"price": "320,000"}, link(("price", "currency"))) == []


def test_the_first_child_that_has_it() -> None:
    state = {"1": {"b": 1}, "2": {"body": {"data": {"x": 1}}}, "3": {"body": {"data": {"adverts": 5}}}}
    assert json_texts(state, link("*.body.data.adverts")) == ["5"]


@pytest.mark.parametrize("lost", [chr(0xD800), chr(0), chr(0xFFFD)])
def test_lost_letters_are_no_text(lost: str) -> None:
    with pytest.raises(UndecodablePage):
        json_texts({"a": f"цена{lost}"}, link("a"))


@each_row(
    ("given", "sentence"),
    [
        ({"json": "x"}, "needs a path"),
        ({"json": "x", "path": "a", "css": "b"}, "exactly one of css, row, jsonld, json, page"),
        ({"json": "x", "path": ["a", "b"], "form": "{}"}, r"one {} for each of the 2 paths"),
        ({"css": "a", "match": "b"}, "needs a group"),
    ],
)
def test_a_link_that_makes_no_sense(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Link.model_validate(given)


def test_no_json_is_read_that_the_file_does_not_name(tmp_path: Path) -> None:
    from sale_sofia.websites.site_file import CONFIG_FOLDER, SiteConfig, load_yaml, merge  # noqa: PLC0415

    text = load_yaml(CONFIG_FOLDER / "sites" / "homes.bg.yaml")
    whole = merge(load_yaml(CONFIG_FOLDER / "defaults.yaml"), text)
    whole["json"].pop("offer")
    with pytest.raises(ValueError, match="no json named offer; allowed: card, answer"):
        SiteConfig.model_validate(whole)
    assert tmp_path.exists()


def test_more_elements_than_any_page_has_are_refused() -> None:
    many = [{"a": 1}] * JSON_MOST_ELEMENTS
    assert json_texts([many], link("*.*.a", all=True)) == ["1"] * JSON_MOST_ELEMENTS
    with pytest.raises(HostilePage, match=r"more than 10000 elements at \*\.\*"):
        json_texts([many, [1]], link("*.*.a"))


def test_more_members_than_any_state_has_are_refused() -> None:
    text = "x = {" + '"k": 1, ' * JSON_MOST_ELEMENTS + '"a": 2}'
    with pytest.raises(HostilePage, match="more than 10000 members before a"):
        read_json(text, JsonTable(after="x = ", path="a"))
    assert read_json(text.replace('"k": 1, ', "", 1), JsonTable(after="x = ", path="a")) == 2


def test_elements_are_looked_for_once() -> None:
    elements: Elements = {}
    assert json_texts([{"a": 1, "b": 2}], link("*.a"), elements) == ["1"]
    assert elements == {("*",): [{"a": 1, "b": 2}]}
    assert json_texts([], link("*.b"), elements) == ["2"]
