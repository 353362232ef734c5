"""Properties as a person sees them, and crawls whose adverts are matched by themselves."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contract.storage.helpers import ready_database
from crawls import FAST, answer, crawl_arguments, run
from forked_simulators import start_forked
from property_worlds import OWN_WORDS, advert, ids_of, save
from sale_sofia.cli.progress import moment
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import set_gone
from sale_sofia.settings.model import Settings
from sale_sofia_simulator.simulation import SimulatorConfig

ROUND = {"price_eur": 480_000.0, "area_sqm": 85.0}
"""Numbers that many flats have: without its floor such an advert is for a person to judge."""
TWINS = [
    advert("a1", **ROUND, description=OWN_WORDS),
    advert("a2", **ROUND | {"price_eur": 455_700.0}, site="bazar.bg", description=OWN_WORDS, rooms=4),
    advert("a3", **ROUND, site="bazar.bg", floor=None, seller_name="СИНЯ ЖАБА"),
]
ALONE = advert("b1", price_eur=99_000.0, area_sqm=51.0, neighbourhood="Люлин 8")
A1, A2, A3, B1 = "1", "2", "3", "4"
"""Our ids of them."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    database = ready_database(folder / "sale_sofia.db")
    save(database, [*TWINS, ALONE])
    assert ids_of(database) == {"a1": 1, "a2": 2, "a3": 3, "b1": 4}
    PropertyMatching(Settings(data_dir=folder), database).match_new()
    database.dispose()
    return folder


def test_the_list_counts_adverts_portals_and_prices(data: Path) -> None:
    found = answer(run(data, "properties", "--sort", "cheapest", "--json"))
    assert (found["total"], found["adverts"]) == (3, 4)
    lines = [(one["id"], one["adverts"], one["portals"], one["lowest_eur"]) for one in found["properties"]]
    assert lines == [(4, 1, 1, 99_000.0), (1, 2, 2, 455_700.0), (3, 1, 1, 480_000.0)]
    told = run(data, "properties", "--limit", "1", "--sort", "adverts")
    assert "455 700  480 000" in told.stdout
    assert told.stderr.strip() == "1 of 3 properties shown; they have 4 adverts"


def test_one_property_is_shown_with_its_sources_prices_and_reasons(data: Path) -> None:
    view = answer(run(data, "properties", "show", A2, "--json"))
    assert view["id"] == 1
    assert [one["listing_id"] for one in view["offers"]] == [2, 1]
    assert (view["price"]["difference_eur"], view["price"]["difference_percent"]) == (24_300.0, 5.33)
    assert (view["fields"]["rooms"]["value"], view["fields"]["rooms"]["others"][0]["value"]) == (4, 3)
    assert {one["decided_by"] for one in view["links"]} == {"score"}
    assert view["links"][0]["evidence"]["with"] == 2
    assert view["links"][0]["evidence"]["text"][0] == "same"
    told = run(data, "properties", "show", A1, COLUMNS="200").stdout
    assert "From 455 700 € to 480 000 €: 24 300 € or 5.3 % apart." in told
    assert "3 (imot.bg)" in told


def test_a_price_without_vat_is_not_compared_with_one_of_which_nobody_says(tmp_path: Path) -> None:
    database = ready_database(tmp_path / "sale_sofia.db")
    save(
        database,
        [
            advert("a1", price_eur=100_000.0, vat="excluded", description=OWN_WORDS),
            advert("a2", price_eur=120_000.0, site="bazar.bg", description=OWN_WORDS),
            advert("b1", price_eur=500_000.0, area_sqm=51.0, description=OWN_WORDS, neighbourhood="Люлин 8"),
            advert("b2", price_eur=505_000.0, area_sqm=51.0, description=OWN_WORDS, neighbourhood="Люлин 8"),
        ],
    )
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    database.dispose()
    run(tmp_path, "properties", "link", "1", "2")
    run(tmp_path, "properties", "link", "3", "4")
    told = run(tmp_path, "properties", "show", "1", COLUMNS="200").stdout
    unsure = "what is paid is not sure, nor how far they are apart."
    assert f"From 100 000 € without VAT to 120 000 €, VAT unknown: {unsure}" in told
    assert "% apart" not in told
    found = answer(run(tmp_path, "properties", "--sort", "discrepancy", "--json"))["properties"]
    assert [one["id"] for one in found] == [3, 1]


