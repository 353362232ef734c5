import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.storage.helpers import database
from contract.storage.strategies import listings as any_listings
from contract.storage.strategies import moments
from sale_sofia.history.export import count_earlier, export_listings, export_prices
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.settings import HistoryRules
from sale_sofia.history.tables import listing_changes, listings, market_events, price_points, revisions
from sale_sofia.listings.model import Listing
from sale_sofia.listings.text import without_controls
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseMissing
from tables import each_row

FIELDS = list(Listing.model_fields)
LISTS = [name for name, field in Listing.model_fields.items() if field.default == ()]
REAL = st.none() | moments(imaginary=False)
DIFFERENT = st.lists(
    any_listings(posted_at=REAL, updated_at=REAL),
    unique_by=lambda listing: (listing.site, listing.external_id),
    max_size=5,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("export")


@pytest.fixture(scope="module")
def db(module_store_url: str) -> Iterator[Database]:
    made = database(module_store_url)
    yield made
    made.dispose()


def replace_all(db: Database, adverts: list[Listing]) -> None:
    with db.write() as connection:
        for table in (revisions, market_events, price_points, listing_changes, listings):
            connection.execute(table.delete())
        # A price that is too little for a whole flat is believed at once too.
        save_listings(connection, [Sighting(one, 1.0) for one in adverts], HistoryRules(odd_price_visits=1))


def in_stored_order(adverts: list[Listing]) -> list[str]:
    """As they are exported: without signs that a terminal obeys."""
    ordered = sorted(adverts, key=lambda one: (one.site, one.external_id))
    return [Listing.model_validate(_harmless(one.model_dump())).model_dump_json() for one in ordered]


def _harmless(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    match value:
        case dict():
            return {name: _harmless(one) for name, one in value.items()}
        case tuple():
            return tuple(map(_harmless, value))
        case _:
            return without_controls(value) if isinstance(value, str) else value


def from_csv(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        found = [Listing.model_validate(_cells(row)).model_dump_json() for row in table]
        assert table.fieldnames == FIELDS
    return found


def _cells(row: dict[str, str]) -> dict[str, Any]:
    return {name: _value(name, cell) for name, cell in row.items() if cell != ""}


def _value(name: str, cell: str) -> Any:  # noqa: ANN401 - whatever the field holds
    return json.loads(cell) if name in LISTS else cell.removeprefix("'")


def from_jsonl(path: Path) -> list[str]:
    lines = path.read_bytes().decode().split("\n")
    assert lines.pop() == ""
    assert all(list(json.loads(line)) == FIELDS for line in lines)
    return [Listing.model_validate_json(line).model_dump_json() for line in lines]


def from_parquet(path: Path) -> list[str]:
    table = pq.read_table(path)
    assert table.column_names == FIELDS
    return [Listing.model_validate(row).model_dump_json() for row in table.to_pylist()]


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(DIFFERENT)
def test_the_export_holds_every_advert_by_value(db: Database, folder: Path, adverts: list[Listing]) -> None:
    replace_all(db, adverts)
    for name, load in (("x.jsonl", from_jsonl), ("x.parquet", from_parquet)):
        assert export_listings(db, folder / name, rows_at_once=2) == len(adverts)
        assert load(folder / name) == in_stored_order(adverts)


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(DIFFERENT)
def test_a_csv_holds_every_advert_but_knows_no_empty_text(
    db: Database, folder: Path, adverts: list[Listing]
) -> None:
    spoken = [Listing(**_spoken(advert)) for advert in adverts]
    replace_all(db, spoken)
    assert export_listings(db, folder / "x.CSV", rows_at_once=2) == len(spoken)
    assert from_csv(folder / "x.CSV") == in_stored_order(spoken)


def _spoken(advert: Listing) -> dict[str, Any]:
    given = advert.model_dump()
    return {name: value for name, value in given.items() if _harmless(value) != ""} | {
        name: f"x{given[name]}" for name in ("site", "url", "external_id")
    }


@each_row("title", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "＝1", "|calc", "'=1"])
def test_a_csv_has_no_cell_that_a_spreadsheet_would_carry_out(db: Database, folder: Path, title: str) -> None:
    replace_all(db, [Listing(site="s", url="u", external_id="1", title=title)])
    export_listings(db, folder / "x.csv")
    with (folder / "x.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert row["title"] == f"'{without_controls(title)}"


def test_an_advert_that_was_not_opened_yet_is_left_out(db: Database, folder: Path) -> None:
    one, two = (Listing(site="imot.bg", external_id=f"id{n}", url="https://x", rooms=2) for n in (1, 2))
    replace_all(db, [one])
    with db.write() as connection:
        save_listings(connection, [Sighting(two, 1.0, card=True)])
    assert export_listings(db, folder / "read.jsonl") == 1
    with db.write() as connection:
        save_listings(connection, [Sighting(two, 2.0)])
    assert export_listings(db, folder / "read.jsonl") == 2


def test_line_breaks_and_quotes_survive_a_csv(db: Database, folder: Path) -> None:
    text = 'първи\r\nвтори\nтрети\rчетвърти, "пети"; =1+1'
    replace_all(db, [Listing(site="s", url="u", external_id="1", description=text, elevator=False)])
    export_listings(db, folder / "x.csv")
    with (folder / "x.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["description"], row["elevator"], row["rooms"], row["phones"]) == (
        without_controls(text),
        "false",
        "",
        "[]",
    )


def test_an_unknown_suffix_names_the_allowed_ones(db: Database, folder: Path) -> None:
    with pytest.raises(ValueError, match=r"x\.xlsx ends in none of \.csv, \.jsonl, \.parquet"):
        export_listings(db, folder / "x.xlsx")
    assert not (folder / "x.xlsx").exists()


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_a_missing_folder_is_one_sentence_and_stays_missing(tmp_path: Path, name: str) -> None:
    db = database(tmp_path / "missing.db")
    with pytest.raises(ValueError, match=r"there is no folder .*nowhere; make it, or name another file$"):
        export_listings(db, tmp_path / "nowhere" / name)
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=f"{name} is a folder; name a file in it$"):
        export_listings(db, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_an_export_that_fails_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("old")
    with pytest.raises(DatabaseMissing):
        export_listings(database(tmp_path / "missing.db"), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


def test_earlier_flats_under_an_id_that_was_given_again_are_exported_when_asked_for(
    db: Database, folder: Path
) -> None:
    flat = {"site": "imot.bg", "url": "https://imot.bg/1", "property_type": "apartment", "floors_total": 8}
    first = Listing(**flat, external_id="id1", area_sqm=100.0, floor=2, price_eur=220_000.0, title="първи")
    alone = Listing(**flat, external_id="id2", area_sqm=55.0, floor=4, price_eur=99_000.0, title="сам")
    second = Listing(**flat, external_id="id1", area_sqm=63.0, floor=7, price_eur=168_000.0, title="втори")
    replace_all(db, [first, alone])
    db.run_write(lambda connection: save_listings(connection, [Sighting(second, 2.0)]))
    assert count_earlier(db) == 1
    for name in ("x.jsonl", "x.parquet", "x.csv"):
        assert export_listings(db, folder / name, rows_at_once=2) == 2
        assert [row["title"] for row in _rows(folder / name)] == ["сам", "втори"]
        assert export_listings(db, folder / name, all_generations=True, rows_at_once=2) == 3
        found = [(row["title"], int(row["generation"]), row["closed_at"]) for row in _rows(folder / name)]
        assert found in (
            [("първи", 1, 2.0), ("сам", 1, None), ("втори", 2, None)],
            [("първи", 1, "2.0"), ("сам", 1, ""), ("втори", 2, "")],
        )


def test_earlier_flats_that_were_only_seen_on_cards_are_neither_exported_nor_counted(
    db: Database, folder: Path
) -> None:
    flat = {"site": "imot.bg", "url": "https://imot.bg/1", "property_type": "apartment", "external_id": "id1"}
    first = Listing(**flat, area_sqm=100.0, floor=2, price_eur=220_000.0)
    second = Listing(**flat, area_sqm=63.0, floor=7, price_eur=168_000.0)
    replace_all(db, [])
    for sighting in (
        Sighting(first, 1.0, card=True),
        Sighting(second, 2.0, card=True),
        Sighting(second, 3.0),
    ):
        with db.write() as connection:
            save_listings(connection, [sighting])
    assert export_listings(db, folder / "x.jsonl", all_generations=True) == 1
    assert count_earlier(db) == 0


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file)) if path.suffix == ".csv" else [json.loads(line) for line in file]


def test_every_price_is_exported_with_its_kind(db: Database, folder: Path) -> None:
    flat = {"site": "imot.bg", "external_id": "id1", "url": "https://imot.bg/1", "vat": "none"}
    replace_all(db, [Listing(**flat, price_eur=120_000.0, previous_price_eur=130_000.0)])
    later = Listing(**flat, price_eur=115_000.0, price_bgn=224_920.45)
    db.run_write(lambda connection: save_listings(connection, [Sighting(later, 2.0)]))
    about = {"site": "imot.bg", "external_id": "id1", "generation": 1, "url": "https://imot.bg/1"}
    expected = [
        about | {"seen_at": at, "price_eur": eur, "price_bgn": bgn, "vat": vat, "kind": kind}
        for at, eur, bgn, vat, kind in (
            (1.0, 130_000.0, None, None, "printed_before"),
            (1.0, 120_000.0, None, "none", "first"),
            (2.0, 115_000.0, 224_920.45, "none", "price"),
        )
    ]
    for name in ("p.jsonl", "p.parquet", "p.csv"):
        assert export_prices(db, folder / name, rows_at_once=2) == 3
    assert [json.loads(line) for line in (folder / "p.jsonl").read_text("utf-8").splitlines()] == expected
    assert pq.read_table(folder / "p.parquet").to_pylist() == expected
    with (folder / "p.csv").open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert found == [{name: "" if one is None else str(one) for name, one in row.items()} for row in expected]
