"""What all workers share, shown and changed by a person while it is in use."""

import asyncio
import json
from pathlib import Path

import pytest

from crawls import run
from sale_sofia.cli.progress import moment
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.settings.model import load_settings

SHARED = {"REDIS_CIRCUIT_BREAKER_ENABLED": "true", "REDIS_RATE_LIMITER_ENABLED": "true"}


async def second_wait(redis_url: str) -> float:
    """How long the second request in a row has to wait; each is given back."""
    gate = get_gate(load_settings(), lambda _: 60.0, lambda _: 9, redis_url)
    entries = [await gate.admit("imot.bg", 1e6) for _ in range(2)]
    for entry in entries:
        assert isinstance(entry, Admission)
        await gate.report(entry, Outcome.neutral())
    await gate.close()
    last = entries[-1]
    assert not isinstance(last, Refusal)
    return last.wait_seconds


def test_a_rate_changed_by_command_holds_for_workers_at_once(
    tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SHARED.items():
        monkeypatch.setenv(name, value)
    assert run(tmp_path, "rate", "imot.bg", "6", REDIS_URL=redis_url).returncode == 0
    assert 9 < asyncio.run(second_wait(redis_url)) <= 10
    told = run(tmp_path, "rate", "imot.bg", REDIS_URL=redis_url)
    assert (told.returncode, told.stderr.strip()) == (0, "imot.bg: as configured")


@pytest.mark.parametrize("wrong", ["0", "nan", "1e12"])
def test_an_absurd_rate_is_refused(tmp_path: Path, redis_url: str, wrong: str) -> None:
    told = run(tmp_path, "rate", "imot.bg", wrong, REDIS_URL=redis_url)
    assert told.returncode == 2
    assert "allowed are requests per minute above 0" in told.stderr


def test_circuits_are_shown(tmp_path: Path, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SHARED.items():
        monkeypatch.setenv(name, value)

    async def fail() -> None:
        gate = get_gate(load_settings(), lambda _: 60_000.0, lambda _: 9, redis_url)
        for _ in range(5):
            entry = await gate.admit("imot.bg", 10)
            assert isinstance(entry, Admission)
            await gate.report(entry, Outcome.blocked("captcha"))
        await gate.close()

    asyncio.run(fail())
    told = run(tmp_path, "circuits", "--json", REDIS_URL=redis_url)
    circuit = json.loads(told.stdout)["circuits"]["imot.bg"]
    assert (circuit["state"], circuit["last_block"], circuit["allowed"]) == ("OPEN", "captcha", 5)
    shown = run(tmp_path, "circuits", REDIS_URL=redis_url).stdout
    since, again = (moment(circuit[at]) for at in ("opened_at", "retry_at"))
    assert f"imot.bg  open     {since}  {again} " in shown


def test_without_a_redis_it_is_said(tmp_path: Path) -> None:
    told = run(tmp_path, "rate", "imot.bg", "6")
    assert told.returncode == 2
    assert "start one with `sale-sofia up`, or set REDIS_URL" in told.stderr