def test_a_flat_that_was_posted_anew_tells_its_age_and_its_earlier_offer(tmp_path: Path) -> None:
    """The advert of 14 months ago is gone; the one of now says itself that it is three days old."""
    day, now = 86_400.0, time.time()
    database = ready_database(tmp_path / "sale_sofia.db")
    posted = datetime.fromtimestamp(int(now - 3 * day), UTC)
    old = advert("a1", price_eur=189_000.0, description=OWN_WORDS)
    new = advert("a2", price_eur=189_000.0, description=OWN_WORDS, site="olx.bg", posted_at=posted)
    with database.write() as connection:
        save_listings(connection, [Sighting(old, now - 500 * day), Sighting(new, now - day)])
        set_gone(connection, {1: now - 440 * day}, now=now - 430 * day, reason="missed")
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    database.dispose()
    view = answer(run(tmp_path, "properties", "show", "1", "--json"))
    assert (view["on_market"]["since"], view["on_market"]["source"]) == (posted.timestamp(), "posted")
    assert view["on_market"]["days"] == pytest.approx(3, abs=0.01)
    offer = {"listing_id": 1, "site": "imot.bg", "since": now - 500 * day, "source": "first_seen"}
    assert view["offered_before"] == [offer | {"until": now - 440 * day, "price_eur": 189_000.0}]
    told = run(tmp_path, "properties", "show", "1", COLUMNS="200").stdout
    assert f"On the market since {moment(posted.timestamp())} (posted then), 3 days." in told
    assert "Offered before: 14 months ago for 189 000 € (imot.bg, " in told
    assert view["position"] == {"exactness": "neighbourhood", "lat": None, "lon": None}
    assert view["metro_walk"] == {"least": 0, "most": 22, "source": "neighbourhood"}
    assert view["metro_stations"] == []
    assert "To Сердика 6 to 27 minutes by public transport, by where in the neighbourhood it is." in told
    assert "To the metro 0 to 22 minutes on foot, by where in the neighbourhood it is." in told
    (found,) = answer(run(tmp_path, "search", "--days-max", "4", "--json"))["flats"]
    assert (found["exactness"], found["metro_walk"]) == ("neighbourhood", view["metro_walk"])
    assert (found["property_id"], found["days"], found["on_market"]["source"]) == (1, 3, "posted")
    assert found["offered_before"] == view["offered_before"]
    assert answer(run(tmp_path, "search", "--days-min", "4", "--json"))["total"] == 0
    assert "3 (posted)" in run(tmp_path, "search", COLUMNS="200").stdout
    (history,) = answer(run(tmp_path, "price-history", "olx.bg/a2", "--json"))["listings"]
    assert (history["on_market_source"], round(history["days_on_market"])) == ("posted", 3)
    words = run(tmp_path, "price-history", "olx.bg/a2", COLUMNS="200").stdout
    assert "(posted then), 3 days; first seen" in words


def test_the_buyer_reviews_links_and_splits(data: Path) -> None:
    [waiting] = answer(run(data, "properties", "review", "--json"))["review"]
    assert (waiting["properties"], [one["site"] for one in waiting["adverts"]]) == (
        [1, 3],
        ["imot.bg", "bazar.bg"],
    )
    linked = run(data, "properties", "link", A3, A1)
    assert linked.stderr.strip() == "3 and 1 are one property now: 1"
    assert answer(run(data, "match", "--full", "--json"))["moved"] == 0
    assert answer(run(data, "properties", "split", A1, A3, "--json")) == {"property": 3}
    assert answer(run(data, "match", "--json"))["looked_at"] == 0
    assert answer(run(data, "properties", "review", "--json"))["review"] == []


