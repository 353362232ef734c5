"""`places`: own files in the place of the shipped ones, said where from, and given back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from app_runs import put_adverts, store
from commands_here import Command, commands
from sale_sofia.geography import imported, nearby
from sale_sofia.geography.gazetteer import areas_of
from sale_sofia.history.revisions import changes_since
from sale_sofia.history.tables import revision_counter
from sale_sofia.listings.places import find_neighbourhood

SQUARE = [[23.32, 42.67], [23.33, 42.67], [23.33, 42.68], [23.32, 42.68], [23.32, 42.67]]
FLAT = {"deal": "sale", "property_type": "apartment", "city": "София", "neighbourhood": "Лозенец"}


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    # What is near each neighbourhood is tested in geography/test_nearby.py: here it is worked out roughly.
    monkeypatch.setattr(nearby, "SAMPLE_METRES", 1000.0)
    yield commands(tmp_path, monkeypatch, capsys)
    imported.use(tmp_path / "nothing")


def areas(path: Path, *names: str) -> Path:
    square = {"type": "Polygon", "coordinates": [SQUARE]}
    features = [{"type": "Feature", "properties": {"name": name}, "geometry": square} for name in names]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    return path


@pytest.mark.slow
def test_own_borders_are_imported_searched_by_shown_and_given_back(command: Command, tmp_path: Path) -> None:
    put_adverts(tmp_path, FLAT | {"lat": 42.675, "lon": 23.325}, FLAT | {"lat": 42.672, "lon": 23.318})
    with store(tmp_path).read() as connection:
        before = connection.scalar(select(revision_counter.c.value)) or 0
    mine = areas(tmp_path / "mine.geojson", "Лозенец", "Нийде")
    refused = command("places", "import", "--geojson", mine)
    assert (refused.code, "Нийде: is no neighbourhood of Sofia that we know" in refused.err) == (2, True)
    told = command("places", "import", "--geojson", mine, "--leave-out")
    assert "left out, as we know no such neighbourhood: Нийде" in told.err
    with store(tmp_path).read() as connection:
        assert changes_since(connection, before).listing_ids == {1, 2}
    found = command("search", "--within", "Лозенец", "--json").json()
    assert [one["property_id"] for one in found["flats"]] == [1]
    doubtful = command("places", "import", "--geojson", areas(mine, "Лозенец", "Изгрев"))
    assert (doubtful.code, "say --as districts or --as neighbourhoods" in doubtful.err) == (2, True)
    assert command("places", "import", "--geojson", areas(mine, "Триадица", "район Изгрев")).code == 0
    shown = command("places", "show", "--json").json()["places"]
    assert (shown["districts"]["source"], shown["districts"]["count"]) == ("mine.geojson", 2)
    assert shown["neighbourhoods"]["count"] == 1
    assert shown["timetable"]["source"].startswith("shipped: ")
    assert "mine.geojson, 2, imported" in command("places", "show").out
    assert command("search", "--within", "район Изгрев", "--save", "mine").code == 0
    assert "back to what is shipped: neighbourhoods, districts" in command("places", "reset").err
    assert "nothing was imported" in command("places", "reset", "districts").err
    gone = command("search", "run", "mine")
    assert (gone.code, "the saved search 'mine' cannot be used: within: 'район Изгрев'" in gone.err) == (
        2,
        True,
    )
    assert "mine: cannot be used: within: 'район Изгрев'" in command("search", "saved").out
    found = command("search", "--within", "Лозенец", "--json").json()
    assert sorted(one["property_id"] for one in found["flats"]) == [1, 2]


def schools(path: Path, *rows: tuple[str, float, float, float | None]) -> Path:
    features = [
        {
            "type": "Feature",
            "properties": {"name": name} | ({} if exam is None else {"exam": exam}),
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
        }
        for name, lat, lon, exam in rows
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), "utf-8")
    return path


@pytest.mark.slow
def test_schools_are_imported_and_flats_are_searched_and_judged_by_them(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lozenets = find_neighbourhood("Лозенец")
    assert lozenets
    monkeypatch.setattr(nearby, "areas", lambda: areas_of(lozenets.id))  # the others take seconds
    put_adverts(tmp_path, FLAT | {"lat": 42.675, "lon": 23.325}, FLAT | {"lat": 42.66, "lon": 23.318}, FLAT)
    asked = ("search", "--school-minutes", "5", "--json")
    assert [command(*asked).json()[key] for key in ("total", "unknown_total")] == [0, 3]
    near, far = ("1 СУ", 42.6755, 23.325, 60.5), ("2 СУ", 42.70, 23.34, None)
    mine = schools(tmp_path / "schools.geojson", near, far)
    told = command("places", "import", "--geojson", mine, "--as", "schools")
    assert (told.code, "2 schools imported from schools.geojson" in told.err) == (0, True)
    found = command(*asked).json()
    assert [one["property_id"] for one in found["flats"]] == [1]
    assert [one["property_id"] for one in found["unknown"]] == [3]  # somewhere in Лозенец
    school = found["flats"][0]["nearby"]["school"]
    assert (school["least"], school["most"], school["name"], school["ranks"]) == (1, 1, "1 СУ", [1, 1])
    assert command("profiles", "edit", "default", "must.school_most_minutes=5").code == 0
    for number, state in ((1, "pass"), (2, "fail"), (3, "unknown")):
        judged = command("score", str(number), "--json").json()["breakers"]
        assert {one["breaker"]: one["state"] for one in judged}["school"] == state
    shown = command("places", "show", "--json").json()["places"]["schools"]
    assert (shown["source"], shown["count"]) == ("schools.geojson", 2)
    nameless = command("places", "import", "--geojson", schools(mine, ("", *near[1:])), "--as", "schools")
    assert (nameless.code, nameless.err) == (2, "sale-sofia: feature 1: has no name")
    no_points = command("places", "import", "--geojson", areas(mine, "Лозенец"), "--as", "schools")
    assert (no_points.code, "schools are points, and the file has others" in no_points.err) == (2, True)
    assert command("places", "reset", "schools").code == 0
    assert [command(*asked).json()[key] for key in ("total", "unknown_total")] == [0, 3]


def test_what_does_not_go_together_is_refused(command: Command, tmp_path: Path) -> None:
    mine = areas(tmp_path / "mine.geojson", "Лозенец")
    for arguments, sentence in (
        (["import"], "give either --gtfs FILE or --geojson FILE"),
        (["import", "--gtfs", mine, "--geojson", mine], "give either --gtfs FILE or --geojson FILE"),
        (["import", "--gtfs", mine, "--leave-out"], "--as and --leave-out go with --geojson"),
        (
            ["import", "--geojson", mine, "--as", "towns"],
            "no kind of places 'towns'; allowed: neighbourhoods",
        ),
        (["import", "--gtfs", mine], "is no ZIP file that can be read"),
        (["import", "--geojson", tmp_path / "none.geojson"], "none.geojson"),
        (
            ["reset", "towns"],
            "no set of places 'towns'; allowed: timetable, stations",
        ),
    ):
        told = command("places", *arguments)
        assert (told.code, sentence in told.err) == (2, True), (arguments, told.err)
