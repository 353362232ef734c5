"""Faults of workers and messages, one by one: the portal's log and the database are the judges."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from redis import Redis
from sqlalchemy import func, select, update

from chaos_proxy import ChaosProxy
from parallel_crawls import until
from parallel_faults import (
    IN_FLIGHT,
    PER_MINUTE,
    PLACES,
    SITE,
    SURROUNDINGS,
    answered,
    begin,
    busy_process,
    holders,
    kill,
    said,
    send,
    small_portal,
    with_places,
)
from parallel_world import Party, party
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.resilience.factory import get_rate_limiter
from sale_sofia.crawl.resilience.redis_parts import places_key
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.resilience.settings import RATE_BURST
from sale_sofia.crawl.runners.dispatching import jobs_message
from sale_sofia.crawl.settings import LANE_PAGES_PER_MINUTE, MOST_DEATHS, TASK_VERSION
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.operations.services.redis import connect as sync_redis
from sale_sofia.operations.settings import WORKER_QUIT_SECONDS, WORKER_STOP_SECONDS
from sale_sofia.settings.model import DATABASE_FILE
from seeds import SEED
from windows import excess

PATIENCE_SECONDS = 120
SETTLE_SECONDS = 0.2
LOOK_SECONDS = 0.02
"""Far shorter than a page is held in the test that kills whoever holds it."""
WRITE_PATIENCE_SECONDS = 2.0


def test_a_worker_told_to_go_hands_back_its_pages_and_another_goes_on(tmp_path: Path) -> None:
    with party(tmp_path / "p", small_portal(tmp_path, 40), processes=1, **SURROUNDINGS) as crawl:
        begin(crawl, workers=2)
        until(lambda: len(set(holders(crawl).values())) == 2, "both have pages in hand")
        leaver, quitter = crawl.workers
        crawl.workers.clear()  # nobody replaces them
        leaver.send_signal(signal.SIGTERM)
        quitter.send_signal(signal.SIGQUIT)
        told = time.monotonic()
        leaver.wait(WORKER_STOP_SECONDS)
        assert not crawl.finished(), "it left its lanes' work to others"
        crawl.start_worker()
        crawl.wait(PATIENCE_SECONDS)
        quitter.wait(told + WORKER_QUIT_SECONDS - time.monotonic())  # it stays, for tasks that do not listen
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert crawl.fetched_again() <= 2 * IN_FLIGHT, f"seed {SEED}"


def test_late_writes_of_a_process_that_slept_longer_than_its_lease_change_nothing(tmp_path: Path) -> None:
    more = {**SURROUNDINGS, **with_places(tmp_path), "LEASE_SECONDS": "5"}
    with party(tmp_path / "p", small_portal(tmp_path, 40), processes=3, **more) as crawl:
        begin(crawl)
        answered(crawl, 10)
        sleeper, held = put_to_sleep(crawl)
        until(lambda: all(state == "done" for state in states(crawl, held).values()), "others read its pages")
        os.kill(sleeper, signal.SIGCONT)
        crawl.wait(PATIENCE_SECONDS)
        until(lambda: "'lost': " in said(crawl).replace("'lost': 0", ""), f"its end{crawl.tail()}")
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert crawl.fetched_again() <= PLACES, f"seed {SEED}"


def test_a_process_that_was_stopped_after_its_admission_asks_again_before_it_sends(tmp_path: Path) -> None:
    """Its place is given away, and the portal wants a pause; each step of a redirect waits its turn too."""
    more = {**SURROUNDINGS, "LEASE_SECONDS": "5"}
    with party(tmp_path / "p", small_portal(tmp_path, 12, redirects=4), processes=1, **more) as crawl:
        address = urlsplit(crawl.redis.url)
        with ChaosProxy(str(address.hostname), int(address.port or 0)) as far:
            crawl.environment = {
                **crawl.environment,
                "REDIS_URL": crawl.redis.url.replace(f":{address.port}", f":{far.port}"),
            }
            begin(crawl)
            answered(crawl, 10)
            far.latency(0.5)
            sleeper = stop_when_admitted(crawl)
            far.pass_on()
            with sync_redis(crawl.redis.url) as redis:
                until(lambda: not held_places(redis), "the end of its leases")
            asked, ends = len(crawl.requests()), paused(crawl, seconds=2.0)
            os.kill(sleeper, signal.SIGCONT)
            answered(crawl, asked + 6)
            times = [row["t"] for row in crawl.requests()]
            assert [t - ends for t in times[asked:] if t < ends] == [], f"seed {SEED}"
            assert excess(times, PER_MINUTE, RATE_BURST + IN_FLIGHT) == {}, f"seed {SEED}"


def stop_when_admitted(crawl: Party) -> int:
    """Stop the process at work when Redis has admitted a request, of which it has not heard yet."""
    sleeper = busy_process(crawl)
    with sync_redis(crawl.redis.url) as redis:
        known = held_places(redis)
        until(lambda: held_places(redis) - known, "another admission")
        os.kill(sleeper, signal.SIGSTOP)
    return sleeper


def held_places(redis: Redis) -> set[object]:
    """The requests that hold a place of the portal, whose lease has not ended."""
    seconds, micros = redis.time()
    now = seconds + micros / 1e6
    return set(cast("list[str]", redis.zrangebyscore(places_key(SITE), now, "+inf")))


def paused(crawl: Party, seconds: float) -> float:
    """Pause the portal for everybody, as a refusal would; until when."""

    async def pause() -> None:
        async with connect(crawl.redis.url) as redis:
            limiter = get_rate_limiter(crawl.settings, lambda _: PER_MINUTE, redis)
            await limiter.penalise(SITE, seconds, time.monotonic())

    asyncio.run(pause())
    return time.time() + seconds


def put_to_sleep(crawl: Party) -> tuple[int, list[str]]:
    """Stop a process that has pages in hand; gives it, and those pages."""
    while True:
        sleeper = busy_process(crawl)
        os.kill(sleeper, signal.SIGSTOP)
        time.sleep(SETTLE_SECONDS)  # what it had sent off has arrived by now
        held = [url for url, pid in holders(crawl).items() if pid == sleeper]
        if held and can_be_written(crawl):
            return sleeper, held
        os.kill(sleeper, signal.SIGCONT)
        time.sleep(SETTLE_SECONDS)  # else it would be stopped in the same write again


def can_be_written(crawl: Party) -> bool:
    """Whether it did not fall asleep in the middle of a write: then SQLite has everyone wait for it."""
    path = crawl.settings.data_dir / DATABASE_FILE
    with closing(sqlite3.connect(path, timeout=WRITE_PATIENCE_SECONDS)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.rollback()
        return True


def states(crawl: Party, urls: list[str]) -> dict[str, str]:
    with crawl.database.read() as connection:
        rows = connection.execute(select(frontier.c.url, frontier.c.state).where(frontier.c.url.in_(urls)))
        return {row.url: row.state for row in rows}


def test_messages_delivered_twice_and_in_another_order_change_nothing(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    with party(tmp_path / "p", small_portal(tmp_path, 40), processes=4, **SURROUNDINGS) as crawl:
        begin(crawl)
        job = crawl.database.run_read(partial(known_job, job_id=crawl.jobs[SITE]))
        every = [
            ("scrape_all_sites", (jobs_message([job]), TASK_VERSION)),
            ("dispatch_site_scraping", (SITE, list(job.start_urls), job.id, TASK_VERSION)),
            *(("scrape_chunk", (None, job.id, SITE, generation, TASK_VERSION)) for generation in (1, 2)),
            ("aggregate_results", (None, job.id, SITE, TASK_VERSION)),
            ("lanes_failed", (job.id, SITE, TASK_VERSION)),
            ("reconcile", ()),
        ]
        twice = every * 2
        rng.shuffle(twice)
        for place, (task, arguments) in enumerate(twice):
            answered(crawl, 2 * place)
            send(crawl, task, *arguments)
        crawl.wait(PATIENCE_SECONDS)
        for task, arguments in twice:  # and once more, when the job has ended long since
            send(crawl, task, *arguments)
        done = "Task sale_sofia.crawl.runners.tasks.lanes_failed"
        until(lambda: said(crawl).count(f"{done}[") >= 8, f"all messages were read{crawl.tail()}")
        with crawl.database.read() as connection:
            assert connection.execute(select(jobs.c.id)).scalars().all() == [job.id]
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert crawl.fetched_again() == 0, f"seed {SEED}"
        times = [row["t"] for row in crawl.requests() if row["path"] != "/robots.txt"]
        assert excess(times, PER_MINUTE, 1 + IN_FLIGHT) == {}, f"seed {SEED}"


def test_a_page_that_kills_its_worker_is_given_up_and_all_others_are_read(tmp_path: Path) -> None:
    config = small_portal(tmp_path, 20, faults="slow:1.0", slow_seconds=0.6)  # several are in hand at once
    with party(tmp_path / "p", config, processes=2, **SURROUNDINGS, **with_places(tmp_path)) as crawl:
        begin(crawl)
        poison = waiting_advert(crawl)
        job = crawl.database.run_read(partial(known_job, job_id=crawl.jobs[SITE]))
        killed = 0
        while states(crawl, [poison])[poison] in {"pending", "leased"}:
            if pid := holders(crawl).get(poison):
                with suppress(ProcessLookupError):
                    kill(pid)
                    killed += 1
                # The reconciler would see it within seconds.
                send(crawl, "dispatch_site_scraping", SITE, list(job.start_urls), job.id, TASK_VERSION)
                until(lambda: holders(crawl).get(poison) != pid, "the dead lets go of it")
                pretend_deaths(crawl, poison, MOST_DEATHS - 2)
            time.sleep(LOOK_SECONDS)
        crawl.wait(PATIENCE_SECONDS)
        assert killed >= 3  # a kill may come when the page was handed back a moment before
        assert crawl.progress()[SITE].status == "COMPLETE"
        assert crawl.progress()[SITE].error_count == 1
        (wrong,) = crawl.wrong().items()
        assert wrong == ((SITE, external_id(poison)), "missing"), f"seed {SEED}"
        assert reasons(crawl) == {"worker_died"}


def claims_and_pages(crawl: Party) -> tuple[int, int]:
    """How often pages were claimed in all, and how many there are."""
    with crawl.database.read() as connection:
        row = connection.execute(select(func.sum(frontier.c.fence), func.count())).one()
    return int(row[0]), int(row[1])


ONE_LANE = SURROUNDINGS | {"DOMAIN_RATE_LIMITS": json.dumps({SITE: LANE_PAGES_PER_MINUTE})}
"""Settings with which one lane has all places of the portal."""


def test_after_a_kill_the_places_are_free_at_once_and_pages_are_not_claimed_in_vain(tmp_path: Path) -> None:
    config = small_portal(tmp_path, 38, faults="slow:1.0", slow_seconds=0.4)
    with party(tmp_path / "p", config, processes=2, **ONE_LANE) as crawl:
        begin(crawl)
        answered(crawl, 6)
        kill(stopped_with_all_places(crawl))
        left = places(crawl)
        crawl.wait(PATIENCE_SECONDS)
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert len(left) == IN_FLIGHT, "it had no time to give them back"
        claims, pages = claims_and_pages(crawl)
        assert claims <= pages * 3 // 2, "each once, those of the dead again, hardly any besides"


def stopped_with_all_places(crawl: Party) -> int:
    """A process that has all places, and can give none back: it was stopped, and had them still."""
    while True:
        until(lambda: len(places(crawl)) == IN_FLIGHT, "all places are taken")
        if not (taken := places(crawl)):
            continue
        victim = int(taken[0].split("|")[1])
        os.kill(victim, signal.SIGSTOP)
        time.sleep(SETTLE_SECONDS)  # what it had sent off has arrived by now
        if [int(token.split("|")[1]) for token in places(crawl)] == [victim] * IN_FLIGHT:
            return victim
        os.kill(victim, signal.SIGCONT)


def places(crawl: Party) -> list[str]:
    """The portal's places that are taken."""
    with sync_redis(crawl.redis.url) as client:
        return [str(token) for token in client.zrange(places_key(SITE), 0, -1)]


