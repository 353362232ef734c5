"""Every number on every page of every flat of the demo is what the commands say of the same flat."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from commands_here import commands
from sale_sofia.advice.valuation import valuation
from sale_sofia.app import formatting as fmt
from web_pages import Browser, browser, plain, spaced

LEAST_FLATS = 50
JUDGED_FLATS = 2
"""The demo of tests is small; so few flats, and so few of a neighbourhood, do for a fair price here."""
EVERYTHING = {
    "deal": "any", "property_type": "any", "gone": "true", "place_conflict": "true", "unknown": "ok",
}  # fmt: skip
SAME = (
    "title", "price_eur", "vat", "area_sqm", "rooms", "floor", "floors_total", "construction",
    "neighbourhood", "metro_minutes", "metro_distance_m", "offered", "status", "portals",
)  # fmt: skip
"""What cards and `search --json` call by one name."""
Said = Mapping[str, Any]
_SCORED = ("value", "known", "points", "verdict")


@pytest.fixture
def said(
    demo_copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, dict[int, Said]]:
    """What the commands say of each flat, by command."""
    monkeypatch.setenv("VALUATION_LEAST_FLATS", str(LEAST_FLATS))
    monkeypatch.setattr(valuation, "JUDGED_FLATS", JUDGED_FLATS)
    command = commands(demo_copy, monkeypatch, capsys)
    words = [word for name, value in EVERYTHING.items() for word in _option(name, value)]
    found = command("search", *words, "--limit", "10000", "--json").json()
    flats = {one["property_id"]: one for one in [*found["flats"], *found["unknown"]]}
    told: dict[str, dict[int, Said]] = {"search": flats, "show": {}, "score": {}, "value": {}}
    for number in flats:
        told["show"][number] = command("properties", "show", str(number), "--json").json()
        told["value"][number] = command("value", str(number), "--json").json()
    scored = command("score", "--limit", "10000", "--json").json()["scores"]
    told["score"] = {one["property_id"]: one for one in scored}
    return told


def _option(name: str, value: str) -> Iterator[str]:
    yield f"--{name.replace('_', '-')}"
    if value != "true":
        yield value


def test_every_number_of_every_flat_is_what_the_commands_say(
    demo_copy: Path, said: dict[str, dict[int, Said]]
) -> None:
    with browser(demo_copy, valuation_least_flats=LEAST_FLATS) as buyer:
        cards = dict(_cards(buyer))
        assert set(cards) == set(said["search"])
        assert len({one["verdict"] for one in said["value"].values()}) > 2
        for number, (card, data) in cards.items():
            record, score = said["search"][number], said["score"].get(number)
            assert {name: data[name] for name in SAME} == {name: record[name] for name in SAME}
            assert data["days_on_market"] == pytest.approx(record["days"], abs=0.1)
            if record["offered"]:  # the command ranks no others
                assert _score(data) == (score and tuple(score[name] for name in _SCORED))
            assert _fair(data) == _judged(said["value"][number])
            for text in _texts_of_card(record, score):
                assert text in card, (number, text)
            own = buyer.data(f"/flat/{number}.json")
            assert {name: own[name] for name in data if name != "days_on_market"} == {
                name: value for name, value in data.items() if name != "days_on_market"
            }
            _same_as_shown(buyer, number, own, said)


def _cards(buyer: Browser) -> Iterator[tuple[int, tuple[str, Said]]]:
    """Every card of the search: its words, and its data."""
    query = "&".join(f"{name}={value}" for name, value in {"q": "1", **EVERYTHING}.items())
    page = 1
    while True:
        html = buyer.html(f"/search?{query}&page={page}")
        data = {one["id"]: one for one in buyer.data(f"/search.json?{query}&page={page}")["flats"]}
        for node in LexborHTMLParser(html).css("article.card"):
            number = int((node.attributes["id"] or "").removeprefix("flat-"))
            yield number, (plain(node.html or ""), data[number])
        if 'rel="next"' not in html:
            return
        page += 1


def _score(data: Said) -> tuple[Any, ...] | None:
    return None if data["score"] is None else (data["score"], *(data[name] for name in _SCORED[1:]))


def _fair(data: Said) -> tuple[Any, ...] | None:
    fair = data["fair_price"]
    return fair and (fair["verdict"], *fair["eur_sqm"].values())


def _judged(value: Said) -> tuple[Any, ...] | None:
    if value["verdict"] == "unknown":
        return None
    return value["verdict"], *(value["fair_eur_sqm"][name] for name in ("low", "middle", "high"))


def _texts_of_card(record: Said, score: Said | None) -> Iterator[str]:
    yield spaced(fmt.euro(record["price_eur"]))
    if record["area_sqm"] is not None:
        yield spaced(fmt.area(record["area_sqm"]))
    if record["eur_sqm"] is not None:
        yield spaced(fmt.euro_per_sqm(record["eur_sqm"]))
    if score is not None:
        yield f"Оценка {fmt.score(score['value'])} от 5"
        yield f"→ брои се за {fmt.score(score['points'])})"  # the number that the order is by


def _same_as_shown(buyer: Browser, number: int, own: Said, said: dict[str, dict[int, Said]]) -> None:
    """The page of the flat beside `properties show` and `value`."""
    view, value, text = said["show"][number], said["value"][number], buyer.text(f"/flat/{number}")
    assert own["facts"] == view["fields"]
    assert own["contradictions"] == view["contradictions"]
    assert own["offers"] == view["offers"]
    assert own["nearby"] == view["nearby"]
    if centre := view["centre_travel"]:
        assert spaced(fmt.walk(centre["least"], centre["most"])) in text
    for station in view["metro_stations"]:
        assert f"{station['name']} {station['minutes']}" in text
    for offer in view["offers"]:
        assert spaced(fmt.euro(offer["price_eur"])) in text
    if value["fair_eur"] is not None:
        for name in ("low", "middle", "high"):
            assert spaced(fmt.euro(value["fair_eur"][name])) in text
    walk = view["metro_walk"]
    assert own["metro_walk_minutes"] == (walk and [walk["least"], walk["most"]])
