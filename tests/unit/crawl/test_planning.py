import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from contract.storage.helpers import advert
from sale_sofia.buyer.searches import save_search
from sale_sofia.cli.start import write_simulated_sites
from sale_sofia.crawl.frontier.estimate import estimate, sentences
from sale_sofia.crawl.frontier.frontier import add_targets
from sale_sofia.crawl.frontier.jobs import begin_job
from sale_sofia.crawl.frontier.planning import (
    JobEnded,
    JobPlan,
    job_to_resume,
    plan_for_workers,
    plan_job,
    unfinished_jobs,
)
from sale_sofia.crawl.frontier.ranking import Wish
from sale_sofia.crawl.frontier.wanted import UnknownWish, Wanted, find_wanted, wanted_of
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.runners.runners import SiteBusy, site_lock
from sale_sofia.crawl.tables import EndCode, frontier_pruned, jobs
from sale_sofia.crawl.urls import BadAddress, UnknownAdvert, advert_of, allowed_hosts, check_start_url, target
from sale_sofia.history.jobs import JobState, UnknownJob, set_job_state
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.sweeps import SweepFigures, end_sweep
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import load_site_config
from tables import each_row

IMOT = get_scraper("imot.bg")
SEARCH = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"


def test_an_advert_is_its_id_and_a_search_is_its_address() -> None:
    plain = target(IMOT, "https://www.imot.bg/obiava-1b177634821891002")
    spelled = target(IMOT, "https://www.imot.bg/obiava-1b177634821891002-prodava-dvustaen")
    assert plain.key == spelled.key == "listing:1b177634821891002"
    assert target(IMOT, SEARCH + "/#top").key == target(IMOT, SEARCH).key
    assert target(IMOT, SEARCH + "/p-2").key != target(IMOT, SEARCH).key
    assert target(IMOT, SEARCH).kind == "search"


def test_a_crawl_talks_to_the_hosts_its_start_urls_name() -> None:
    hosts = ("www.imot.bg", "imot.bg")
    assert allowed_hosts(hosts, (SEARCH,)) == {"www.imot.bg", "imot.bg"}
    assert allowed_hosts(hosts, ("http://127.0.0.1:8701/obiavi/x",)) == {"127.0.0.1:8701"}


NOWHERE = ("", "x", "ftp://www.imot.bg/obiavi/", "https://www.imot.bg/kontakti", "http://[x")


@each_row("url", [*NOWHERE, "https://www.imot.bg:99999/obiavi/", f"{SEARCH}?{'x' * 2000}"])
def test_a_start_url_that_leads_nowhere(url: str) -> None:
    with pytest.raises(BadAddress):
        check_start_url(IMOT, url)


HERE = "http://127.0.0.1:8701/obiavi/prodazhbi/grad-sofiya"
THERE = "http://127.0.0.1:8702/sofia/prodajba-apartamenti"


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_simulated_sites(tmp_path, {"imot.bg": [HERE], "bazar.bg": [THERE]})
    monkeypatch.setenv("SITES_DIR", str(tmp_path))


@pytest.mark.usefixtures("simulated")
@each_row("url", [SEARCH, "https://localhost.imot.bg/obiavi/", "http://93.184.216.34/obiavi/"])
def test_a_simulated_portal_never_leads_to_a_real_one(url: str) -> None:
    with pytest.raises(
        BadAddress, match=r"is on another machine, .*; allowed: addresses at 127\.0\.0\.1:8701$"
    ):
        check_start_url(IMOT, url)
    assert check_start_url(IMOT, HERE.replace("127.0.0.1", "localhost")).endswith("grad-sofiya")


@pytest.mark.usefixtures("simulated")
@each_row("host", ["127.0.0.1:8702", "localhost:8702"])
def test_a_simulated_portal_is_not_read_by_the_rules_of_another(host: str) -> None:
    with pytest.raises(
        BadAddress, match=r"of bazar\.bg; allowed for imot\.bg: addresses at 127\.0\.0\.1:8701$"
    ):
        check_start_url(IMOT, f"http://{host}/obiavi/")


@each_row("host", ["bazar.bg", "www.bazar.bg:443"])
def test_a_real_portal_is_not_read_by_the_rules_of_another(host: str) -> None:
    with pytest.raises(BadAddress, match=r"of bazar\.bg; allowed for imot\.bg: addresses at www\.imot\.bg, "):
        check_start_url(IMOT, f"https://{host}/obiavi/")
    assert check_start_url(IMOT, HERE) == HERE  # a copy served here


