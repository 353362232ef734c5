"""An upgrade from release 1.0.0 killed at every point: the old one, whole, or the new one, whole."""

from pathlib import Path

from backup_worlds import database_in
from crash_points import Enumeration, count_points
from killed_upgrades import revisions, state
from release_1_0 import losses, make_release_database
from sale_sofia.storage.migrate import HEAD, current_revision, initialize_database


def upgrade(folder: Path) -> None:
    database = database_in(folder)
    initialize_database(database)
    database.dispose()


def revision(folder: Path) -> str | None:
    database = database_in(folder)
    try:
        return current_revision(database)
    finally:
        database.dispose()


def test_an_upgrade_killed_at_every_point(tmp_path: Path) -> None:
    alone, place = tmp_path / "alone", tmp_path / "place"
    for folder in (alone, place):
        folder.mkdir()
        before = make_release_database(folder / "sale_sofia.db")
    counted = count_points(alone, lambda: upgrade(alone))
    wanted = state(f"sqlite:///{alone / 'sale_sofia.db'}")
    crash = Enumeration(place, tmp_path / "states", lambda: None)
    crash.run(lambda: upgrade(place))
    wrong = {}
    for one in crash.recovered(place):
        left = revision(place)
        upgrade(place)
        lost, now = losses(before, place / "sale_sofia.db"), state(f"sqlite:///{place / 'sale_sofia.db'}")
        if left not in (revisions()[0], HEAD) or lost or now != wanted:
            wrong[str(one)] = left, lost
    assert wrong == {}
    crash.check_complete(counted, least=130)
