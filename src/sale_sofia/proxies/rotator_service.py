"""The rotator in the background: our own program, or a mubeng of the user's, behind one adapter."""

import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sale_sofia.operations.services.celery import program_environment
from sale_sofia.operations.services.processes import TERMINATE, Child
from sale_sofia.operations.settings import (
    BEAT_STOP_SECONDS,
    LOG_FOLDER,
    RUN_FOLDER,
    SERVICE_POLL_SECONDS,
    SERVICE_START_SECONDS,
)
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.settings import FOLDER, ROTATOR_HOST
from sale_sofia.settings.errors import ServiceError
from sale_sofia.settings.model import Settings
from sale_sofia.settings.programs import own_program

_STEPS: Final = ((TERMINATE, BEAT_STOP_SECONDS),)
_MUBENG_LIST: Final = "mubeng.txt"


def never() -> bool:
    """Nobody asks for an end."""
    return False


@dataclass(frozen=True, slots=True)
class RotatorService:
    """One rotator of a data folder; starting it again changes nothing while it runs."""

    settings: Settings
    forced: Callable[[], bool] = never

    @property
    def child(self) -> Child:
        """Its process."""
        folder = self.settings.data_dir
        return Child("rotator", folder / RUN_FOLDER, folder / LOG_FOLDER / "rotator.log", self.forced)

    def start(
        self, redis_url: str, proxies: Sequence[Proxy] = (), check: Callable[[], None] = lambda: None
    ) -> str:
        """The address of a rotator at work; `proxies` are for mubeng, which cannot ask the pool.

        Raises:
            ServiceError: it does not come up.
        """
        child = self.child
        child.start(self._command(proxies), program_environment(self.settings, redis_url))
        end = time.monotonic() + SERVICE_START_SECONDS
        while not self._at_work(child):
            check()
            if not child.alive or time.monotonic() > end:
                raise ServiceError(f"The rotator did not start{child.last_words()}.")
            time.sleep(SERVICE_POLL_SECONDS)
        return f"http://{ROTATOR_HOST}:{self.settings.rotator_port}"

    def wait(self) -> None:
        """Until it ends by itself."""
        while self.child.alive:
            time.sleep(SERVICE_POLL_SECONDS)

    def stop(self) -> None:
        """Stop it, if it runs."""
        self.child.stop(_STEPS)

    def _at_work(self, child: Child) -> bool:
        if self.settings.mubeng_path is None:
            return child.ready
        return child.alive and _listens(self.settings.rotator_port)

    def _command(self, proxies: Sequence[Proxy]) -> list[str]:
        if self.settings.mubeng_path is None:
            return own_program("sale_sofia.proxies.rotator")
        return mubeng_command(self.settings.mubeng_path, self._write_list(proxies), self.settings)

    def _write_list(self, proxies: Sequence[Proxy]) -> Path:
        """The proxies in a file of their owner's: a program's arguments can be read by everybody."""
        folder = self.settings.data_dir / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = (folder / _MUBENG_LIST).absolute()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{proxy.address.secret_url}\n" for proxy in proxies)
        return path


def mubeng_command(binary: Path, listed: Path, settings: Settings) -> list[str]:
    """How mubeng is called: a new proxy for every request, as its own rotation after N is broken."""
    if not os.access(binary, os.X_OK):
        raise ServiceError(f"MUBENG_PATH: {binary} is no program that can be run.")
    if not listed.stat().st_size:
        raise ServiceError("The pool is empty, and mubeng cannot start without proxies.")
    place = f"{ROTATOR_HOST}:{settings.rotator_port}"
    timeout = f"{settings.proxy_timeout:g}s"
    return [str(binary), "-a", place, "-f", str(listed), "-m", "random", "-r", "1", "-t", timeout]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((ROTATOR_HOST, port)) == 0
