"""Portals that change their layout overnight: found at once, named right, nothing wrong stored or gone."""

from collections.abc import Iterator

import pytest

from crawls import truth
from drift_days import DriftDays, drift_days
from sale_sofia.history.drift.runs import accept_drift
from sale_sofia.history.drift.store import last_run, open_drift
from sale_sofia.history.sweeps import list_sweeps
from sale_sofia.installation import open_archive
from sale_sofia.settings.model import get_settings
from sale_sofia.websites.registry import get_scraper

# Each change, and what must be found of it: the kind, and the field.
CHANGES: dict[str, dict[str, set[tuple[str, str]]]] = {
    "imot.bg": {
        "renamed-class": {("drift_selector", "listing.price")},
        "half-template": {("drift_selector", "listing.area_sqm"), ("drift_selector", "listing.floor")},
        "half-cards": {("drift_cards", "search.cards_of_total")},
        "charset": {("drift_unreadable", "search.cards")},
    },
    "bazar.bg": {
        "renamed-rows": {("drift_fill", "listing.area_sqm"), ("drift_fill", "listing.floor")},
        "translated": {("drift_fill", "listing.area_sqm"), ("drift_fill", "listing.building")},
    },
    "imoti.net": {
        "moved-block": {("drift_fill", "listing.price")},
        "per-sqm": {("drift_price_per_sqm", "listing.price"), ("drift_price_per_sqm", "search.price")},
        "moved-currency": {("drift_fill", "listing.price"), ("drift_fill", "search.price")},
    },
    "alo.bg": {
        "dropped-field": {("drift_fill", "listing.area_sqm"), ("drift_fill", "search.area_sqm")},
        "renamed-cards": {("drift_cards", "search.cards")},
    },
    "homes.bg": {
        "json-key": {("drift_fill", "listing.price"), ("drift_fill", "search.price")},
        "dearer": {("drift_price", "listing.price"), ("drift_price", "search.price")},
    },
    "olx.bg": {"json-params": {("drift_fill", "listing.area_sqm"), ("drift_fill", "search.area_sqm")}},
    "imoti.com": {"json-adverts": {("drift_cards", "search.cards")}},
}


FEW, MORE = 16, {"imoti.net": 30}
"""Adverts; of fewer of imoti.net too few have a price to miss. Three hundred of each: bench/drift.py."""
RETURNS = {"imot.bg", "homes.bg"}
"""Whose old layout comes back: one of pages, and one of JSON."""
QUIET_RUNS = 5
"""Thirty of them, of every portal: bench/drift.py."""


@pytest.fixture(scope="module")
def portal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriftDays]:
    """A portal of two sound days: what the second missed is gone when the next sound run misses it again."""
    folder = tmp_path_factory.mktemp("drift")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRIFT_LEAST_RUNS", "2")
        get_settings.cache_clear()
        with drift_days(folder, request.param, sound_runs=2, adverts=MORE.get(request.param, FEW)) as days:
            yield days
    get_settings.cache_clear()


@pytest.fixture(autouse=True)
def as_on_the_sound_days(portal: DriftDays) -> None:
    portal.restore()


def of_site(*sites: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("portal", sites, indirect=True)


@of_site(*CHANGES)
def test_every_change_of_layout_is_found_in_the_first_run_after_it(portal: DriftDays) -> None:
    assert portal.drift() == []
    for layout, expected in CHANGES[portal.site].items():
        portal.restore()
        check_change(portal, layout, expected)
    if portal.site in RETURNS:
        portal.crawl()
        assert portal.drift() == []
        assert portal.wrong({}) == []


def check_change(portal: DriftDays, layout: str, expected: set[tuple[str, str]]) -> None:
    before, gone = portal.values(), portal.gone()
    portal.crawl(layout)
    found = portal.findings()
    assert expected <= found, layout
    assert portal.wrong(before) == [], layout
    assert portal.gone() == gone, layout
    check_incidents(portal)
    with portal.days.database.read() as connection:
        assert open_drift(connection, portal.site)
        assert not list_sweeps(connection, 1)[0].complete
        run = last_run(connection, portal.site)
    assert run is not None
    assert run.sound is False


def check_incidents(portal: DriftDays) -> None:
    """Each names the field, its selector and a page that is in the archive."""
    archive = open_archive(portal.days.settings)
    for incident in portal.drift():
        for found in incident.details["findings"]:
            assert found["selector"]
            assert found["url"].startswith("http://127.0.0.1")
            assert archive.get(found["page_digest"])
        first = incident.details["findings"][0]
        assert first["selector"] in incident.message
        assert first["url"] in incident.message


@of_site("imoti.net")
def test_prices_of_a_square_metre_are_never_believed_while_they_last(portal: DriftDays) -> None:
    """However often they are seen in a row; when prices are back, they are stored on that day."""
    before = portal.values()
    for _ in range(portal.days.settings.odd_price_visits + 1):
        portal.crawl("per-sqm")
        assert portal.wrong(before) == []
    portal.crawl()
    assert portal.drift() == []
    assert portal.wrong({}) == []


@of_site("homes.bg")
def test_a_shift_of_all_prices_is_held_back_until_a_person_accepts_it(portal: DriftDays) -> None:
    there = {key for _, key in truth(portal.days.simulator)}
    before = {key: one for key, one in portal.values().items() if one["price_eur"] and key in there}
    known = {key: one["price_eur"] for key, one in before.items()}
    for _ in range(2):
        portal.crawl("dearer")
        now = portal.values()
        assert {key: now[key]["price_eur"] for key in known} == known
    accept(portal)
    assert portal.drift() == []
    now = portal.values()
    dearer = [now[key]["price_eur"] / price for key, price in known.items()]
    assert all(abs(one - 1.3) < 0.01 for one in dearer)
    portal.crawl("dearer")
    assert portal.drift() == []


def accept(portal: DriftDays) -> None:
    config = get_scraper(portal.site).config
    with portal.days.database.write() as connection:
        assert accept_drift(connection, portal.site, config, portal.days.settings, now=1e12) is not None


@of_site("imoti.net")
def test_quiet_runs_raise_nothing(portal: DriftDays) -> None:
    """With the churn of each day, crawled as usual: only what may be new is opened."""
    for _ in range(QUIET_RUNS):
        portal.crawl(everything=False)
        with portal.days.database.read() as connection:
            run = last_run(connection, portal.site)
        assert run is not None
        assert (run.sound, run.findings) == (True, [])
        portal.days.next_day()
    assert portal.gone() > 0, "what no sound run found any more"
