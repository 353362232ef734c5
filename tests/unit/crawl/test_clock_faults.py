"""A clock that was set back: what its moments did to a job, and that the rest of each wait stays."""

from functools import partial

import pytest
from sqlalchemy import insert, select, update

from sale_sofia.crawl.frontier.clock import bring_back, longest_wait
from sale_sofia.crawl.frontier.frontier import count_rows
from sale_sofia.crawl.frontier.jobs import begin_job, known_job
from sale_sofia.crawl.runners import dispatching
from sale_sofia.crawl.runners.dispatching import Next
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.settings.model import Settings, get_settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.registry import get_scraper

NOW = 1_790_000_000.0
DAY = 86_400.0
LEASE = get_settings().lease_seconds


def put(
    database: Database,
    key: str,
    state: str,
    not_before: float,
    lease_until: float | None = None,
    put_off_at: float | None = None,
) -> None:
    row = {"job_id": "job", "kind": "listing", "url": f"https://x/{key}", "url_key": f"listing:{key}"}
    moments = {
        "state": state,
        "not_before": not_before,
        "lease_until": lease_until,
        "put_off_at": put_off_at,
        "lease_owner": "who@else",
    }
    with database.write() as connection:
        connection.execute(insert(frontier).values(**row, **moments))


def mended(database: Database, now: float = NOW) -> float:
    return database.run_write(partial(bring_back, job_id="job", now=now))


def moments(database: Database, name: str) -> dict[str, float]:
    with database.read() as connection:
        rows = connection.execute(select(frontier.c.url_key, frontier.c[name]))
        return {key.removeprefix("listing:"): moment for key, moment in rows}


def test_a_wait_keeps_what_was_left_of_it(database: Database) -> None:
    put(database, "read", "done", 0.0, NOW + DAY + LEASE)
    put(database, "soon", "pending", NOW + DAY + 5, put_off_at=NOW + DAY)
    put(database, "asked for an hour", "pending", NOW + DAY + 3600, put_off_at=NOW + DAY)
    put(database, "was due", "pending", NOW + DAY - 100, put_off_at=NOW + DAY)
    assert mended(database) == DAY
    left = {"soon": 5.0, "asked for an hour": 3600.0, "was due": -100.0}
    assert {key: moments(database, "not_before")[key] - NOW for key in left} == left
    assert mended(database) == 0.0, "it is mended once"
    assert moments(database, "not_before")["soon"] == NOW + 5


@pytest.mark.parametrize(
    ("until", "written", "left"),
    [(NOW + DAY + 60, NOW + DAY, 60.0), (NOW + 1800, NOW - 1, 1800.0), (NOW + 9 * DAY, NOW - 1, 0.0)],
)
def test_a_job_that_is_shut_is_so_for_as_long_as_was_left(
    database: Database, until: float, written: float, left: float
) -> None:
    put(database, "waits", "pending", 0.0)
    shut = update(jobs).where(jobs.c.id == "job").values(shut_until=until, shut_at=written)
    database.run_write(lambda connection: connection.execute(shut))
    mended(database)
    with database.read() as connection:
        assert count_rows(connection, "job").next_due == NOW + left


def test_of_several_clocks_each_wait_is_mended_by_its_own(database: Database) -> None:
    """A clock was ahead by a day for a moment, in which it put pages off and leased none."""
    put(database, "read", "done", 0.0, NOW + LEASE)
    put(database, "by a day", "pending", NOW + DAY + 5, NOW - 3600, NOW + DAY)
    put(database, "by an hour", "pending", NOW + 3600 + 7, NOW + 3600 + LEASE, NOW + 3600)
    put(database, "by ours", "pending", NOW + 1800, NOW, NOW - 1)
    mended(database)
    left = {"by a day": 5.0, "by an hour": 7.0, "by ours": 1800.0}
    assert {key: moments(database, "not_before")[key] - NOW for key in left} == left


def test_honest_waits_are_left_alone(database: Database) -> None:
    put(database, "read", "done", 0.0, NOW - 10 + LEASE)
    put(database, "asked for a day", "pending", NOW + DAY, put_off_at=NOW)
    assert mended(database) == 0.0
    assert moments(database, "not_before")["asked for a day"] == NOW + DAY


def test_what_is_further_away_than_any_wait_is_due_though_nobody_says_why(database: Database) -> None:
    longest = longest_wait(get_settings())
    put(database, "far", "pending", NOW + longest + 61)
    put(database, "possible", "pending", NOW + longest)
    assert mended(database) == 0.0
    assert moments(database, "not_before") == {"far": NOW, "possible": NOW + longest}


@pytest.mark.parametrize(
    ("said", "seconds"),
    [({}, DAY), ({"retry_max_delay": DAY, "circuit_breaker_reset_timeout": DAY}, 1.2 * DAY)],
)
def test_no_wait_is_longer_than_the_longest(said: dict[str, float], seconds: float) -> None:
    assert longest_wait(Settings(**said)) == seconds  # type: ignore[arg-type]


def test_leases_end_a_lease_from_now_and_a_wake_up_is_now(database: Database) -> None:
    put(database, "held", "leased", 0.0, NOW + DAY + LEASE)
    with database.write() as connection:
        connection.execute(update(jobs).values(woken_at=NOW + DAY))
    assert mended(database) == DAY
    assert moments(database, "lease_until") == {"held": NOW + LEASE}
    assert database.run_read(lambda connection: known_job(connection, "job")).woken_at == NOW


def test_workers_are_sent_out_again(database: Database) -> None:
    """A wake-up of tomorrow looked fresh, and nobody was woken for a day."""
    put(database, "read", "done", 0.0, NOW + DAY + LEASE)
    put(database, "put off", "pending", NOW + DAY + 3, put_off_at=NOW + DAY)
    with database.write() as connection:
        connection.execute(update(jobs).values(woken_at=NOW + DAY, runner="celery", generation=1))
    repair = partial(dispatching.repair, job_id="job")
    assert database.run_write(partial(repair, now=NOW)).kind is Next.NOTHING
    assert database.run_write(partial(repair, now=NOW + 30)).kind is Next.LANES


def test_a_new_job_is_the_newest_of_its_portal(database: Database) -> None:
    site, made = get_scraper("imot.bg"), []
    url = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya"
    for now in (NOW + DAY, NOW):
        job_id = database.run_write(partial(begin_job, site=site, start_urls=[url], limit=None, now=now))
        made.append(database.run_read(partial(known_job, job_id=job_id)).created_at)
    assert NOW + DAY == made[0] < made[1] < NOW + DAY + 1