def test_a_job_of_a_real_portal_does_not_go_on_once_it_is_simulated(
    database: Database, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = load_settings().model_copy(update={"data_dir": tmp_path / "data"})
    job_id = plan_job(settings, database, JobPlan(IMOT, (SEARCH,), None, fresh=False))
    request.getfixturevalue("simulated")
    with pytest.raises(BadAddress, match="is on another machine"):
        job_to_resume(database, job_id)


def test_an_advert_is_named_by_its_address() -> None:
    assert advert_of("https://firma.imot.bg/obiava-1b177634821891002") == ("imot.bg", "1b177634821891002")
    with pytest.raises(UnknownAdvert, match=r"is the address of no advert of alo\.bg, "):
        advert_of("http://[x/obiava-1")


def test_the_same_crawl_goes_on_and_another_begins(database: Database, tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"data_dir": tmp_path})
    first = plan_job(settings, database, JobPlan(IMOT, (SEARCH,), None, fresh=False))
    assert plan_job(settings, database, JobPlan(IMOT, (SEARCH,), None, fresh=False)) == first
    limited = plan_job(settings, database, JobPlan(IMOT, (SEARCH,), 5, fresh=False))
    fresh = plan_job(settings, database, JobPlan(IMOT, (SEARCH,), 5, fresh=True))
    assert len({first, limited, fresh}) == 3
    assert unfinished_jobs(database) == [fresh]


def test_a_crawl_abandoned_for_a_newer_one_does_not_go_on(database: Database, tmp_path: Path) -> None:
    """It would read no results again, and so find nothing new."""
    settings = load_settings().model_copy(update={"data_dir": tmp_path})
    plan = JobPlan(IMOT, (SEARCH,), None, fresh=False)
    abandoned = plan_job(settings, database, plan)
    newer = plan_job(settings, database, replace(plan, fresh=True))
    with database.write() as connection:
        set_job_state(connection, newer, JobState.COMPLETE, now=9.0)
    begun = plan_job(settings, database, plan)
    assert begun not in {abandoned, newer}
    assert plan_job(settings, database, plan) == begun


def test_a_crawl_goes_on_behind_a_newer_one_of_another_kind(database: Database, tmp_path: Path) -> None:
    settings = load_settings().model_copy(update={"data_dir": tmp_path})
    whole, limited = (JobPlan(IMOT, (SEARCH,), limit, fresh=False) for limit in (None, 5))
    job_ids = [plan_job(settings, database, plan) for plan in (whole, limited)]
    assert [plan_job(settings, database, plan) for plan in (whole, limited)] == job_ids


def test_a_crawl_for_a_profile_goes_on_for_the_same(database: Database, tmp_path: Path) -> None:
    """What it is for stands in its job: whatever becomes of the profile, and whoever goes on with it."""
    settings = load_settings().model_copy(update={"data_dir": tmp_path})
    profile = tmp_path / "profiles" / "me.yaml"
    profile.parent.mkdir()
    profile.write_text("budget_eur: 200000\nneighbourhoods: {best: [Борово], others: poor}\n", "utf-8")

    def planned(*names: str, plan: Callable[[Settings, Database, JobPlan], str] = plan_job) -> str:
        wanted = database.run_read(partial(find_wanted, data_dir=tmp_path, names=names))
        return plan(settings, database, JobPlan(IMOT, (SEARCH,), None, fresh=False, wanted=wanted))

    whole = plan_job(settings, database, JobPlan(IMOT, (SEARCH,), None, fresh=False))
    mine = planned("me")
    assert (planned("me"), planned("me", plan=plan_for_workers)) == (mine, mine)
    by_message = JobPlan(IMOT, (SEARCH,), None, fresh=True, job_id=mine)
    assert plan_for_workers(settings, database, by_message) == mine
    with database.write() as connection:
        save_search(connection, "for us", {"rooms": [2], "price_max": 90_000}, now=1.0)
        set_job_state(connection, mine, JobState.CANCELLED, now=2.0)
    others = [planned("me", "for us"), planned("for us")]
    profile.write_text("budget_eur: 300000\n", "utf-8")
    others.append(planned("me"))
    assert len({whole, mine, *others}) == 5
    before, now = (database.run_read(partial(wanted_of, job_id=one)) for one in (mine, others[-1]))
    assert before is not None
    assert now is not None
    assert (before.wishes[0].most, now.wishes[0].most) == ({"price_eur": 200_000}, {"price_eur": 300_000})
    both = database.run_read(partial(wanted_of, job_id=others[0]))
    assert both is not None
    assert both.names == ("me", "for us")
    assert both.may_hold(("apartment", 2), None)
    with pytest.raises(UnknownWish, match="no saved search is called 'mee'; profiles: default, me;"):
        planned("mee")


