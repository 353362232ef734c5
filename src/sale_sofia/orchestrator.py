"""The parallel mode: starts the services, gives them jobs, waits for the end, stops what it started."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from redis import RedisError

from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import JobPlan, check_plans, plan_for_workers, resume_for_workers
from sale_sofia.crawl.runners.dispatching import send_jobs
from sale_sofia.crawl.runners.progress import (
    JobEvents,
    JobsStillOpen,
    Look,
    Progress,
    publish,
    read_progress,
    wait_for_jobs,
)
from sale_sofia.crawl.runners.runners import let_go
from sale_sofia.crawl.runners.schedule import load_schedule
from sale_sofia.history.jobs import CELERY
from sale_sofia.installation import open_database
from sale_sofia.operations.services.fleet import Fleet
from sale_sofia.operations.services.ownership import ServicesBusy, is_full
from sale_sofia.operations.services.processes import Interrupted, StopSignals
from sale_sofia.operations.services.redis import connect, known_redis_url
from sale_sofia.operations.settings import SUPERVISE_SECONDS
from sale_sofia.proxies.control import ProxyControl, RotatorKeeper, RotatorService
from sale_sofia.proxies.refresh import RefreshProgress, needs_proxies
from sale_sofia.proxies.settings import START_WAIT_SECONDS
from sale_sofia.settings.errors import RedisUnreachable, ServiceUnavailable
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.errors import DatabaseError, DiskFull
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import start_urls_of

T = TypeVar("T")

__all__ = ["Interrupted", "JobsStillOpen", "Orchestrator"]


def _ignore(_: object) -> None:
    pass


class Orchestrator:
    """The services of one data folder, for as long as the `with` block lasts.

    Every call is idempotent: what runs is left alone. Inside, SIGINT and SIGTERM end every wait with
    `Interrupted`; after a second signal stopping waits for nothing. Services that another process shares
    (`shared`, as `sale-sofia up` does) are used and left running. The default settings are the environment's.
    """

    def __init__(
        self, settings: Settings | None = None, *, shared: bool = False, say: Callable[[str], None] = _ignore
    ) -> None:
        self.settings = (settings or load_settings()).model_copy(update={"parallel_scraping": True})
        self.database = open_database(self.settings)
        self.signals = StopSignals()
        self.fleet = Fleet(self.settings, self.signals, say)
        rotator = RotatorService(self.settings, lambda: self.signals.forced)
        self.proxies = ProxyControl(self.settings, self.start_redis, self.signals.check, rotator)
        self.rotator = RotatorKeeper(self.proxies, say)
        self._say = say
        self._shared = shared
        self._jobs: list[str] = []
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        """Own the services, or join the process that shares them; `ServicesBusy` if it does not share."""
        ownership = self.fleet.ownership
        self.fleet.joined = not self.with_room(partial(ownership.take, shared=self._shared))
        with ExitStack() as stack:
            stack.callback(ownership.release)
            holder = ownership.holder() if self.fleet.joined else None
            if self.fleet.joined and (holder is None or not holder.shared or self._shared):
                who = f"process {holder.pid}" if holder else "another process"
                advice = "stop it first" if holder and holder.shared else "wait for it or stop it"
                raise ServicesBusy(
                    f"The services in {self.settings.data_dir} are run by {who}; {advice}. "
                    "Several crawls can share those of `sale-sofia up`."
                )
            self.cleanup_stale_processes()
            stack.enter_context(self.signals)
            stack.callback(self.stop_all)
            self._entered = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    @property
    def jobs(self) -> Sequence[str]:
        """Jobs begun or resumed so far, even if a signal came before the services were ready."""
        return tuple(self._jobs)

    def cleanup_stale_processes(self) -> list[int]:
        """Kill what a dead orchestrator left running in this data folder; returns the pids."""
        killed = self.fleet.cleanup_stale_processes()
        if not self.fleet.joined:
            killed += self.proxies.rotator.child.end_leftovers()
        if killed:
            self._say(f"ended what an earlier run left behind: processes {', '.join(map(str, killed))}")
        return killed

    def start_redis(self) -> str:
        """The URL of a Redis that answers. The one of REDIS_URL is never stopped and never emptied."""
        return self.with_room(self.fleet.start_redis)

    def start_celery(self) -> None:
        """Start worker and beat, and before them Redis and the database; returns when all are ready.

        Raises `SiteConfigError` for a wrong schedule, before anything is started.
        """
        if not self.fleet.joined:
            load_schedule(self.settings.data_dir)  # worker and beat would only die of it, again and again
        self.with_room(self._start_store)
        self.with_room(self.fleet.start_worker_and_beat)

    def _start_store(self) -> None:
        self.fleet.start_redis()
        initialize_database(self.database)

    def start_rotator(self) -> str:
        """Start the rotator, for tools that can use only one proxy, and before it Redis; its address."""
        return self.proxies.start_rotator()

    def trigger_proxy_refresh(self) -> str:
        """Let the workers check all proxies; returns the new job, or the running one."""
        return self.proxies.trigger_refresh()

    def wait_for_refresh_completion(
        self, job_id: str, timeout: float = START_WAIT_SECONDS
    ) -> RefreshProgress:
        """Wait for the end of a refresh; its final numbers. `RefreshStillOpen` if the time is up before."""
        return self.proxies.wait_for_refresh(job_id, timeout)

    def wait_for_proxies(self, timeout: float = START_WAIT_SECONDS) -> dict[str, int]:
        """Wait until each portal that uses proxies has MIN_PROXIES_TO_START ready; how many each has.

        Raises:
            ProxiesStillMissing: the time was up.
        """
        return self.proxies.wait_for_proxies(timeout)

    def stop_all(self) -> None:
        """Stop what was started here: rotator, beat, worker, Redis. Unfinished jobs are released."""

        def let_jobs_go() -> None:
            with suppress(RedisUnreachable):
                self.proxies.note_stats(known_redis_url(self.settings))
            try:
                for job_id in self._jobs:
                    self.database.run_write(partial(let_go, job_id=job_id, runner=CELERY))
            except DatabaseError as error:
                self._say(str(error))

        with ExitStack() as stack:
            stack.callback(self.fleet.stop_all, let_jobs_go)
            if not self.fleet.joined:
                stack.callback(self.proxies.rotator.stop)

    def start_site_scraping(
        self, site_name: str, start_urls: Sequence[str], *, limit: int | None = None, fresh: bool = False
    ) -> str:
        """Begin one portal's crawl; returns the id of its job, which exists already."""
        plan = JobPlan(get_scraper(site_name), tuple(start_urls), limit, fresh)
        return self.start_all_sites_scraping([plan])[site_name]

    def start_all_sites_scraping(
        self, sites: Mapping[str, Sequence[str]] | Sequence[JobPlan]
    ) -> dict[str, str]:
        """Begin the crawls of `{site: start URLs}`, or as planned; returns the job of each portal.

        `SiteBusy` where somebody else crawls one. Without start URLs they are the portal's own.
        """
        if isinstance(sites, Mapping):
            plans: Sequence[JobPlan] = [
                JobPlan(get_scraper(site), tuple(urls or start_urls_of(site)), limit=None, fresh=False)
                for site, urls in sites.items()
            ]
        else:
            plans = sites
        check_plans(plans)
        self.with_room(self._start_store)
        later = [plan for plan in plans if needs_proxies(plan.site.name)]
        jobs = self._begin([plan for plan in plans if plan not in later])
        self._wait_for_supply([plan.site.name for plan in later])
        jobs |= self._begin(later)
        return {plan.site.name: jobs[plan.site.name] for plan in plans}

    def _begin(self, plans: Sequence[JobPlan]) -> dict[str, str]:
        jobs = {plan.site.name: self._plan(plan_for_workers, plan) for plan in plans}
        if jobs:
            self._dispatch(list(jobs.values()))
        return jobs

    def _wait_for_supply(self, sites: Sequence[str]) -> None:
        """Wait for the proxies of these portals; with too few, their pages wait and nothing is requested."""
        if not sites:
            return
        self.start_celery()
        least = self.settings.min_proxies_to_start
        for site, ready in self.proxies.supply(sites, START_WAIT_SECONDS, self.supervise).items():
            if ready < least:
                self._say(f"{site}: {ready} of {least} proxies are ready; its pages wait for proxies")

    def resume(self, job_ids: Sequence[str]) -> None:
        """Continue unfinished jobs."""
        self.with_room(self._start_store)
        sites = [self.database.run_read(partial(known_job, job_id=job_id)).site for job_id in job_ids]
        self._wait_for_supply([site for site in sites if needs_proxies(site)])
        for job_id in job_ids:
            self._plan(resume_for_workers, job_id)
        self._dispatch(job_ids)

    def _plan(self, plan: Callable[..., str], subject: object) -> str:
        job_id = self.with_room(partial(plan, self.settings, self.database, subject))
        self._jobs.append(job_id)
        return job_id

    def _dispatch(self, job_ids: Sequence[str]) -> None:
        # Send while they start: the message waits for them in Redis.
        self.with_room(self.fleet.begin_worker_and_beat)
        self._publish([self.get_scraping_progress(job_id) for job_id in job_ids])
        jobs = [self.database.run_read(partial(known_job, job_id=job_id)) for job_id in job_ids]
        if not send_jobs(self.start_redis(), jobs):
            self._say("Redis did not take the message; the jobs begin a little later")
        self.start_celery()

    def get_scraping_progress(self, job_id: str) -> Progress:
        """A job's progress from the database, even long after its end; raises `UnknownJob`."""
        return self.database.run_read(partial(read_progress, job_id=job_id))

    def wait_for_scraping_completion(
        self, job_ids: Sequence[str], timeout: float, look: Look = _ignore
    ) -> Mapping[str, Progress]:
        """Wait until all jobs have ended; their final numbers. Services that die meanwhile are restarted.

        Raises `JobsStillOpen` when the time is up, `Interrupted` on a signal, and `ServiceDied` if a
        service keeps dying.
        """

        def read() -> dict[str, Progress]:
            return self.with_room(lambda: {job_id: self.get_scraping_progress(job_id) for job_id in job_ids})

        with closing(JobEvents(self.start_redis)) as events:
            ended = wait_for_jobs(read, events, timeout, look, self.supervise)
        # The database had the end first: publish it, so that readers of Redis find it too.
        self._publish(ended.values())
        return ended

    def _publish(self, jobs: Iterable[Progress]) -> None:
        """Publish progress if Redis accepts it: the database has the same numbers."""
        with suppress(RedisError), closing(connect(self.start_redis())) as client:
            for progress in jobs:
                publish(client, progress)

    def supervise(self) -> None:
        """Check the services once and restart what died. A signal raises `Interrupted`."""
        self.signals.check()
        self.with_room(self.fleet.supervise)
        self.rotator.supervise()

    def with_room(self, action: Callable[[], T]) -> T:
        """Run the action, which must be idempotent; on a full disk wait for room and repeat it.

        Raises:
            Interrupted: a signal came while it waited.
        """
        while True:
            try:
                self.fleet.room.check()
                result = action()
            except (DiskFull, OSError, ServiceUnavailable) as error:
                if not (isinstance(error, DiskFull) or is_full(error)):
                    raise
                self.fleet.room.tell_missing(error)
                time.sleep(SUPERVISE_SECONDS)
                self.signals.check()
            else:
                self.fleet.room.tell_found()
                return result
