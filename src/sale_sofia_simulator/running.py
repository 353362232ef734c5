"""A simulator in a process of its own, for tests and demonstrations."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from select import select
from typing import Any, Self
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from sale_sofia.settings.programs import own_program
from sale_sofia_simulator.simulation import ADMIN, SimulatorConfig

_START_SECONDS = 60.0
_STOP_SECONDS = 5.0
_ADMIN_SECONDS = 60.0


class SimulatorFailed(RuntimeError):
    """The process did not start; what it said is on standard error."""


@dataclass(frozen=True, slots=True)
class RunningSimulator:
    """Leaves no process behind: it ends with the `with` block, and with this process whatever happens."""

    config: SimulatorConfig
    urls: dict[str, str]
    """The address of each site, like http://127.0.0.1:8701."""
    process: Any
    """A `Popen`, or what tests fork in its place."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def log(self) -> Path | None:
        """Where the requests are logged."""
        return self.config.log

    def start_urls(self, site: str, *, split: bool = False) -> list[str]:
        """Searches that together find each advert of the site exactly once."""
        return list(self._request(f"start-urls?split={int(split)}")[site])

    def advance(self) -> int:
        """Moves all portals to the next day and returns its number."""
        return int(self._request("advance", method="POST")["day"])

    def wear(self, *layouts: str) -> None:
        """From now on portals have these layouts, and the usual one where none is named."""
        self._request(f"layouts?{urlencode({'name': layouts}, doseq=True)}", method="POST")

    def stop(self) -> int:
        """Ends the process, by force if it does not listen, and returns its exit code."""
        self.process.terminate()
        try:
            self.process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        return int(self.process.returncode)

    def _request(self, command: str, method: str = "GET") -> dict[str, Any]:
        request = Request(next(iter(self.urls.values())) + ADMIN + command, method=method)  # noqa: S310 - our own
        with urlopen(request, timeout=_ADMIN_SECONDS) as answer:  # noqa: S310 - our own loopback address
            return dict(json.load(answer))


def start_in_process(config: SimulatorConfig) -> RunningSimulator:
    """Starts the simulator and returns once every site answers."""
    command = own_program("sale_sofia_simulator.server", config.as_json())
    process = subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        return RunningSimulator(config, _addresses(process), process)
    except BaseException:
        process.kill()
        process.communicate()
        raise


def _addresses(process: subprocess.Popen[str]) -> dict[str, str]:
    """The line that the process prints when it is ready."""
    output = process.stdout
    line = output.readline() if output and select([output], [], [], _START_SECONDS)[0] else ""
    if not line:
        raise SimulatorFailed("the simulator did not start; see what it printed on standard error")
    return dict(json.loads(line))