def test_agencies_are_listed(data: Path) -> None:
    found = answer(run(data, "agencies", "--json"))
    assert [(one["name"], one["adverts"], one["reposts"]) for one in found["agencies"]] == [
        ("СЕДЕМ КЛЮЧА", 3, 1),
        ("СИНЯ ЖАБА", 1, 0),
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("properties", "show", "999"), "no property 999; `sale-sofia properties` lists them"),
        (("properties", "split", A1, "999"), "property 1 has no advert 999; it has 1, 2"),
        (("match", "--pairs", "x.csv"), "--adverts and --pairs go together"),
    ],
)
def test_wrong_input_is_one_sentence(data: Path, arguments: tuple[str, ...], sentence: str) -> None:
    told = run(data, *arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in " ".join(told.stderr.replace("│", " ").split())
    assert "Traceback" not in told.stderr


def test_an_empty_database_says_where_properties_come_from(tmp_path: Path) -> None:
    told = run(tmp_path, "properties")
    assert told.returncode == 0
    assert "no property yet" in told.stderr


def test_a_crawl_matches_what_it_brought(tmp_path: Path) -> None:
    with start_forked(SimulatorConfig(properties=12, seed=4, port=0)) as simulator:
        for site in ("imot.bg", "bazar.bg"):
            told = run(tmp_path, *crawl_arguments(simulator, site), **FAST)
            assert told.returncode == 0, told.stderr
    found = answer(run(tmp_path, "properties", "--json", "--limit", "100"))
    assert found["adverts"] == 24
    together = [one for one in found["properties"] if one["portals"] == 2]
    assert len(together) >= 8
    view = answer(run(tmp_path, "properties", "show", str(together[0]["id"]), "--json"))
    assert view["links"][0]["evidence"]["family_id"] == "same"
    assert view["links"][0]["decided_by"] == "evidence"


def test_a_crawl_goes_well_though_matching_fails(tmp_path: Path) -> None:
    (tmp_path / "phone_secret").write_bytes(b"broken")
    with start_forked(SimulatorConfig(properties=2, seed=4, port=0)) as simulator:
        told = run(tmp_path, *crawl_arguments(simulator, "imot.bg"), **FAST)
    assert told.returncode == 0, told.stderr
    incidents = answer(run(tmp_path, "status", "--json"))["incidents"]
    assert [(one["kind"], one["site"]) for one in incidents] == [("matching_failed", "properties")]
    (tmp_path / "phone_secret").unlink()
    with start_forked(SimulatorConfig(properties=2, seed=4, port=0)) as simulator:
        run(tmp_path, *crawl_arguments(simulator, "imot.bg"), **FAST)
    assert answer(run(tmp_path, "status", "--json"))["incidents"] == []


def test_the_export_says_which_flats_it_holds(tmp_path: Path) -> None:
    """An id that was given to another flat: the flat of now, and on wish the earlier one."""
    database = ready_database(tmp_path / "sale_sofia.db")
    other = advert("a1", area_sqm=51.0, floor=7, price_eur=99_000.0)
    with database.write() as connection:
        save_listings(connection, [Sighting(advert("a1"), 1.0), Sighting(ALONE, 1.0)])
        save_listings(connection, [Sighting(other, 2.0)])
        save_listings(connection, [Sighting(advert("a3"), 2.0, card=True)])
    database.dispose()
    unread = "1 advert known only from lists of results left out"
    path = tmp_path / "x.jsonl"
    told = run(tmp_path, "export", path, COLUMNS="400")
    assert told.stderr.splitlines() == [
        f"2 adverts in {path}",
        "1 earlier flat under ids that were given again left out; --all-generations adds them",
        unread,
    ]
    told = run(tmp_path, "export", path, "--all-generations", COLUMNS="400")
    assert told.stderr.splitlines() == [
        f"3 adverts in {path}: 2 adverts of now, 1 earlier flat under ids that were given again",
        unread,
    ]
    refused = run(tmp_path, "export", path, "--all-generations", "--prices", COLUMNS="400")
    assert refused.returncode != 0
    assert "leave --all-generations out" in refused.stderr
