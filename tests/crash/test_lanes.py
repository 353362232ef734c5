"""Workers killed at every point of a parallel crawl: whether messages are kept or lost, it comes to its end.

The tasks are those of the workers, the messages real ones of Celery, the gate is
in a real Redis. One after the other they are done in this process, where each point is seen.
"""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from queue import Empty
from queue import Queue as SimpleQueue
from typing import Any, NamedTuple

import pytest
from celery import Celery, _state
from celery.app.trace import trace_task
from kombu import Queue
from kombu.transport.memory import Channel
from sqlalchemy import select

from crash_crawls import (
    LATER,
    SITE,
    Clock,
    Crawler,
    asked,
    check_requests,
    fetched_again,
    own_clock,
    portal,
    unlike,
)
from crash_points import Enumeration, count_points
from sale_sofia.crawl import tables
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners import lane, tasks
from sale_sofia.crawl.runners.dispatching import jobs_message
from sale_sofia.crawl.settings import APP_NAME
from sale_sofia.crawl.visit.outcomes import Failed
from sale_sofia.crawl.visit.writer import Ledger, write_batch
from sale_sofia.history.jobs import Job
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.running import RunningSimulator

ADVERTS = 2
LANES = 2
TICK = 6.0
"""By so much a lane's clock moves with each look at it: its shift ends after a few pages."""
Message = dict[str, Any]


class Outside(NamedTuple):
    """What the portal was asked, and the messages that nobody has acknowledged."""

    pages: tuple[str, ...]
    messages: tuple[str, ...]


class Broker:
    """The messages of Celery's own memory transport, and a worker that takes them one by one."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self.in_hand: list[Message] = []

    @property
    def messages(self) -> tuple[str, ...]:
        """What a broker gives to the next worker: those that wait, and the one not acknowledged."""
        return tuple(json.dumps(one) for one in (*self.in_hand, *self._queue.queue))

    @property
    def _queue(self) -> Any:  # noqa: ANN401 - kombu's
        return Channel.queues.setdefault(APP_NAME, SimpleQueue())

    def put(self, messages: tuple[str, ...]) -> None:
        """From now on it has these and no others."""
        self.in_hand = []
        self._queue.queue.clear()
        for one in messages:
            self._queue.put(json.loads(one))

    def work(self) -> None:
        """Do what every message asks for, and what these send, until there is none."""
        while True:
            try:
                message: Message = self._queue.get_nowait()
            except Empty:
                return
            self.in_hand = [message]
            self._do(message)
            self.in_hand = []

    def _do(self, message: Message) -> None:
        args, kwargs, embedded = json.loads(base64.b64decode(message["body"]))
        request = {**message["headers"], **embedded, "delivery_info": {}}
        trace_task(self._app.tasks[request["task"]], request["id"], args, kwargs, request, app=self._app)


@pytest.fixture
def clock() -> Iterator[Clock]:
    with own_clock() as told:
        yield told


@pytest.fixture
def broker() -> Iterator[Broker]:
    before = _state.get_current_app()
    app = Celery(APP_NAME, broker="memory://", backend="cache+memory://", set_as_current=True)
    app.conf.update(task_default_queue=APP_NAME, task_queues=(Queue(APP_NAME),))
    made = Broker(app)
    made.put(())
    yield made
    made.put(())
    before.set_current()
    app.close()


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    with portal(tmp_path, ADVERTS) as running:
        yield running


@pytest.fixture(autouse=True)
def lanes_with_short_shifts(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Lanes of one visitor, each of which sees time pass by its own looks at the clock."""

    def ticking(_database: object) -> Callable[[], float]:
        looks = count()
        return lambda: clock.now + TICK * next(looks)

    monkeypatch.setattr(lane, "visitors_for", lambda *_: 1)
    monkeypatch.setattr(tasks, "lanes_for", lambda *_: LANES)
    monkeypatch.setattr(lane, "store_clock", ticking)


