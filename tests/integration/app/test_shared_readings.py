"""What the server reads once for all sessions: when it reads it again, and what it reads before a visit."""

import weakref
from pathlib import Path

import pytest
import streamlit as st
from sqlalchemy import update

from app_runs import put_adverts, store
from sale_sofia.advice.market.market import Cell
from sale_sofia.advice.scoring.profile import load_profile
from sale_sofia.app import market, snapshot
from sale_sofia.app.server import warm
from sale_sofia.app.settings import PROFILES_SCORED
from sale_sofia.buyer.visitors import visit
from sale_sofia.history.tables import listings

FLAT = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "price_eur": 200_000.0, "area_sqm": 100.0,
    "city": "София", "neighbourhood": "Лозенец",
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    st.cache_resource.clear()
    return tmp_path


def test_a_visit_that_is_noted_has_nothing_worked_out_again(data: Path) -> None:
    put_adverts(data, FLAT)
    flats, found = snapshot.current(), market.current("sale")
    with store(data).write() as connection:
        visit(connection, "somebody:default", now=1.0)
    assert snapshot.current() is flats
    assert market.current("sale") is found


def test_the_market_has_an_advert_that_came_meanwhile(data: Path) -> None:
    put_adverts(data, FLAT)
    assert market.current("sale").cells[Cell("Лозенец", None)].stock == 1
    assert market.current("rent").cells == {}
    put_adverts(data, FLAT, FLAT | {"external_id": "other", "floor": 2})
    assert market.current("sale").cells[Cell("Лозенец", None)].stock == 2


def test_the_market_has_a_price_that_changed_meanwhile(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKET_LEAST_FLATS", "1")
    put_adverts(data, FLAT)
    before = market.current("sale").cells[Cell("Лозенец", "3")].eur_sqm
    put_adverts(data, FLAT | {"price_eur": 180_000.0})
    after = market.current("sale").cells[Cell("Лозенец", "3")].eur_sqm
    assert (before and before.median, after and after.median) == (2000.0, 1800.0)


def test_what_was_warmed_is_what_the_first_visit_finds(data: Path) -> None:
    put_adverts(data, FLAT)
    warm()
    with store(data).write() as connection:  # no trace of it is noted, so that only another reading shows it
        connection.execute(update(listings).values(title="друго"))
    taken, ranked = snapshot.keeper().ranked(load_profile(data, "default"))
    assert [flat.title for flat in taken.flats.values()] == [None]
    assert list(ranked.scores) == [1]
    assert market.current("sale").cells[Cell("Лозенец", None)].stock == 1


def test_no_database_is_made_to_be_warmed(data: Path) -> None:
    warm()
    assert list(data.iterdir()) == []


def test_a_database_that_cannot_be_read_is_no_reason_not_to_serve(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data / "sale_sofia.db").write_bytes(b"no database" * 1000)
    warm()
    assert "could not be read before the first visit" in caplog.text


def test_scores_of_profiles_that_nobody_asks_for_are_forgotten(data: Path) -> None:
    put_adverts(data, FLAT)
    first = load_profile(data, "default")
    kept = weakref.ref(snapshot.keeper().ranked(first)[1])
    for number in range(PROFILES_SCORED - 1):
        snapshot.keeper().ranked(first.model_copy(update={"title": str(number)}))
    assert snapshot.keeper().ranked(first)[1] is kept()
    for number in range(PROFILES_SCORED):
        snapshot.keeper().ranked(first.model_copy(update={"title": f"later {number}"}))
    assert kept() is None
