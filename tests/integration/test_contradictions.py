"""Contradictions as a buyer meets them: in the demo, in commands, in searches; and facts put right."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from commands_here import Command, commands
from contract.storage.helpers import ready_database
from property_worlds import advert, save
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.flat import Flat
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.settings import MANY_ROOMS
from sale_sofia.history.tables import listings
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import Settings


def flats_of(data: Path) -> list[Flat]:
    return open_ready(Settings(data_dir=data)).run_read(lambda connection: list(read_flats(connection)))


def impossible(flats: list[Flat]) -> list[int]:
    """Flats that are shown on a floor, or with rooms, that cannot be."""
    return [
        flat.property_id
        for flat in flats
        if (flat.floor is not None and flat.floors_total is not None and flat.floor > flat.floors_total)
        or (flat.bedrooms and flat.rooms and 1 < flat.rooms < MANY_ROOMS and flat.bedrooms >= flat.rooms)
    ]


def test_no_flat_of_the_demo_has_an_impossible_floor_or_rooms(demo_world: Path) -> None:
    flats = flats_of(demo_world)
    assert len(flats) > 50
    assert sum(flat.floor is not None and flat.floors_total is not None for flat in flats) > 20
    assert impossible(flats) == []


def test_nor_has_one_whose_adverts_print_them(demo_copy: Path) -> None:
    bedrooms = {"value": 3, "status": "stated", "quote": "три спални", "method": "rules"}
    with open_ready(Settings(data_dir=demo_copy)).write() as connection:
        third = listings.c.id % 3 == 0
        connection.execute(update(listings).where(third).values(floor=listings.c.floors_total + 2))
        reads = connection.execute(select(description_reads).where(description_reads.c.listing_id % 3 == 1))
        for read in reads.mappings().all():
            this = description_reads.c.listing_id == read["listing_id"]
            said = {**read["attributes"], "bedrooms": bedrooms}
            connection.execute(update(description_reads).where(this).values(attributes=said))
    flats = flats_of(demo_copy)
    assert impossible(flats) == []
    found = [one.code.value for flat in flats for one in flat.contradictions]
    assert min(found.count("floor_above_total"), found.count("bedrooms_fill_rooms")) > 5


# The commands.

FLATS = [
    advert("a1", floor=9),
    advert("b1", area_sqm=51.0, floor=2),
    advert("c1", area_sqm=70.0, area_net_sqm=90.0, floor=3),
]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Gives the program a command on three flats of which two cannot be as they say."""
    database = ready_database(tmp_path / "sale_sofia.db")
    save(database, FLATS)
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    database.dispose()
    return commands(tmp_path, monkeypatch, capsys)


def test_contradictions_are_searched_for_and_saved(say: Command) -> None:
    def numbers(*conditions: str) -> list[int]:
        found = say("search", *conditions, "--unknown", "ok", "--json").json()
        return sorted(flat["property_id"] for flat in found["flats"])

    assert numbers("--contradictions", "only") == [1, 3]
    assert numbers("--contradictions", "none") == [2]
    assert numbers("--flag", "floor_above_total", "--flag", "text_rooms") == [1]
    [flat] = say("search", "--flag", "net_above_total", "--save", "odd", "--json").json()["flats"]
    assert (flat["property_id"], flat["area_sqm"], flat["area_net_sqm"]) == (3, None, None)
    assert flat["contradictions"] == [
        {"code": "net_above_total", "facts": ["area_sqm", "area_net_sqm"], "one": 70.0, "other": 90.0,
         "kept": None}
    ]  # fmt: skip
    assert [one["property_id"] for one in say("search", "run", "odd", "--json").json()["flats"]] == [3]
    wrong = say("search", "--flag", "too_high")
    assert wrong.code == 2
    assert wrong.err.startswith("sale-sofia: flag: 'too_high': must be 'floor_above_total', ")
    assert say("search", "--contradictions", "some").code == 2


def test_a_floor_is_put_right_and_taken_back(say: Command) -> None:
    shown = say("properties", "show", "1").out
    assert "floor_above_total" in shown
    assert "floor, floors_total" in shown
    assert say("properties", "correct", "1", "floor", "4").err == "floor is 4"
    [flat] = say("search", "--floor-max", "4", "--floor-min", "4", "--json").json()["flats"]
    assert (flat["property_id"], flat["floor"], flat["corrected"], flat["contradictions"]) == (
        1, 4, ["floor"], [],
    )  # fmt: skip
    fields = say("properties", "show", "1", "--json").json()["fields"]
    assert (fields["floor"]["value"], fields["floor"]["site"]) == (4, "you")
    undone = say("properties", "correct", "1", "floor", "--undo", "--json").json()
    assert undone == {"property": 1, "fact": "floor", "value": None}
    assert say("search", "--floor-max", "4", "--floor-min", "4", "--json").json()["total"] == 0
    assert say("properties", "correct", "1", "orientation", "S,E").err == "orientation is S, E"
    [flat] = say("search", "--orientation", "E", "--json").json()["flats"]
    assert (flat["property_id"], flat["corrected"]) == (1, ["orientation"])
    fields = say("properties", "show", "1", "--json").json()["fields"]
    assert (fields["orientation"]["value"], fields["orientation"]["site"]) == (["S", "E"], "you")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("1", "floor"), "say what it is, or take it back with --undo"),
        (("1", "floor", "4", "--undo"), "--undo takes back a value; leave the value out"),
        (("1", "floor", "--undo"), "you said nothing of the floor of property 1"),
        (("1", "height", "4"), "no fact 'height' can be put right; allowed: deal, rooms"),
        (("1", "floor", "high"), "floor: 'high' is no number"),
        (("99", "floor", "4"), "no property 99; `sale-sofia properties` lists them"),
    ],
)
def test_a_correction_that_makes_no_sense_is_one_sentence(
    say: Command, arguments: tuple[str, ...], problem: str
) -> None:
    told = say("properties", "correct", *arguments)
    assert (told.code, told.out) == (2, "")
    assert problem in told.err