def test_places_held_on_another_machine_are_waited_for_without_a_storm_of_claims(tmp_path: Path) -> None:
    seconds = 6
    with party(tmp_path / "p", small_portal(tmp_path, 38), processes=2, **ONE_LANE) as crawl:
        begin(crawl)
        answered(crawl, 6)
        with sync_redis(crawl.redis.url) as client:
            taken = float(client.time()[0]) + 1  # by then they are told, and what is under way has ended
            names = {f"elsewhere/pid:[1]|{n}|0.0|00": taken + seconds for n in range(IN_FLIGHT)}
            client.zadd(places_key(SITE), names)
        crawl.wait(PATIENCE_SECONDS)
        assert crawl.wrong() == {}, f"seed {SEED}"
        asked = [row["t"] for row in crawl.requests()]
        meanwhile = [t for t in asked if taken + SETTLE_SECONDS < t < taken + seconds - SETTLE_SECONDS]
        assert meanwhile == [], "nobody goes while others have all places"
        claims, pages = claims_and_pages(crawl)
        assert claims <= pages * 3 // 2, "who finds no place keeps its page and looks again"


def pretend_deaths(crawl: Party, url: str, least: int) -> None:
    """The page, of which one worker died, has seen the end of more: only the last ones are real again."""
    fewer = frontier.c.deaths.between(1, least - 1)
    with crawl.database.write() as connection:
        connection.execute(update(frontier).where(frontier.c.url == url, fewer).values(deaths=least))


