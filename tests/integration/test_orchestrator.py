"""The orchestrator: what it starts runs, what dies is started again, and a foreign Redis stays as it was."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr

from celery_server import server_variables
from crawls import differences, fork, stored, truth
from forked_simulators import start_forked
from hurried_services import forked_programs
from parallel_crawls import QUICK, running_in, until, wait_until_running
from parallel_world import HURRIED
from ready_files import put_ready_file
from sale_sofia.crawl.frontier.jobs import known_job
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners.dispatching import ScrapingKeys
from sale_sofia.operations.services.processes import Interrupted, Process
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.operations.settings import SERVICE_SILENT_SECONDS
from sale_sofia.orchestrator import JobsStillOpen, Orchestrator
from sale_sofia.settings.model import DATABASE_FILE, Settings, load_settings
from sale_sofia.websites.registry import get_scraper
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    put_ready_file(tmp_path / "data" / DATABASE_FILE)
    rate = json.dumps({"imot.bg": 600})  # a crawl lasts some seconds
    for name, value in {**QUICK, "DOMAIN_RATE_LIMITS": rate, "DATA_DIR": str(tmp_path / "data")}.items():
        monkeypatch.setenv(name, value)
    return load_settings()


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[RunningSimulator]:
    config = SimulatorConfig(sites=("imot.bg",), properties=30, seed=5, port=0, truth=tmp_path / "truth")
    with start_forked(config) as running:
        yield running


@pytest.fixture
def forked() -> Iterator[None]:
    with forked_programs():
        yield


def others(settings: Settings) -> dict[int, str]:
    return running_in(settings.data_dir)


def kill(process: Process | None) -> None:
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    assert process.gone_within(10)


@pytest.mark.usefixtures("forked")
def test_what_dies_or_hangs_is_started_again_and_nothing_is_lost(
    settings: Settings, simulator: RunningSimulator
) -> None:
    """Redis dies, and forgets everything, while both others hang; those die in test_service_starts.py."""
    said: list[str] = []
    with Orchestrator(settings, say=said.append) as services:
        url = services.start_redis()
        assert services.start_redis() == url
        services.start_celery()
        running = set(others(settings))
        services.start_celery()
        assert set(others(settings)) == running
        started = services.start_all_sites_scraping({"imot.bg": simulator.start_urls("imot.bg")})
        job_id = started["imot.bg"]
        # A worker that reads the message has the portal to itself for a moment.
        until(lambda: services.get_scraping_progress(job_id).started_at, "the job's start")
        assert services.start_site_scraping("imot.bg", simulator.start_urls("imot.bg")) == job_id
        with pytest.raises(JobsStillOpen, match=f"Not ended after 0.1 s: {job_id} \\([A-Z]+\\)\\."):
            services.wait_for_scraping_completion([job_id], 0.1)
        until(lambda: services.get_scraping_progress(job_id).result_count > 5, "some pages")
        hanging = stop_celery(services)
        kill_redis(services)
        shutil.rmtree(settings.data_dir / "redis" / "appendonlydir")
        services.fleet.liveness.silent_seconds = 5.0
        until(lambda: seen_to(services, said) == 5, f"all are replaced: {said}")
        services.fleet.liveness.silent_seconds = SERVICE_SILENT_SECONDS
        assert not any(process.alive for process in hanging)
        ended = services.wait_for_scraping_completion([job_id], 120)
        assert services.start_redis() == url
        assert ended[job_id].status == "COMPLETE"
        assert services.get_scraping_progress(job_id) == ended[job_id]
        with redis.Redis.from_url(url, decode_responses=True) as client:
            shown = [client.get(ScrapingKeys(key).of(job_id)) for key in ("status", "completed_at")]
        assert shown == ["COMPLETE", str(ended[job_id].completed_at)]
    died = [f"{name} died; started again" for name in ("the worker", "the beat", "Redis")]
    assert sorted(said) == sorted([*died, "the worker hangs", "the beat hangs"])
    assert others(settings) == {}
    assert differences(stored(settings.data_dir), truth(simulator)) == {}


def kill_redis(services: Orchestrator) -> None:
    server = RedisServer.find(services.settings.data_dir / "redis")
    assert server is not None
    kill(server.process)


def stop_celery(services: Orchestrator) -> list[Process]:
    """Worker and beat do nothing more, and do not end."""
    found = [one for one in (services.fleet.worker.process, services.fleet.beat.process) if one]
    for process in found:
        os.kill(process.pid, signal.SIGSTOP)
    assert len(found) == 2
    return found


def seen_to(services: Orchestrator, said: list[str]) -> int:
    """How many different things it has said after one more look."""
    services.supervise()
    return len(set(said))


@pytest.mark.usefixtures("forked")
def test_a_foreign_redis_a_lost_message_and_a_signal(
    settings: Settings, simulator: RunningSimulator, redis_url: str
) -> None:
    foreign = settings.model_copy(update={"redis_url": SecretStr(redis_url)})
    client = redis.Redis.from_url(redis_url, decode_responses=True)
    client.set("somebody's", "data")
    plan = JobPlan(get_scraper("imot.bg"), tuple(simulator.start_urls("imot.bg")), 100, fresh=False)
    with Orchestrator(foreign) as services:
        assert services.start_redis() == redis_url
        services.start_celery()
        # The job is planned, and no message ever comes: the reconciler begins it.
        job_id = plan_for_workers(services.settings, services.database, plan)
        until(lambda: services.get_scraping_progress(job_id).started_at, "the job's start")
        services.resume([job_id])
        assert client.get(ScrapingKeys.STATUS.of(job_id)), "who only reads Redis sees the job from its start"
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interrupted):
            services.wait_for_scraping_completion([job_id], 60)
    assert others(settings) == {}
    job = services.database.run_read(partial(known_job, job_id=job_id))
    assert job.state.finished or job.runner is None
    assert client.get("somebody's") == "data"
    client.close()


def test_what_a_killed_orchestrator_left_is_cleaned_up(settings: Settings) -> None:
    with fork(settings.data_dir, "up", "--no-flower", **server_variables(HURRIED)) as first:
        wait_until_running(first)
        first.kill()
    assert sum("celery" in command for command in others(settings).values()) >= 4
    with Orchestrator(settings) as services:
        assert ["celery" in command for command in others(settings).values()] == [False]  # Redis
        services.start_redis()
    assert others(settings) == {}
