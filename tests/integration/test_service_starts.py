"""`sale-sofia up` while it starts: who is killed is started again at once, and a signal is heard."""

import os
import signal
from pathlib import Path

import pytest

from crawls import fork
from hurried_services import forked_programs
from parallel_crawls import PATIENCE_SECONDS, QUICK, running_in, until, wait_until_running, wait_until_said
from sale_sofia.operations.services.processes import Child, Process
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.model import load_settings

SERVICES = {"Redis": "-server 127.0.0.1", "the worker": "--quiet worker", "the beat": "--quiet beat"}


def pid_of(data: Path, who: str) -> int | None:
    """The process of this service, once it is there."""
    found = [pid for pid, told in running_in(data).items() if SERVICES[who] in told]
    return min(found, default=None)


def kill_at_its_start(data: Path, who: str) -> None:
    victims: list[int] = []

    def seen() -> bool:
        found = pid_of(data, who)
        victims.extend([found] if found else [])
        return bool(victims)

    until(seen, f"{who} is started")
    os.kill(victims[0], signal.SIGKILL)  # not looked for again: a service gives itself another name meanwhile


def test_who_is_killed_while_all_start_is_started_again(tmp_path: Path) -> None:
    process = fork(tmp_path, "up", "--no-flower", **QUICK)
    try:
        for who in SERVICES:
            kill_at_its_start(tmp_path, who)
        said = [line for line in wait_until_running(process) if "died" in line]
        told = {f"{who} died; started again\n" for who in SERVICES}
        for late in told - set(said):  # one that died just as all were at work is told of afterwards
            said.append(late)
            wait_until_said(process, late)
        assert sorted(said) == sorted(told)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert running_in(tmp_path) == {}


def test_who_dies_while_all_are_looked_at_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    victims: list[Process | None] = []
    look = Child.put_log_aside

    def die_after(child: Child, *beyond: int) -> None:
        look(child, *beyond)
        if child.name == "beat" and not victims:
            victim = child.process
            victims.append(victim)
            assert victim is not None
            victim.send(signal.SIGKILL)
            assert victim.gone_within(PATIENCE_SECONDS)

    for name, value in {**QUICK, "DATA_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    with forked_programs(), Orchestrator(load_settings(), say=said.append) as services:
        services.start_celery()
        monkeypatch.setattr(Child, "put_log_aside", die_after)
        services.supervise()
        services.supervise()
    assert said == ["the beat died; started again"]


@pytest.mark.parametrize("who", ["Redis", "the beat"])
def test_a_signal_is_heard_while_all_start(tmp_path: Path, who: str) -> None:
    process = fork(tmp_path, "up", "--no-flower", **QUICK)
    until(lambda: pid_of(tmp_path, who), f"{who} is started")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert said.splitlines()[-1] == "stopped"
    assert "running:" not in said
    assert process.returncode == 0
    assert running_in(tmp_path) == {}