def test_an_ended_job_is_not_resumed(database: Database) -> None:
    assert job_to_resume(database, "job") == "job"
    with database.write() as connection:
        set_job_state(connection, "job", JobState.COMPLETE, now=9.0)
    with pytest.raises(JobEnded, match=r"job job has ended \(COMPLETE\)"):
        job_to_resume(database, "job")
    with pytest.raises(UnknownJob, match="no job other"):
        job_to_resume(database, "other")


def test_one_crawl_of_a_portal_at_a_time(database: Database, tmp_path: Path) -> None:
    with site_lock(database, tmp_path, "imot.bg"):
        with (
            pytest.raises(SiteBusy, match=r"imot\.bg is being crawled by process \d+"),
            site_lock(database, tmp_path, "imot.bg"),
        ):
            pass
        with site_lock(database, tmp_path, "bazar.bg"):
            pass
    with site_lock(database, tmp_path, "imot.bg"):
        pass


def test_an_estimate_before_the_first_sweep(database: Database) -> None:
    settings = load_settings()
    config = load_site_config("imot.bg")
    with database.read() as connection:
        found = estimate(connection, settings, config)
        few = estimate(connection, settings, config, limit=100)
    assert (found.requests, found.requests_per_minute) == (33500 + math.ceil(33500 / 40), 20)
    assert round(found.hours, 1) == 28.6
    assert few.requests == 103


# Who looks for flats of three rooms up to 150 000 €, in two neighbourhoods.
THREE_ROOMS = Wanted(
    ("me",),
    (
        Wish(
            {"property_type": ("apartment",), "neighbourhood": ("Борово", "Лозенец"), "rooms": (3,)},
            most={"price_eur": 150_000.0},
        ),
    ),
)


