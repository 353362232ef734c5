"""What links find in a page: JSON in attributes and in streams, every match, JSON-LD in all its shapes."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from sale_sofia.listings.page import PageLimits
from sale_sofia.websites.document import CardElement, Document, Texts
from sale_sofia.websites.site_file import JsonTable, Link, RowsTable
from tables import each_row

LIMITS = PageLimits(max_bytes=10_000_000, max_tags=500, max_options=50)
PUSH = r"self\.__next_f\.push\(\[1,\s*"


def link(**given: Any) -> Link:  # noqa: ANN401
    return Link.model_validate(given)


def document(body: str, rows: RowsTable | None = None, **sources: JsonTable) -> Document:
    return Document(
        f"<html><body>{body}</body></html>",
        url="https://x/1",
        rows={"params": rows} if rows else {},
        limits=LIMITS,
        sources=sources,
    )


def found(body: str, **given: Any) -> Texts:  # noqa: ANN401
    return document(body).texts(link(**given))


# JSON inside an attribute

OFFER = """<div class="offer" data-offer='{"price": {"value": 99000}, "tags": ["a", "b"]}'>"""


def test_a_link_reads_the_json_of_an_attribute() -> None:
    assert found(OFFER, css=".offer", attr="data-offer", path="price.value") == ("99000",)
    assert found(OFFER, css=".offer", attr="data-offer", path="tags.*", all=True) == ("a", "b")
    assert found(OFFER, css=".offer", attr="data-offer", path="nothing") == ()
    assert found(OFFER, css=".offer", attr="data-offer", path="price.value", match="^(99)") == ("99",)


@each_row("value", ["", "текст", "{&quot;price&quot;: 1", "{} и още", "[" * 50_000])
def test_an_attribute_that_is_no_whole_json_says_nothing(value: str) -> None:
    assert (
        found(f'<div class="offer" data-offer="{value}">', css=".offer", attr="data-offer", path="price")
        == ()
    )


def test_each_card_has_the_json_of_its_own_attribute() -> None:
    page = document("".join(f"<li data-x='{{\"id\": {number}}}'></li>" for number in (1, 2)))
    cards = [CardElement({}, node=node) for node in page.tree.css("li")]
    assert [page.texts(link(css="li", attr="data-x", path="id"), card) for card in cards] == [("1",), ("2",)]


def test_a_named_json_stands_in_an_attribute_or_an_element() -> None:
    page = document(
        OFFER + '<script id="data" type="application/json">{"a": {"b": [1, 2]}}</script>',
        offer=JsonTable(css=".offer", attr="data-offer", path="price"),
        data=JsonTable(css="#data", path="a"),
        nowhere=JsonTable(css="#nowhere"),
        text=JsonTable(css=".offer"),
    )
    assert page.texts(link(json="offer", path="value")) == ("99000",)
    assert page.texts(link(json="data", path="b.*", all=True)) == ("1", "2")
    assert page.texts(link(json="nowhere", path="value")) == ()
    assert page.texts(link(json="text", path="value")) == ()


def test_a_json_in_a_string_in_an_attribute_is_opened() -> None:
    page = document(
        f"<div id=x data-x='{json.dumps(json.dumps({'a': 1}))}'>", x=JsonTable(css="#x", attr="data-x")
    )
    assert page.texts(link(json="x", path="a")) == ("1",)


# a stream in pieces


def stream(*pieces: str) -> str:
    return "".join(f"<script>self.__next_f.push([1,{json.dumps(piece)}])</script>" for piece in pieces)


def test_the_pieces_of_a_stream_are_joined_and_looked_into() -> None:
    whole = '5:["$","main",null,{"offer":{"price":99000,"text":"Ясно < \\"и\\" точно"}}]\n'
    page = document(
        "<script>self.__next_f.push([0])</script>" + stream("1:I[4]\n", whole[:29], whole[29:40], whole[40:]),
        offer=JsonTable(pieces=PUSH, after='"offer":'),
        price=JsonTable(pieces=PUSH, after='"offer":', path="price"),
        other=JsonTable(pieces=PUSH, after='"other":'),
    )
    assert page.texts(link(json="offer", path="price")) == ("99000",)
    assert page.texts(link(json="offer", path="text")) == ('Ясно < "и" точно',)
    assert page.json("price") == 99000
    assert page.texts(link(json="other", path="price")) == ()


def test_what_follows_a_broken_piece_is_not_joined_to_what_stands_before_it() -> None:
    for broken in ("oops])", '"oops'):
        body = (
            stream('{"offer":{"price": 1')
            + f"<script>self.__next_f.push([1,{broken}</script>"
            + stream("2}}")
        )
        page = document(body, offer=JsonTable(pieces=PUSH, after='"offer":'))
        assert page.texts(link(json="offer", path="price")) == ()


@each_row(
    "given",
    [
        {},
        {"body": True, "after": "x"},
        {"body": True, "css": "x"},
        {"after": "x", "css": "x"},
        {"after": "x", "attr": "x"},
        {"pieces": "x"},
        {"css": "x", "pieces": "x"},
    ],
)
def test_a_json_stands_in_one_place(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        JsonTable.model_validate(given)


# every match of a pattern


def test_all_gives_every_match_of_the_source() -> None:
    body = "<script>img('/a.jpg'); img('/b.jpg'); img('');</script>"
    assert found(body, page="source", match=r"img\('([^']*)'\)", all=True) == ("/a.jpg", "/b.jpg")
    assert found(body, page="source", match=r"img\('([^']*)'\)") == ("/a.jpg",)


def test_all_gives_every_match_of_every_element() -> None:
    body = "<p>1 и 2</p><p>нищо</p><p>3</p>"
    assert found(body, css="p", match=r"(\d)", all=True) == ("1", "2", "3")
    assert found(body, css="p", match=r"(\d)") == ("1",)


# JSON-LD


@each_row(
    "shape",
    [
        {"@type": "Product", "name": "Имот"},
        {"@type": ["Thing", "Product"], "name": "Имот"},
        [{"@type": "Person", "name": "Не"}, {"@type": "Product", "name": "Имот"}],
        {
            "@context": "x",
            "@graph": [{"@type": "Person", "name": "Не"}, {"@type": "Product", "name": "Имот"}],
        },
        {"@graph": {"@type": "Product", "name": "Имот"}},
        [[{"@graph": [{"@type": ["Product"], "name": "Имот"}]}]],
        [1, None, "x", {"@type": None}, {"@type": "Product", "name": "Имот"}],
    ],
)
def test_a_thing_of_json_ld_is_found_in_every_shape(shape: object) -> None:
    body = f'<script type="application/ld+json">{json.dumps(shape)}</script>'
    assert found(body, jsonld="Product", path="name") == ("Имот",)
    assert found(body, jsonld="Offer", path="name") == ()


def test_of_two_things_the_first_counts_in_the_pages_order() -> None:
    things = [{"@type": "Product", "name": "1"}, {"@graph": [{"@type": "Product", "name": "2"}]}]
    body = f'<script type="application/ld+json">{json.dumps(things)}</script>'
    assert found(body, jsonld="Product", path="name") == ("1",)


def test_a_thing_of_json_ld_is_found_behind_others_and_however_it_is_spelled() -> None:
    others = ('{"@type": "Person", "name": "1"}', '{"@type": "Product', '{"name": "Product"}')
    thing = '{"@type": "\\u0050roduct", "name": "2"}'
    body = "".join(f'<script type="application/ld+json">{script}</script>' for script in (*others, thing))
    assert found(body, jsonld="Product", path="name") == ("2",)
    assert found(body, jsonld="Person", path="name") == ("1",)


def test_a_list_of_json_ld_is_as_many_texts() -> None:
    body = '<script type="application/ld+json">{"@type": "Product", "image": ["/a", "/b"]}</script>'
    assert found(body, jsonld="Product", path="image.*", all=True) == ("/a", "/b")


# links and rows


def test_a_path_needs_a_json() -> None:
    for given in ({"css": "p", "path": "a"}, {"row": "Цена", "path": "a"}, {"page": "source", "path": "a"}):
        with pytest.raises(ValidationError, match="a path needs json, jsonld, or css and attr"):
            link(**given)


def test_the_value_of_a_row_may_be_an_attribute() -> None:
    rows = RowsTable(css="tr", label="th", value="a", attr="href")
    page = document("<table><tr><th>Карта:<td><a href=' /map '>виж</a><tr><th>Друго<td>x</table>", rows)
    assert page.texts(link(row="Карта")) == ("/map",)
    assert page.texts(link(row="Друго")) == ()
    with pytest.raises(ValidationError, match="rows with attr need css, label and value"):
        RowsTable(css="tr", attr="href")
