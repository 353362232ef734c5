"""Runs of scores: everything once, then only what has changed, however it has changed."""

import json
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from contract.flats.test_flat_rows import say
from property_worlds import advert, dispose_all, new_matching
from sale_sofia.advice.scoring import runs, store
from sale_sofia.advice.scoring.profile import Profile
from sale_sofia.advice.scoring.runs import ScoreRun, ScoreSummary, score_all, score_new
from sale_sofia.advice.scoring.store import ranked
from sale_sofia.advice.tables import score_yardsticks, scored_flats, scores
from sale_sofia.crawl.runners.local import match_crawled
from sale_sofia.flats.store import ListingSource, save_sources
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import set_back, set_gone
from sale_sofia.history.tables import followers
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents
from unit.advice.scored import profile

SETTINGS = Settings(score_least_prices=4, score_least_rents=2)
PLAIN = {"plain": profile(), "strict": profile(must={"not_panel": True})}
FLATS = 11
"""Eight in one neighbourhood, and three in another, which are too few to compare with."""


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    dispose_all()


def save(database: Database, second: float, *adverts: Listing) -> None:
    batch = [Sighting(one, second) for one in adverts]
    database.run_write(partial(save_listings, batch=batch))


def flat_of(number: int, **fields: Any) -> Listing:  # noqa: ANN401 - any field
    """A flat at 1000 EUR per m², 1100, and so on."""
    place = "Лозенец" if number < 8 else "Изгрев"
    given = {
        "neighbourhood": place,
        "area_sqm": 100.0,
        "price_eur": 100_000.0 + 10_000 * number,
        "construction": "brick",
        **fields,
    }
    return advert(f"n{number:02}", **given)


def filled(place: Path | str) -> Database:
    found = new_matching(place).database
    save(found, 1.0, *(flat_of(number) for number in range(FLATS)))
    return found


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return filled(tmp_path)


@pytest.fixture
def either(store_url: str) -> Database:
    """In SQLite and in PostgreSQL."""
    return filled(store_url)


def run(database: Database, profiles: dict[str, Profile] | None = None) -> tuple[int, int, int]:
    """How many properties had changed, how many scores were made, how many went."""
    done = ScoreRun(SETTINGS, database, profiles or PLAIN).run(lambda: 5.0)
    return done.changed, done.scored, done.removed


def stored(database: Database) -> dict[tuple[int, str], Any]:
    rows = database.run_read(lambda c: c.execute(select(scores)).mappings().all())
    return {(row["property_id"], row["profile"]): {**row, "scored_at": 0} for row in rows}


def test_everything_is_scored_once_for_each_profile(either: Database) -> None:
    assert run(either) == (FLATS, 2 * FLATS, 0)
    assert run(either) == (0, 0, 0)
    found = stored(either)
    assert len(found) == 2 * FLATS
    cheapest = found[1, "plain"]
    assert cheapest["criteria"]["price"] == [5.0, 1.0]
    assert (cheapest["verdict"], cheapest["failed"], cheapest["unknown"]) == ("pass", [], [])
    dearest = found[11, "plain"]  # it may have to be renovated
    assert (dearest["verdict"], dearest["failed"], dearest["unknown"]) == ("unknown", [], ["budget"])
    assert cheapest["points"] == pytest.approx(cheapest["value"] * cheapest["known"])


def test_a_price_cut_moves_the_price_per_square_metre_and_touches_one_flat(database: Database) -> None:
    run(database)
    before = stored(database)
    save(database, 2.0, flat_of(5, price_eur=148_000.0))
    assert run(database) == (1, 2, 0)
    after = stored(database)
    assert {key[0] for key in after if after[key] != before[key]} == {6}
    assert after[6, "plain"]["criteria"]["price"][0] > before[6, "plain"]["criteria"]["price"][0]


