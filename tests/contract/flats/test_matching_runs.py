"""Stored adverts matched after each crawl, all at once, again, and by several at the same time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from noisy_adverts import noisy_adverts
from property_worlds import OWN_WORDS, advert, empty, ids_of, new_matching, parts, save, stored
from sale_sofia.flats.matching import candidates
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import UnknownProperty, resolve
from sale_sofia.flats.tables import match_fingerprints, match_state, properties
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, open_incidents

SEED = 8


def noisy(count: int, seed: int = SEED) -> list[Listing]:
    return [Listing.model_validate(row) for row in noisy_adverts(count, seed).rows()]


def property_of(database: Database, name: str) -> int:
    with database.read() as connection:
        return resolve(connection, ids_of(database)[name])


@pytest.mark.slow
def test_matching_after_each_crawl_is_matching_everything(store_url: str) -> None:
    matching = new_matching(store_url)
    given_ = noisy(120)
    for begin, end in ((0, 50), (50, 51), (51, 90), (90, 120)):
        save(matching.database, given_[begin:end])
        matching.match_new()
    after_each = stored(matching.database)
    assert len(parts(matching.database)) < 100
    assert matching.match_all().moved == 0
    assert stored(matching.database) == after_each


def test_matching_again_changes_nothing(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, noisy(80))
    assert matching.match_new().adverts == 80
    before = stored(matching.database)
    assert matching.match_new()[:3] == (0, 0, 0)
    assert matching.match_all()[:3] == (80, 80, 0)
    assert stored(matching.database) == before


few = st.fixed_dictionaries(
    {
        "price_eur": st.sampled_from([183_400.0, 185_000.0]),
        "area_sqm": st.sampled_from([87.0, 87.3]),
        "floor": st.sampled_from([None, 4, 5]),
        "floors_total": st.sampled_from([None, 8, 9, 10]),
        "description": st.sampled_from([None, OWN_WORDS]),
        "family_id": st.sampled_from([None, None, "1a"]),
    }
)


@pytest.fixture(scope="module")
def two_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[PropertyMatching]]:
    """Two for all examples: making one takes longer than all that is done in it."""
    both = [new_matching(tmp_path_factory.mktemp("matching"), kept=True) for _ in range(2)]
    yield both
    for one in both:
        one.database.dispose()


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given_=st.lists(few, min_size=2, max_size=7), data=st.data())
def test_in_whatever_order_adverts_come_and_change_the_properties_are_the_same(
    two_databases: list[PropertyMatching], given_: list[dict[str, object]], data: st.DataObject
) -> None:
    """One sees all at once; the other one by one, in another order, and some first with other facts."""
    whole, stepwise = two_databases
    for one in two_databases:
        empty(one.database)
    final = [advert(f"n{number}", **fields) for number, fields in enumerate(given_)]
    edited = data.draw(st.sets(st.integers(0, len(final) - 1)))
    save(whole.database, final)
    whole.match_all()
    for place, came in enumerate(data.draw(st.permutations(final))):
        if place in edited:
            # What a page no longer shows stays for a while: only what it shows may be another.
            storeys = {"floors_total": 12} if came.floors_total else {}
            before = came.model_copy(update={**storeys, "price_eur": 260_000.0})
            save(stepwise.database, [before])
            stepwise.match_new()
        save(stepwise.database, [came], seen_at=2.0)
        stepwise.match_new()
    assert parts(stepwise.database) == parts(whole.database)
    step_by_step = stored(stepwise.database)
    assert stepwise.match_all().moved == 0
    assert stored(stepwise.database) == step_by_step


def test_a_crowd_that_grows_is_matched_as_if_it_had_come_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "WINDOW_CAP", 3)
    monkeypatch.setattr(candidates, "CENTRES", 2)
    matching = new_matching(tmp_path)
    for number in range(12):
        save(matching.database, [advert(f"n{number}", price_eur=183_400.0 + 100 * (number % 3))])
        matching.match_new()
    before = stored(matching.database)
    assert matching.match_all().moved == 0
    assert stored(matching.database) == before


def test_an_advert_that_joins_leaves_the_propertys_id(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, [advert("first"), advert("far", neighbourhood="Люлин 8", price_eur=99_000.0)])
    matching.match_new()
    known = property_of(matching.database, "first")
    save(matching.database, [advert("second", site="bazar.bg"), advert("third", site="alo.bg")])
    matching.match_new()
    assert {property_of(matching.database, name) for name in ("first", "second", "third")} == {known}
    assert known == ids_of(matching.database)["first"]


def test_when_two_properties_become_one_the_older_id_stays_and_the_other_leads_to_it(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, [advert("old"), advert("new", site="bazar.bg", price_eur=260_000.0)])
    matching.match_new()
    ids = ids_of(matching.database)
    assert property_of(matching.database, "new") == ids["new"]
    save(matching.database, [advert("new", site="bazar.bg")], seen_at=2.0)
    matching.match_new()
    assert property_of(matching.database, "new") == ids["old"]
    assert _merged_into(matching.database) == {ids["old"]: None, ids["new"]: ids["old"]}
    save(matching.database, [advert("new", site="bazar.bg", price_eur=260_000.0)], seen_at=3.0)
    matching.match_new()
    assert property_of(matching.database, "new") == ids["new"]
    assert _merged_into(matching.database) == {ids["old"]: None, ids["new"]: None}


def _merged_into(database: Database) -> dict[int, int | None]:
    with database.read() as connection:
        rows = connection.execute(select(properties.c.id, properties.c.merged_into))
        return {row[0]: row[1] for row in rows}


def test_an_id_that_no_property_had_is_one_sentence(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    with matching.database.read() as connection, pytest.raises(UnknownProperty, match="no property 77"):
        resolve(connection, 77)


def test_other_rules_match_everything_anew(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, [advert("one"), advert("two", site="bazar.bg", price_eur=187_000.0)])
    assert matching.match_new().adverts == 2
    assert matching.match_new().adverts == 0
    lenient = Settings(data_dir=tmp_path, match_review_probability=0.01, match_link_probability=0.5)
    assert PropertyMatching(lenient, matching.database).match_new().adverts == 2
    assert matching.match_new().adverts == 2
    assert matching.match_new().adverts == 0


def test_records_of_another_release_are_never_read(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    save(matching.database, [advert("one"), advert("two", site="bazar.bg")])
    matching.match_new()
    before = stored(matching.database)
    with matching.database.write() as connection:
        connection.execute(update(match_state).values(version="of another release"))
        connection.execute(update(match_fingerprints).values(record=b"shorter"))
    assert matching.match_new().adverts == 2
    assert stored(matching.database) == before


@pytest.mark.slow
def test_several_at_once_do_what_one_does(store_url: str) -> None:
    matching = new_matching(store_url)
    save(matching.database, noisy(60))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: matching.match_new(), range(4)))
    together = stored(matching.database)
    assert matching.match_all().moved == 0
    assert stored(matching.database) == together
    with matching.database.read() as connection:
        assert connection.execute(select(func.count()).select_from(match_state)).scalar() == 1


def test_a_property_with_very_many_adverts_is_an_incident_until_it_has_not(tmp_path: Path) -> None:
    matching = new_matching(tmp_path)
    many = [advert(f"n{number}", description=OWN_WORDS) for number in range(11)]
    save(matching.database, many[:10])
    matching.match_new()
    assert _open(matching.database) == []
    save(matching.database, many[10:])
    matching.match_new()
    [incident] = _open(matching.database)
    first = ids_of(matching.database)["n0"]
    assert incident.startswith(f"1 properties have more than 10 adverts: {first} (11)")
    save(matching.database, [many[3].model_copy(update={"floor": 7})], seen_at=2.0)
    matching.match_new()
    assert _open(matching.database) == []


def _open(database: Database) -> list[str]:
    with database.read() as connection:
        found = open_incidents(connection)
    return [one.message for one in found if one.kind is IncidentKind.LARGE_PROPERTY]
