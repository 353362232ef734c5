"""The services of the parallel mode: up and down, and each Celery program by itself."""

import time
from functools import partial
from typing import Annotated

import typer

from sale_sofia.commands.console import log
from sale_sofia.commands.metrics import metrics_served
from sale_sofia.commands.saying import say
from sale_sofia.config.metrics import METRICS_HOST
from sale_sofia.config.services import FLOWER_HOST, FLOWER_USER, RUN_FOLDER, SUPERVISE_SECONDS
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.scraping.store import open_ready
from sale_sofia.services.celery_programs import (
    beat_command,
    become,
    flower_command,
    flower_environment,
    program_environment,
    worker_command,
)
from sale_sofia.services.disk_room import DiskRoom
from sale_sofia.services.logs import log_to_file
from sale_sofia.services.running_redis import known_redis_url, stop_unused_redis
from sale_sofia.services.stop_signals import Interrupted
from sale_sofia.services.taking_down import take_down


def up(
    flower: Annotated[
        bool, typer.Option("--flower/--no-flower", help="Also Flower, where FLOWER_PASSWORD is set.")
    ] = True,
) -> None:
    """Start Redis, a Celery worker, beat and Flower, and keep them until Ctrl-C or `sale-sofia down`."""
    settings = load_settings()
    with (
        Orchestrator(settings, shared=True, say=say) as services,
        metrics_served(settings, METRICS_HOST, settings.metrics_port) as metrics_url,
    ):
        services.with_room(partial(log_to_file, settings, "up"))
        try:
            services.start_celery()
            _print_running(services)
            if metrics_url:
                say(f"metrics: {metrics_url}")
            if flower:
                services.with_room(services.fleet.start_flower)
            while True:
                services.supervise()
                time.sleep(SUPERVISE_SECONDS)
        except Interrupted:
            say("stopping what was started; a second signal stops it at once")
    say("stopped")


def _print_running(services: Orchestrator) -> None:
    fleet = services.fleet
    say(f"running: Redis, worker (log: {fleet.worker.log}), beat (log: {fleet.beat.log})")
    say("crawl with `sale-sofia crawl --parallel`; stop with Ctrl-C, or with `sale-sofia down` elsewhere")


def down() -> None:
    """Stop the services that `sale-sofia up` runs on this DATA_DIR, and what a killed one left behind."""
    settings = load_settings()
    if take_down(settings):
        say("stopped")
        return
    with Orchestrator(settings, shared=True, say=say):
        stop_unused_redis(settings)
    say("nothing of `sale-sofia up` is left running")


def worker() -> None:
    """Be a Celery worker, on the Redis of REDIS_URL or of `sale-sofia up`, until Ctrl-C."""
    become(worker_command(), _environment(load_settings()))


def beat() -> None:
    """Be the Celery beat, which wakes waiting jobs and begins scheduled crawls, until Ctrl-C."""
    settings = load_settings()
    become(beat_command(settings.data_dir / RUN_FOLDER / "beat-schedule-by-hand"), _environment(settings))


def _environment(settings: Settings) -> dict[str, str]:
    DiskRoom(settings.data_dir, say).wait()  # who starts it again and again would give up at last
    url = known_redis_url(settings)
    open_ready(settings)
    (settings.data_dir / RUN_FOLDER).mkdir(mode=0o700, parents=True, exist_ok=True)
    return program_environment(settings, url)


def flower(
    port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Port to listen on; FLOWER_PORT without it.")
    ] = None,
    address: Annotated[
        str, typer.Option(help="Address to listen on; another than the default shows it to the network.")
    ] = FLOWER_HOST,
) -> None:
    """Be Flower, a page that shows the tasks of the workers; it needs FLOWER_PASSWORD."""
    settings = load_settings()
    environ = flower_environment(settings, known_redis_url(settings))
    door = settings.flower_port if port is None else port
    log.print(f"http://{address}:{door}, user {FLOWER_USER}", highlight=False)
    become(flower_command(address, door), environ)
