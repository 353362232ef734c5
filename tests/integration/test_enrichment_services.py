"""Enrichment in the parallel mode: its own queue and worker, and an Ollama started only when asked for."""

import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from sqlalchemy import Connection, select

from celery_server import spawn_forked
from crawls import FAST, crawl_arguments, run
from forked_simulators import start_forked
from ollama_server import LoopbackOllama
from parallel_world import team
from sale_sofia.celery_app import configuration
from sale_sofia.descriptions.settings import LLM_QUEUE
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.history.listings import save_listing
from sale_sofia.listings.model import Listing
from sale_sofia.operations.services.celery import enricher_command
from sale_sofia.operations.services.fleet import OllamaService, is_answering
from sale_sofia.operations.services.processes import Child
from sale_sofia.operations.services.redis import connect
from sale_sofia.settings.model import Settings
from sale_sofia_simulator.simulation import SimulatorConfig

TASK = "sale_sofia.descriptions.tasks.enrich_descriptions"
RECONCILE = "sale_sofia.crawl.runners.tasks.reconcile"
TEXT = "Светло жилище. Ремонтът е правен наскоро."
TRUTH = {"condition": {"value": "renovated", "quote": "Ремонтът е правен наскоро"}}


def wait_for(what: Callable[[], Any], seconds: float = 60.0) -> Any:  # noqa: ANN401
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def test_a_worker_of_its_own_reads_and_asks(tmp_path: Path) -> None:
    with (
        LoopbackOllama(TRUTH) as server,
        team(tmp_path, 1, LLM_ENABLED="true", OLLAMA_URL=server.url) as members,
    ):
        with members.database.write() as connection:
            listing = Listing(site="imot.bg", external_id="a", url="https://imot.bg/a", description=TEXT)
            save_listing(connection, listing, seen_at=1.0, job_id=None, page_digest=None)
        with Celery(broker=members.redis.url) as sender, connect(members.redis.url) as redis:
            sender.send_task(TASK, queue=LLM_QUEUE)
            assert (redis.llen(LLM_QUEUE), redis.llen("sale_sofia")) == (1, 0)
        worker = spawn_forked({}, enricher_command(), tmp_path / "enricher.log", environ=members.environment)
        try:
            attributes = wait_for(lambda: members.database.run_read(_answered))
        finally:
            worker.send(signal.SIGTERM)
            assert worker.gone_within(30)
    assert attributes["condition"]["method"] == "model"


def _answered(connection: Connection) -> Any:  # noqa: ANN401
    attributes = connection.scalars(select(description_reads.c.attributes)).first()
    return attributes if attributes and "condition" in attributes else None


def test_the_task_has_a_queue_and_limits_of_its_own(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    beats = {}
    for enabled in ("true", "false"):
        monkeypatch.setenv("LLM_ENABLED", enabled)
        with Celery(set_as_current=False) as app:
            app.conf.update(configuration())
            queues = [app.amqp.router.route({}, name)["queue"].name for name in (TASK, RECONCILE)]
            beats[enabled] = set(app.conf.beat_schedule)
        assert queues == [LLM_QUEUE, "sale_sofia"]
    assert beats["true"] - beats["false"] == {"enrich"}


def test_a_crawl_never_asks_the_model(tmp_path: Path) -> None:
    config = SimulatorConfig(properties=12, seed=5, port=0)
    with LoopbackOllama(TRUTH, "slow") as server, start_forked(config) as simulator:
        done = run(
            tmp_path,
            *crawl_arguments(simulator, "imot.bg"),
            LLM_ENABLED="true",
            OLLAMA_URL=server.url,
            **FAST,
        )
    assert done.returncode == 0, done.stderr
    assert (server.questions, server.health_checks) == ([], 0)


FAKE = """\
    #!{python}
    import http.server, os
    host, port = os.environ["OLLAMA_HOST"].split(":")
    class Tags(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "13")
            self.end_headers()
            self.wfile.write(b'{{"models":[]}}')
    http.server.HTTPServer((host, int(port)), Tags).serve_forever()
"""


@pytest.fixture
def said() -> list[str]:
    return []


def service(tmp_path: Path, url: str, said: list[str]) -> OllamaService:
    child = Child("ollama", tmp_path / "run", tmp_path / "logs" / "ollama.log")
    return OllamaService(Settings(ollama_url=url), child, said.append)


def free_url() -> str:
    with LoopbackOllama({}) as server:
        return server.url


def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bin" / "ollama"
    program.parent.mkdir()
    program.write_text(textwrap.dedent(script), "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def test_ollama_is_started_and_what_was_started_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    install(tmp_path, monkeypatch, FAKE.format(python=sys.executable))
    ollama = service(tmp_path, free_url(), said)
    assert ollama.start()
    assert ollama.start()  # one that runs is left as it is
    assert is_answering(ollama.settings.ollama_url)
    ollama.stop()
    assert not is_answering(ollama.settings.ollama_url)
    assert said == []


def test_an_ollama_of_somebody_else_is_used_and_left_alone(tmp_path: Path, said: list[str]) -> None:
    with LoopbackOllama({}) as server:
        ollama = service(tmp_path, server.url, said)
        assert ollama.start()
        ollama.stop()
        assert is_answering(server.url)


def test_without_ollama_it_is_said_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not service(tmp_path, free_url(), said).start()
    assert said == ["there is no `ollama` on this machine; descriptions are read by the rules alone"]


def test_an_ollama_that_dies_at_once_is_said_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    install(tmp_path, monkeypatch, f"#!{sys.executable}\nraise SystemExit('no GPU')\n")
    assert not service(tmp_path, free_url(), said).start()
    assert "no GPU" in said[0]