def test_a_neighbourhood_that_has_moved_is_scored_anew(database: Database) -> None:
    save(database, 1.0, *(flat_of(number, neighbourhood="Изток") for number in range(20, 26)))
    run(database)
    save(database, 2.0, *(flat_of(number, price_eur=300_000.0) for number in range(4)))
    assert run(database) == (4, 2 * 8, 0)  # all of Лозенец, nothing of Изток
    assert run(database) == (0, 0, 0)


def test_a_run_after_changes_gives_what_a_full_run_gives(either: Database) -> None:
    run(either)
    save(either, 2.0, *(flat_of(number, price_eur=300_000.0, rooms=2) for number in range(5)))
    save(either, 2.0, flat_of(30, construction="panel"), flat_of(31, deal="rent", price_eur=700.0))
    run(either)
    after = stored(either)
    for table in (scores, scored_flats, score_yardsticks, followers):
        either.run_write(partial(Connection.execute, statement=table.delete()))
    run(either)
    assert stored(either) == after


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_what_changed_is_all_that_a_run_over_everything_would_find(database: Database, seed: int) -> None:
    """After any change the run that looks only there leaves nothing for one that looks at all flats."""
    chance = random.Random(seed)
    run(database)
    for second in range(2, 14):
        number = chance.randrange(FLATS)
        at, listing_id = float(second), number + 1
        first, joined = (
            ListingSource(1, 1, 1.0, "evidence", {}),
            ListingSource(listing_id, 1, 1.0, "evidence", {}),
        )
        seen = {
            "cheaper": flat_of(number, price_eur=90_000.0 + 1_000 * at),
            "moved": flat_of(number, neighbourhood="Изток"),
            "new": flat_of(number + 20),
        }
        steps: list[Callable[[Connection], object]] = [
            *(partial(save_listings, batch=[Sighting(listing, at)]) for listing in seen.values()),
            partial(set_gone, since={listing_id: at}, now=at, reason="missed"),
            partial(save_sources, sources=list({1: first, listing_id: joined}.values()), now=at),
            partial(save_sources, sources=[ListingSource(listing_id, listing_id, 1.0, "alone", {})], now=at),
        ]
        database.run_write(chance.choice(steps))
        run(database)
        kept = whole(database)
        database.run_write(partial(Connection.execute, statement=followers.delete()))
        assert run(database) == (0, 0, 0), second
        assert whole(database) == kept, second


def whole(database: Database) -> list[Any]:
    with database.read() as connection:
        tables = (scores, scored_flats, score_yardsticks)
        return [connection.execute(select(one).order_by(*one.primary_key)).all() for one in tables]


def test_what_is_gone_or_to_let_has_no_score_and_what_comes_back_has_one(database: Database) -> None:
    run(database)
    database.run_write(lambda c: set_gone(c, {11: 9.0}, now=9.0, reason="missed"))
    save(database, 2.0, flat_of(9, deal="rent", price_eur=900.0))
    assert run(database) == (2, 0, 4)
    assert {key[0] for key in stored(database)} == {*range(1, 10)}
    database.run_write(lambda c: set_back(c, [11], at=10.0))
    assert run(database) == (1, 2, 0)


def test_properties_that_become_one_have_one_score(either: Database) -> None:
    run(either)
    joined = [ListingSource(one, 9, 1.0, "score", {}) for one in (9, 10)]
    either.run_write(partial(save_sources, sources=joined, now=2.0))
    assert run(either) == (1, 2, 2)
    assert {key[0] for key in stored(either)} == {*range(1, 12)} - {10}


def test_another_word_of_a_description_scores_its_flat_again(database: Database) -> None:
    run(database)
    say(database, 4, condition=("renovated", "stated"), metro_minutes=(5, "stated"))
    assert run(database) == (1, 2, 0)
    assert stored(database)[4, "plain"]["criteria"]["condition"] == [4.5, 1.0]