class Workers:
    """The parallel mode on a data folder; beat and command are called by hand."""

    def __init__(self, crawler: Crawler, broker: Broker, clock: Clock) -> None:
        self._crawler, self._broker, self._clock = crawler, broker, clock

    def crawl(self) -> None:
        """As the command does it: the job is planned, told to the workers, and done by them."""
        with self._at_work():
            self._begin()
            self._finish()

    def go_on(self, messages: tuple[str, ...]) -> None:
        """After a crash: beat's looks bring all to its end; where nothing had begun, the command does."""
        with self._at_work():
            self._broker.put(messages)
            self._broker.work()
            if not self.jobs():
                self._begin()
            self._finish()

    def _begin(self) -> None:
        crawler = self._crawler
        plan = JobPlan(get_scraper(SITE), crawler.start_urls, limit=None, fresh=False)
        job_id = plan_for_workers(crawler.settings, crawler.database, plan)
        job = crawler.database.run_read(lambda connection: known_job(connection, job_id))
        tasks.scrape_all_sites.delay(jobs_message([job]))
        self._broker.work()

    def _finish(self) -> None:
        for _ in range(10):
            tasks.reconcile_jobs()
            self._broker.work()
            if all(job.state.finished for job in self.jobs()):
                return
            self._clock.now += LATER
        raise AssertionError("it does not come to its end")

    def in_hand(self) -> list[tuple[str, Claim]]:
        """The pages that a killed worker had, each with its job."""
        rows = tables.frontier
        leased = select(rows).where(rows.c.state == "leased")
        with self._crawler.database.read() as connection:
            found = connection.execute(leased).all()
        self._crawler.database.dispose()
        return [(row.job_id, Claim(row.id, row.kind, row.url, row.attempts, row.fence)) for row in found]

    def write_late(self, in_hand: list[tuple[str, Claim]]) -> None:
        """One that was taken for dead comes back with its pages: its word must change nothing."""
        for job_id, claim in in_hand:
            with self._crawler.database.write() as connection:
                late = [Failed(claim, "too late")]
                write_batch(connection, Ledger(job_id, SITE), late, now=self._clock())

    def jobs(self) -> list[Job]:
        with self._crawler.database.read() as connection:
            return [
                known_job(connection, one) for one in connection.execute(select(tables.jobs.c.id)).scalars()
            ]

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """What a worker process keeps is made anew, as it is in a new one."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lane, "settings", lambda: self._crawler.settings)
            patch.setattr(tasks, "settings", lambda: self._crawler.settings)
            patch.setattr(lane, "database", lambda: self._crawler.database)
            patch.setattr(tasks, "database", lambda: self._crawler.database)
            try:
                yield
            finally:
                self._crawler.database.dispose()


def test_lanes_killed_at_every_point(
    tmp_path: Path, clock: Clock, simulator: RunningSimulator, broker: Broker, redis_url: str
) -> None:
    """All messages are lost with each kill; where there are others than before, they are kept once too."""

    def workers(name: str) -> tuple[Crawler, Workers]:
        crawler = Crawler.of(
            tmp_path / name, simulator, redis_url=redis_url, read_after_crawl=False,
            match_after_crawl=False, score_after_crawl=False,
        )  # fmt: skip
        return crawler, Workers(crawler, broker, clock)

    alone, crew = workers("alone")
    counted = count_points(alone.data, crew.crawl)
    whole, known = asked(simulator), alone.knowledge()
    assert alone.faults(simulator) == []
    [job] = crew.jobs()
    assert job.generation >= 2, "one generation follows the other"

    crawler, crew = workers("data")
    crash = Enumeration(
        crawler.data, tmp_path / "states", lambda: Outside(asked(simulator)[len(whole) :], broker.messages)
    )
    crash.run(crew.crawl)
    wrong, last = {}, None
    for state in crash.states.values():
        messages = state.last.messages
        for kept in [(), messages] if messages != last else [()]:
            state.put(crawler.data)
            in_hand = crew.in_hand()
            clock.now += LATER
            before = len(asked(simulator))
            crew.go_on(kept)
            crew.write_late(in_hand)
            faults = [*crawler.faults(simulator), *unlike(crawler.knowledge(), known)]
            if (again := fetched_again(whole, state.last.pages, asked(simulator)[before:])) > 1:
                faults.append(f"{again} pages were fetched again")
            if faults:
                wrong[f"{state}, {len(kept)} of {len(messages)} messages kept"] = faults
        last = messages
    assert wrong == {}
    crash.check_complete(counted, least=480)
    check_requests(whole, (one.pages for one in crash.seen))
