"""What the server reads once for all sessions: when it reads it again, and what it reads before a visit."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from app_runs import put_adverts, store
from sale_sofia.advice.market.market import Cell
from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.advice.tables import scores
from sale_sofia.app.server import warm
from sale_sofia.app.visit import AppState
from sale_sofia.buyer.visitors import visit
from sale_sofia.flats.projection import load_flats
from sale_sofia.history.tables import listings
from sale_sofia.settings.model import Settings

FLAT = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "price_eur": 200_000.0, "area_sqm": 100.0,
    "city": "София", "neighbourhood": "Лозенец",
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> AppState:
    return AppState(Settings(data_dir=tmp_path, market_least_flats=1))


def test_a_visit_that_is_noted_has_nothing_worked_out_again(tmp_path: Path, site: AppState) -> None:
    put_adverts(tmp_path, FLAT)
    found = site.market("sale")
    with store(tmp_path).write() as connection:
        visit(connection, "somebody:default", now=1.0)
    assert site.market("sale") is found


def test_the_market_has_an_advert_that_came_meanwhile(tmp_path: Path, site: AppState) -> None:
    put_adverts(tmp_path, FLAT)
    assert site.market("sale").cells[Cell("Лозенец", None)].stock == 1
    assert site.market("rent").cells == {}
    put_adverts(tmp_path, FLAT, FLAT | {"external_id": "other", "floor": 2})
    assert site.market("sale").cells[Cell("Лозенец", None)].stock == 2


def test_the_market_has_a_price_that_changed_meanwhile(tmp_path: Path, site: AppState) -> None:
    put_adverts(tmp_path, FLAT)
    before = site.market("sale").cells[Cell("Лозенец", "3")].eur_sqm
    put_adverts(tmp_path, FLAT | {"price_eur": 180_000.0})
    after = site.market("sale").cells[Cell("Лозенец", "3")].eur_sqm
    assert (before and before.median, after and after.median) == (2000.0, 1800.0)


def test_what_was_warmed_is_what_the_first_visit_finds(tmp_path: Path, site: AppState) -> None:
    put_adverts(tmp_path, FLAT)
    warm(site)
    with store(
        tmp_path
    ).write() as connection:  # no trace of it is noted, so that only another reading shows it
        connection.execute(update(listings).values(title="друго"))
    site.refresh(load_profiles(tmp_path).profiles)
    with store(tmp_path).read() as connection:
        assert [flat.title for flat in load_flats(connection)] == [None]
        assert list(connection.scalars(select(scores.c.property_id))) == [1]
    assert site.market("sale").cells[Cell("Лозенец", None)].stock == 1


def test_no_database_is_made_to_be_warmed(tmp_path: Path, site: AppState) -> None:
    warm(site)
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_cannot_be_read_is_no_reason_not_to_serve(
    tmp_path: Path, site: AppState, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "sale_sofia.db").write_bytes(b"no database" * 1000)
    warm(site)
    assert "could not be read before the first visit" in caplog.text