def test_another_profile_is_scored_and_the_others_are_left_alone(database: Database) -> None:
    run(database)
    changed = {**PLAIN, "strict": profile(must={"not_panel": True}, budget_eur=1_000)}
    assert run(database, changed) == (0, FLATS, 0)
    assert {row["verdict"] for key, row in stored(database).items() if key[1] == "strict"} == {"fail"}


def test_a_run_that_is_killed_half_way_is_done_by_the_next(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "SCORES_AT_ONCE", 3)
    saved = store.save_scores
    calls: list[int] = []

    def killed(connection: Any, rows: Any) -> None:  # noqa: ANN401 - as the real one
        calls.append(len(rows))
        if len(calls) == 3:
            raise KeyboardInterrupt
        saved(connection, rows)

    monkeypatch.setattr(store, "save_scores", killed)
    with pytest.raises(KeyboardInterrupt):
        run(database)
    assert len(stored(database)) == 6
    monkeypatch.setattr(store, "save_scores", saved)
    assert run(database) == (FLATS, 2 * FLATS - 6, 0)
    assert run(database) == (0, 0, 0)


def test_scores_are_ranked_passing_first_then_by_points(either: Database) -> None:
    save(either, 2.0, flat_of(3, construction="panel"), flat_of(4, construction=None))
    run(either)
    rows = either.run_read(partial(ranked, profile="strict", passing=False, limit=20))
    order = {"pass": 0, "unknown": 1, "fail": 2}
    keys = [(order[row["verdict"]], -row["points"]) for row in rows]
    assert keys == sorted(keys)
    assert rows[-1]["failed"] == ["panel"]
    few = either.run_read(partial(ranked, profile="strict", passing=True, limit=2))
    assert len(few) <= 2
    assert {row["verdict"] for row in few} <= {"pass"}


def settings_in(folder: Path) -> Settings:
    return Settings(data_dir=folder, score_least_prices=4, score_least_rents=2)


def write(folder: Path, name: str, values: dict[str, Any]) -> Path:
    path = folder / "profiles" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values), "utf-8")
    return path


def test_all_profiles_are_scored_and_those_deleted_are_forgotten(database: Database, tmp_path: Path) -> None:
    mine = write(tmp_path, "mine", {"budget_eur": 1000})
    assert score_all(settings_in(tmp_path), database).scored == 2 * FLATS
    mine.unlink()
    done = score_all(settings_in(tmp_path), database)
    assert done._replace(seconds=0.0) == ScoreSummary(0, 0, FLATS, 0.0)
    assert {key[1] for key in stored(database)} == {"default"}


def test_after_a_crawl_a_wrong_profile_is_an_incident_and_the_others_are_scored(
    database: Database, tmp_path: Path
) -> None:
    settings = settings_in(tmp_path)
    mine = write(tmp_path, "mine", {"budget_eur": 1000})
    assert score_new(settings, database)
    write(tmp_path, "mine", {"budget_eur": 0})
    save(database, 2.0, flat_of(7, price_eur=171_000.0))
    assert not score_new(settings, database)
    (incident,) = database.run_read(open_incidents)
    assert incident.kind == IncidentKind.SCORING_FAILED
    assert "budget_eur: '0' is not allowed" in incident.message
    assert {key[1] for key in stored(database)} == {"default", "mine"}  # its old scores stay
    mine.unlink()
    assert score_new(settings, database)
    assert database.run_read(open_incidents) == []


def test_nothing_that_goes_wrong_is_the_crawls(database: Database, tmp_path: Path) -> None:
    database.run_write(scores.drop)
    assert not score_new(settings_in(tmp_path), database)
    (incident,) = database.run_read(open_incidents)
    assert "scoring failed" in incident.message


def test_scoring_after_a_crawl_can_be_switched_off(database: Database, tmp_path: Path) -> None:
    match_crawled(Settings(data_dir=tmp_path, score_after_crawl=False), database)
    assert stored(database) == {}
