"""The command line and environment of each Celery program."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from pydantic import SecretStr

from sale_sofia.crawl.settings import APP_NAME, BROKER_CONNECT_SECONDS, BROKER_SOCKET_SECONDS
from sale_sofia.descriptions.settings import LLM_QUEUE
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.processes import QUIT, TERMINATE
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings, environment_of
from sale_sofia.settings.programs import own_program

if TYPE_CHECKING:
    from celery import Celery

_CELERY: Final = (*own_program("sale_sofia.celery_program"), "-A", "sale_sofia.celery_app")
_QUIET: Final = (*_CELERY, "--quiet")
"""Without the banner, which is no log line."""
WORKER_STEPS: Final = ((TERMINATE, fixed.WORKER_STOP_SECONDS), (QUIT, fixed.WORKER_QUIT_SECONDS))
BEAT_STEPS: Final = ((TERMINATE, fixed.BEAT_STOP_SECONDS),)


def worker_command() -> list[str]:
    """A worker with a name of its own; it does not talk to other workers, which would only cost time."""
    name = ("--hostname", f"{APP_NAME}-{os.getpid()}@%h")
    return [*_QUIET, "worker", "-Q", APP_NAME, "--without-gossip", "--without-mingle", *name]


def enricher_command() -> list[str]:
    """A worker of one process that reads descriptions and does nothing else."""
    name = ("--hostname", f"{LLM_QUEUE}-{os.getpid()}@%h", "--concurrency", "1")
    return [*_QUIET, "worker", "-Q", LLM_QUEUE, "--without-gossip", "--without-mingle", *name]


def beat_command(memory: Path) -> list[str]:
    """Beat, which records its last runs in this file; no two may share one."""
    return [*_QUIET, "beat", "--schedule", str(memory.absolute())]


def flower_command(address: str, port: int) -> list[str]:
    """Flower, without the `flowerconfig.py` of the working directory, which it would execute."""
    return [*_CELERY, "flower", f"--address={address}", f"--port={port}", f"--conf={os.devnull}"]


def flower_environment(settings: Settings, url: str) -> dict[str, str]:
    """The environment of Flower, with its password: every user could read one in the arguments."""
    if settings.flower_password is None:
        raise ServiceUnavailable(
            "FLOWER_PASSWORD: not set; Flower can stop tasks, so it does not start without a password"
        )
    login = f"{fixed.FLOWER_USER}:{settings.flower_password.get_secret_value()}"
    return {**program_environment(settings, url), "FLOWER_BASIC_AUTH": login}


def program_environment(settings: Settings, url: str) -> dict[str, str]:
    """Our environment with these settings in it, in parallel mode, on this Redis."""
    update = {"redis_url": SecretStr(url), "parallel_scraping": True}
    return environment_of(settings.model_copy(update=update), os.environ)


def become(command: Sequence[str], environ: Mapping[str, str]) -> NoReturn:
    """Replace this process by the program; pid and terminal stay."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], list(command), dict(environ))  # noqa: S606 - our own programs


def sender(redis_url: str) -> "Celery":
    """An app that only sends; unlike `celery_app` it reads no settings."""
    # Celery is slow to import, and most commands do not need it.
    from celery import Celery  # noqa: PLC0415
    from kombu import Queue  # noqa: PLC0415

    app = Celery(APP_NAME, broker=redis_url, set_as_current=False)
    app.conf.update(
        task_default_queue=APP_NAME,
        task_queues=(Queue(APP_NAME),),
        task_ignore_result=True,
        broker_transport_options={
            "socket_timeout": BROKER_SOCKET_SECONDS,
            "socket_connect_timeout": BROKER_CONNECT_SECONDS,
        },
    )
    return app
