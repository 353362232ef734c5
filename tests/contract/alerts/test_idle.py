"""What a minute costs in which nothing happened, or one price changed: not more with more adverts."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import event

from property_worlds import advert, dispose_all, new_matching
from sale_sofia.alerts.outbox import Looked
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.alerts.running import Alerts
from sale_sofia.buyer.evaluations import By, mark
from sale_sofia.buyer.searches import save_search
from sale_sofia.flats.runs import match_new
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

NOW = 1_790_000_000.0
PER_PLACE = 20
RULES = """
channels: {a: 'json://a/'}
buyer:
  - {name: first, profile: default, channels: [a]}
  - {name: second, profile: second, channels: [a]}
  - {name: third, profile: third, channels: [a]}
  - {name: search, search: cheap, channels: [a]}
  - {name: mine, shortlist: true, channels: [a]}
"""


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    dispose_all()


def flat_of(number: int, **fields: float) -> Listing:
    """Twenty in each neighbourhood, each a flat of its own, whose prices are no two alike."""
    given = {
        "neighbourhood": f"Квартал {number // PER_PLACE}", "area_sqm": 50.0 + number % PER_PLACE,
        "price_eur": 100_000.0 + 1_000 * (number % PER_PLACE), "floor": number % 9, "rooms": 2,
        "construction": "brick", "phones": (f"+3598{number:08}",), **fields,
    }  # fmt: skip
    return advert(f"n{number:05}", **given)


def world(folder: Path, flats: int) -> tuple[Settings, Database]:
    """A market with rules on three profiles, a search and the shortlist, that has been looked at."""
    folder.mkdir()
    database = new_matching(folder).database
    settings = Settings(data_dir=folder, score_least_prices=4)
    (folder / "alerts.yaml").write_text(RULES, "utf-8")
    (folder / "profiles").mkdir()
    for name in ("second", "third"):
        (folder / "profiles" / f"{name}.yaml").write_text("budget_eur: 300000\n", "utf-8")
    batch = [Sighting(flat_of(number), NOW) for number in range(flats)]
    database.run_write(partial(save_listings, batch=batch))
    assert match_new(settings, database)

    def speak(connection: object) -> None:
        save_search(connection, "cheap", {"price_max": 110_000}, now=NOW)  # type: ignore[arg-type]
        mark(connection, 1, "shortlist", By("me", NOW))  # type: ignore[arg-type]

    database.run_write(speak)
    for _ in range(3):  # learns, then sees that it has scored, then nothing
        minute(settings, database)
    return settings, database


def minute(settings: Settings, database: Database) -> Looked:
    """What beat does each minute, but for sending."""
    assert load_alerts(settings.data_dir) is not None
    return Alerts(settings, database, lambda: NOW + 60).run(0).looked


@contextmanager
def counted(database: Database) -> Iterator[list[int]]:
    """How many steps of SQLite's machine everything takes: each row that is read takes several."""
    steps = [0]

    def step() -> None:
        steps[0] += 1

    def count(connection: object, *_more: object) -> None:
        connection.set_progress_handler(step, 1)  # type: ignore[attr-defined]

    def stop(connection: object, *_more: object) -> None:
        connection.set_progress_handler(None, 1)  # type: ignore[attr-defined]

    engines = (database._store._reader, database._store._writer)  # noqa: SLF001
    for engine in engines:
        event.listen(engine, "checkout", count)
        event.listen(engine, "checkin", stop)
    yield steps
    for engine in engines:
        event.remove(engine, "checkout", count)
        event.remove(engine, "checkin", stop)


def steps_of_an_idle_minute(settings: Settings, database: Database) -> int:
    with counted(database) as steps:
        assert minute(settings, database) == Looked()
    return steps[0]


def steps_after_a_price_change(settings: Settings, database: Database) -> int:
    cut = Sighting(flat_of(7, price_eur=99_000.0), NOW + 30)
    database.run_write(partial(save_listings, batch=[cut]))
    with counted(database) as steps:
        assert minute(settings, database).flats >= 1
    return steps[0]


@pytest.mark.slow
def test_an_idle_minute_costs_the_same_with_ten_times_the_adverts(tmp_path: Path) -> None:
    few, many = world(tmp_path / "few", 60), world(tmp_path / "many", 600)
    idle_few, idle_many = steps_of_an_idle_minute(*few), steps_of_an_idle_minute(*many)
    assert idle_many <= idle_few * 1.02, (idle_few, idle_many)
    one_few, one_many = steps_after_a_price_change(*few), steps_after_a_price_change(*many)
    assert one_many <= one_few * 1.1, (one_few, one_many)
    assert idle_few < one_few
