"""Hosts on one machine: network namespaces with addresses of their own, and a switch that can cut them off.

Nothing of it is seen outside: the switch and every address are inside the namespaces. Each start has names of
its own, and takes them away at its end. Where namespaces are not permitted, hosts are groups of processes
with folders of their own on loopback; those can be killed, not cut off.
"""

import ctypes
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

_CLONE_NEWNET = 0x40000000
_numbers = itertools.count(1)


def why_not() -> str | None:
    """Why there can be no hosts on this machine; None when there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if missing := [name for name in ("ip", "unshare", "hostname") if not shutil.which(name)]:
        return f"{', '.join(missing)} is not installed"
    name = f"probe-{os.getpid()}"
    tried = _ip("netns", "add", name)
    if tried.returncode == 0:
        inside = subprocess.run(_enter(name, "probe", ["true"]), capture_output=True, text=True, check=False)
        _ip("netns", "del", name)
        return f"namespaces are not permitted: {inside.stderr.strip()}" if inside.returncode else None
    return f"namespaces are not permitted: {tried.stderr.strip()}"


def _ip(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)  # noqa: S607 - the system's


def _must(*words: str) -> None:
    done = _ip(*words)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def _enter(namespace: str, hostname: str, command: Sequence[str]) -> list[str]:
    """A command on a host: its own network, its own name, and process numbers that mean nothing elsewhere."""
    apart = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    named = ["sh", "-c", f'hostname {hostname} && exec "$@"', "sh"]
    return ["ip", "netns", "exec", namespace, *apart, *named, *command]


@dataclass(slots=True)
class Host:
    """One host. Killing it ends all its processes at once, as a pulled plug would."""

    name: str
    namespace: str | None
    address: str
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str], environ: Mapping[str, str]) -> Path:
        """Start a program on this host; gives the file of what it says."""
        path = self.folder / f"{name}{len(self.processes) + 1}.log"
        with path.open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    _enter(self.namespace, self.name, command) if self.namespace else list(command),
                    env=dict(environ),
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        return path

    def kill(self) -> None:
        """Nothing of it goes on."""
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Network:
    """Hosts `a`, `b`, `c` …; the first one has the switch."""

    def __init__(self, folder: Path, names: Sequence[str], *, apart: bool) -> None:
        number, process = next(_numbers), os.getpid()
        subnet = f"10.{200 + process % 50}.{(process // 50 + number) % 256}"
        self.hosts = {
            name: Host(name, f"sofia-{process}-{number}-{name}", f"{subnet}.{place}", folder / name)
            if apart
            else Host(name, None, "127.0.0.1", folder / name)
            for place, name in enumerate(names, start=1)
        }
        self.apart = apart
        self._first = self.hosts[names[0]]

    def make(self) -> None:
        """Folders, namespaces, the switch in the first, a cable from it to each other host."""
        for host in self.hosts.values():
            host.folder.mkdir(parents=True)
        if self.apart:
            self._make_namespaces()

    def _make_namespaces(self) -> None:
        for name in self._namespaces():
            _must("netns", "add", name)
            _must("-n", name, "link", "set", "lo", "up")
        switch = self._switch
        _must("-n", switch, "link", "add", "switch", "type", "bridge")
        _must("-n", switch, "addr", "add", f"{self._first.address}/24", "dev", "switch")
        _must("-n", switch, "link", "set", "switch", "up")
        for host in self.hosts.values():
            if host is not self._first:
                self._join(host, switch)

    def _namespaces(self) -> list[str]:
        return [host.namespace for host in self.hosts.values() if host.namespace]

    @property
    def _switch(self) -> str:
        assert self._first.namespace, "hosts without namespaces cannot be cut off"
        return self._first.namespace

    @staticmethod
    def _join(host: Host, switch: str) -> None:
        cable, namespace = f"to-{host.name}", str(host.namespace)
        _must("-n", switch, "link", "add", cable, "type", "veth", "peer", "name", "up0", "netns", namespace)
        _must("-n", switch, "link", "set", cable, "master", "switch", "up")
        _must("-n", namespace, "addr", "add", f"{host.address}/24", "dev", "up0")
        _must("-n", namespace, "link", "set", "up0", "up")

    def cut(self, name: str) -> None:
        """Nothing reaches the host any more, and it reaches nobody; no connection is told."""
        _must("-n", self._switch, "link", "set", f"to-{name}", "down")

    def mend(self, name: str) -> None:
        """The cable is in again."""
        _must("-n", self._switch, "link", "set", f"to-{name}", "up")

    def remove(self) -> None:
        """Kill what runs on the hosts, and take them away."""
        for host in self.hosts.values():
            host.kill()
        for name in self._namespaces():
            _ip("netns", "del", name)


@contextmanager
def network(folder: Path, names: Sequence[str]) -> Iterator[Network]:
    """The hosts, until the block ends, however it ends."""
    made = Network(folder, names, apart=why_not() is None)
    try:
        made.make()
        yield made
    finally:
        made.remove()


@contextmanager
def inside(host: Host) -> Iterator[None]:
    """This thread, and all that it starts, is on the host's network."""
    if host.namespace is None:
        yield
        return
    with Path("/proc/thread-self/ns/net").open("rb") as before:
        with Path(f"/run/netns/{host.namespace}").open("rb") as wanted:
            _set_network(wanted.fileno())
        try:
            yield
        finally:
            _set_network(before.fileno())


def _set_network(descriptor: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