def deaths(crawl: Party) -> int:
    with crawl.database.read() as connection:
        return int(connection.execute(select(func.sum(frontier.c.deaths))).scalar_one())


def waiting_advert(crawl: Party) -> str:
    """The last one that was found and that nobody holds."""
    waiting = (
        select(frontier.c.url)
        .where(frontier.c.kind == "listing", frontier.c.state == "pending")
        .order_by(frontier.c.id.desc())
    )
    found: list[str] = []

    def look() -> list[str]:
        with crawl.database.read() as connection:
            found.extend(connection.execute(waiting).scalars())
        return found

    until(look, "an advert that waits")
    return found[0]


def external_id(url: str) -> str:
    """Of an advert of imot.bg: /obiava-ID-words."""
    return url.partition("/obiava-")[2].partition("-")[0]


def reasons(crawl: Party) -> set[str]:
    with crawl.database.read() as connection:
        failed = select(frontier.c.code).where(frontier.c.state == "failed")
        return set(connection.execute(failed).scalars())


KILLED = "Hard time limit"
"""Said by Celery of each task whose process it kills."""


def test_a_lane_cut_by_its_time_limit_hands_back_the_rest_and_one_that_does_not_hear_it_is_killed(
    tmp_path: Path,
) -> None:
    # A busy machine may need seconds to hand back what a lane holds; only a deaf one is to be killed.
    limits = {"SCRAPING_SOFT_TIME_LIMIT": "2", "SCRAPING_HARD_TIME_LIMIT": "15"}
    slower = {"DOMAIN_RATE_LIMITS": json.dumps({SITE: 700})}  # so that there is work for a third generation
    more = {**SURROUNDINGS, **with_places(tmp_path), **limits, **slower}
    with party(tmp_path / "p", small_portal(tmp_path, 70), processes=2, **more) as crawl:
        begin(crawl)
        until(lambda: generation(crawl) > 2, f"lanes that were cut and followed by others{crawl.tail()}")
        assert "hands back what it holds" in said(crawl)
        # Where there is no processor to be had for seconds, a lane may be killed here already.
        assert deaths(crawl) == 0 or KILLED in said(crawl), "what was handed back was no death"
        deaf, _ = put_to_sleep(crawl)
        until(lambda: not Path(f"/proc/{deaf}").exists(), f"its end{crawl.tail()}")
        crawl.wait(PATIENCE_SECONDS)
        cut = said(crawl).count("a lane met its time limit") + said(crawl).count(KILLED)
        assert crawl.wrong() == {}, f"seed {SEED}"
        assert crawl.fetched_again() <= cut * PLACES, f"seed {SEED}"


def generation(crawl: Party) -> int:
    """How often lanes were sent."""
    return crawl.database.run_read(partial(known_job, job_id=crawl.jobs[SITE])).generation