def test_an_estimate_of_what_fits_before_anything_is_stored(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of imot.bg's 33 500 the share of three rooms, and 1 % for each place; it filters both."""
    monkeypatch.setattr("sale_sofia.crawl.frontier.estimate.current_wishes", lambda _connection: ())
    with database.read() as connection:
        imot, homes = (
            estimate(connection, load_settings(), load_site_config(site), wanted=THREE_ROOMS)
            for site in ("imot.bg", "homes.bg")
        )
        everything = estimate(connection, load_settings(), load_site_config("imot.bg"))
    fitting = round(33_500 * 0.40 * 2 * 0.01)
    assert (imot.fitting, imot.fitting_requests) == (fitting, 2 + math.ceil(fitting / 40) + fitting)
    # homes.bg cannot filter them: all its pages of results are read.
    assert (homes.fitting, homes.fitting_requests) == (88, 1 + 110 + 88)
    assert (everything.fitting, everything.fitting_minutes) == (None, None)
    first, why = sentences([imot, homes])
    assert first == "first answers after 1 min, all 356 that may fit after 14 min, everything 28.6 h"
    assert why == "too little is stored yet: how many fit is assumed, by kind and place and not by price"
    assert "всички 356" in first.in_words("bg")
    (unknown,) = sentences([everything])
    assert unknown.startswith("first answers after 1 min, everything 28.6 h; how many fit is not known:")


def test_an_estimate_of_what_fits_by_what_is_stored(database: Database) -> None:
    """A fifth fits, a quarter is what the portal's filters leave; what was opened is not opened again."""
    flat = {"deal": "sale", "property_type": "apartment", "rooms": 3, "city": "София", "area_sqm": 90.0}
    facts: list[dict[str, Any]] = [
        {"neighbourhood": "Борово" if number % 4 == 0 else "Дружба 1", "price_eur": 90_000.0 + 300 * number}
        for number in range(250)
    ]
    seen = [
        Sighting(advert(number=number, **{**flat, **one}), 1.0, card=number >= 20)
        for number, one in enumerate(facts)
    ]
    with database.write() as connection:
        save_listings(connection, seen)
        found = estimate(connection, load_settings(), load_site_config("imot.bg"), wanted=THREE_ROOMS)
        olx = estimate(connection, load_settings(), load_site_config("olx.bg"), wanted=THREE_ROOMS)
    fits = sum(one["neighbourhood"] == "Борово" and one["price_eur"] <= 150_000 for one in facts)
    shown = sum(one["neighbourhood"] == "Борово" for one in facts)
    fitting = round(33_500 * fits / 250)
    opened = 5  # of the first twenty, those in Борово
    assert (fits, shown, found.fitting) == (51, 63, fitting)
    assert found.fitting_requests == 2 + math.ceil(33_500 * shown / 250 / 40) + fitting - opened
    assert found.fitting_basis == "imot.bg: how many fit, by 250 stored adverts"
    assert olx.fitting_basis is not None
    assert olx.fitting_basis.code == "estimate.stored_elsewhere"


@pytest.mark.parametrize(
    ("reason", "basis"), [(None, "the last complete crawl"), (Said("sweep.clock"), "the portal's known size")]
)
def test_an_estimate_rests_on_a_complete_sweep_alone(
    database: Database, reason: Said | None, basis: str
) -> None:
    figures = SweepFigures(announced=9, reachable=9, adverts=9, opened=9, stored=9, missing=reason)
    with database.write() as connection:
        job_id = begin_job(connection, IMOT, [SEARCH], limit=None, now=1.0)
        set_job_state(connection, job_id, JobState.COMPLETE, now=2.0)
        end_sweep(connection, job_id, figures, reason=reason, gone=0, now=2.0)
        config = load_site_config("imot.bg")
        assert estimate(connection, load_settings(), config, start_urls=[SEARCH]).basis == basis
        # One search says nothing of the whole portal.
        assert estimate(connection, load_settings(), config).basis == "the portal's known size"


def test_an_estimate_counts_no_advert_that_need_not_be_opened(database: Database) -> None:
    figures = SweepFigures(announced=9, reachable=9, adverts=9, opened=2, stored=2, missing=None)
    adverts = [target(IMOT, f"https://www.imot.bg/obiava-1b17763482189100{number}") for number in range(9)]
    with database.write() as connection:
        job_id = begin_job(connection, IMOT, [SEARCH], limit=None, now=1.0)
        add_targets(connection, job_id, adverts[:2])
        add_targets(connection, job_id, adverts[2:6], done=EndCode.UNCHANGED)
        add_targets(connection, job_id, adverts[6:], done=EndCode.LINKED)
        set_job_state(connection, job_id, JobState.COMPLETE, now=2.0)
        end_sweep(connection, job_id, figures, reason=None, gone=0, now=2.0)
        asked, full = (
            estimate(
                connection,
                load_settings(),
                load_site_config("imot.bg"),
                start_urls=[SEARCH],
                everything=everything,
            ).requests
            for everything in (False, True)
        )
    assert (asked, full) == (1 + 2, 1 + 9)


def test_an_estimate_by_a_pruned_crawl_counts_what_it_asked_for(database: Database) -> None:
    """Its rows are gone, and with them which of them were left alone; the requests of the job are known."""
    figures = SweepFigures(announced=9, reachable=9, adverts=9, opened=2, stored=2, missing=None)
    with database.write() as connection:
        job_id = begin_job(connection, IMOT, [SEARCH], limit=None, now=1.0)
        set_job_state(connection, job_id, JobState.COMPLETE, now=2.0)
        end_sweep(connection, job_id, figures, reason=None, gone=0, now=2.0)
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(requests=3))
        pruned = {"job_id": job_id, "kind": "listing", "state": "done", "pages": 9}
        connection.execute(insert(frontier_pruned).values(pruned))
        config = load_site_config("imot.bg")
        found = [
            estimate(connection, load_settings(), config, start_urls=[SEARCH], everything=everything).requests
            for everything in (False, True)
        ]
    assert found == [3, 1 + 9]


def test_a_crawl_delay_can_only_slow_us_down() -> None:
    assert (slowed(20, None), slowed(20, 1), slowed(20, 10)) == (20, 20, 6)
