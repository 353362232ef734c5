"""The fleet of `bench/proxies.py`, with its portals and judge: a process of its own, told by a pipe."""

import asyncio
import multiprocessing
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from fleet_certificates import Certificates, make_certificates
from fleet_world import FleetWorld, fleet_world


@dataclass(frozen=True)
class Plan:
    """What the fleet is made of, and how often an address may ask the portals."""

    kinds: Mapping[str, int]
    seed: int
    folder: Path
    per_minute: int | None = None
    flaky_share: float = 0.7
    slow_seconds: float = 0.3


class FleetProcess:
    """The fleet from outside."""

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        told = self._hear()
        self.members: list[tuple[str, str, str]] = told["members"]
        """Address, kind, and host of each."""
        self.ports: dict[str, int] = told["ports"]
        self.ca: str = told["ca"]

    def _hear(self) -> Any:  # noqa: ANN401
        if not self._pipe.poll(60):
            raise RuntimeError("the fleet does not answer")
        return self._pipe.recv()

    def kill(self, hosts: set[str]) -> None:
        """Let these die at once."""
        self._pipe.send(("kill", hosts))
        self._hear()

    def sources(self) -> set[str]:
        """From where anybody connected to the portals."""
        self._pipe.send(("sources", None))
        found: set[str] = self._hear()
        return found


@contextmanager
def fleet_process(plan: Plan) -> Iterator[FleetProcess]:
    """A running fleet; afterwards it is gone."""
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    process = fork.Process(target=_serve, args=(theirs, plan), daemon=True)
    process.start()
    try:
        yield FleetProcess(ours)
    finally:
        process.kill()
        process.join()


def _serve(pipe: "Connection[Any, Any]", plan: Plan) -> None:
    asyncio.run(_run(pipe, plan, make_certificates(plan.folder)))


async def _run(pipe: "Connection[Any, Any]", plan: Plan, certificates: Certificates) -> None:
    async with fleet_world(certificates, plan.kinds, plan.seed) as world:
        world.origins.per_minute = plan.per_minute
        world.fleet.flaky_share, world.fleet.slow_seconds = plan.flaky_share, plan.slow_seconds
        world.fleet.most_per_member = 10**9
        members = [(one.address.secret_url, one.kind, one.host) for one in world.fleet.members]
        pipe.send({"members": members, "ports": world.ports, "ca": str(world.ca)})
        while True:
            if not pipe.poll():
                await asyncio.sleep(0.01)
                continue
            pipe.send(_obey(world, *pipe.recv()))


def _obey(world: FleetWorld, what: str, hosts: set[str] | None) -> object:
    if what == "sources":
        return world.origins.sources()
    for member in world.fleet.members:
        if hosts and member.host in hosts:
            member.alive = False
    return None
