"""The dashboard's server as a child process: started, waited for, and never left behind."""

import ipaddress
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import httpx

from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.processes import StopSignals, last_words
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings
from sale_sofia.settings.programs import own_program
from sale_sofia.telemetry.logs import rotate_log
from sale_sofia.telemetry.settings import LOG_FOLDER

_FOLDER: Final = Path(__file__).parent
"""The server's working directory, so that nothing of the user's folder is read or imported."""
_NEAREST: Final = {"0.0.0.0": fixed.DASHBOARD_HOST, "::": "::1"}  # noqa: S104 - not listened on here
"""Where a server that listens on every address of a family is asked; on `::` it hears no IPv4."""


class DashboardNotStarted(ServiceUnavailable):
    """The dashboard cannot be served; the message says why."""


@dataclass(frozen=True, slots=True)
class DashboardServer:
    """A running server; it ends with the `with` block, and in any case with this process."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    log: Path

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_ready(self, signals: StopSignals) -> None:
        """Return once it answers; raises DashboardNotStarted or Interrupted."""
        end = time.monotonic() + fixed.DASHBOARD_START_SECONDS
        url = replace(self, host=_NEAREST.get(self.host, self.host)).url
        with httpx.Client(base_url=url, timeout=fixed.DASHBOARD_ASK_SECONDS, trust_env=False) as client:
            while True:
                with suppress(httpx.HTTPError):
                    if client.get("/healthz").is_success:
                        return
                signals.check()
                if self.process.poll() is not None or time.monotonic() > end:
                    raise DashboardNotStarted(f"the dashboard did not start{last_words(self.log)}")
                time.sleep(fixed.DASHBOARD_POLL_SECONDS)

    def wait(self, signals: StopSignals) -> None:
        """Wait until a signal asks for the end; raises DashboardNotStarted if the server ends first."""
        while not signals.requested:
            rotate_log(self.log)
            if self.process.poll() is not None:
                raise DashboardNotStarted(f"the dashboard ended by itself{last_words(self.log)}")
            time.sleep(fixed.DASHBOARD_POLL_SECONDS)

    def stop(self) -> None:
        """Terminate it, and kill it if it does not end in time."""
        self.process.terminate()
        try:
            self.process.wait(fixed.DASHBOARD_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


def start_dashboard(settings: Settings, host: str, port: int, environ: Mapping[str, str]) -> DashboardServer:
    """Start the server on this address; `wait_ready` says when it answers."""
    folder = settings.data_dir / LOG_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"dashboard-{port}.log"
    rotate_log(path, 0)
    with path.open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - our own module
            own_program("sale_sofia.app.server", host, str(port)),
            stdin=subprocess.PIPE,  # it ends when the pipe closes, however we die
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=_FOLDER,
            env={**environ, **fixed.DASHBOARD_ENVIRONMENT},
            start_new_session=True,  # Ctrl-C at the terminal reaches only us
        )
    return DashboardServer(process, host, port, path)


def checked_host(host: str, settings: Settings) -> str:
    """The address to listen on; raises DashboardNotStarted."""
    try:
        address = ipaddress.ip_address(fixed.DASHBOARD_HOST if host == "localhost" else host)
    except ValueError:
        raise DashboardNotStarted(
            f"--host: {host!r} is no address; give one of this machine's, "
            f"such as {fixed.DASHBOARD_HOST} or 0.0.0.0"
        ) from None
    if not address.is_loopback and settings.dashboard_password is None:
        raise DashboardNotStarted(
            f"DASHBOARD_PASSWORD: not set; on {host} others could read and change everything, "
            "so the dashboard does not start there without a password"
        )
    return str(address)


def free_port(host: str, requested: int | None) -> int:
    """The requested port, or DashboardNotStarted; without one the usual port if free, else any free one."""
    if requested is None:
        return bound_port(host, fixed.DASHBOARD_PORT) or free_port(host, 0)
    port = bound_port(host, requested)
    if port is None and requested == 0:
        raise DashboardNotStarted(f"no port is free on {host}; end a program that listens there")
    if port is None:
        raise DashboardNotStarted(
            f"--port: {requested} cannot be had on {host}, another program may listen there; "
            "give another one, or 0 for any that is free"
        )
    return port


def bound_port(host: str, port: int) -> int | None:
    """The port, or any free one for 0, if we can listen on it; None if another program does."""
    if port > fixed.LAST_PORT:
        return None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as listening:
            return int(listening.getsockname()[1])
    except OSError:
        return None
