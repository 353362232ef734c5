"""Passwords guessed at a running dashboard: slowed down, whatever the guesser says of its address."""

import math
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dashboards import Served, running_dashboard
from listening import NO_TLS

PASSWORD = "correct horse"  # noqa: S105 - of this test
TRIES = 40
LONGEST_TOGETHER = 10
"""Seconds that a stranger waits at most for what others tried."""
BEHIND_A_PROXY = {"x-forwarded-proto": "https"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Behind a proxy at 127.0.0.9, which it was told of."""
    data: Path = tmp_path_factory.mktemp("guarded")
    settings = {"DASHBOARD_PASSWORD": PASSWORD, "DASHBOARD_TRUSTED_PROXIES": "10.9.0.0/16, 127.0.0.9"}
    # What another program's settings say does not count.
    with running_dashboard(data, **settings, FORWARDED_ALLOW_IPS="*") as running:
        yield running


def give(guarded: Served, password: str, source: str, headers: dict[str, str]) -> httpx.Response:
    """The form with this password, from this address of the machine."""
    way = httpx.HTTPTransport(local_address=source, verify=NO_TLS)
    with httpx.Client(transport=way, trust_env=False) as browser:
        return browser.post(guarded.url, data={"password": password}, headers=headers)


def guess(guarded: Served, source: str, addresses: Iterator[str]) -> tuple[int, int]:
    """How many of many quick guesses were looked at, each of which says that it is of another address.

    And how many could be at most: waits are doubled, up to the longest for what all strangers tried.
    """
    began, looked_at = time.monotonic(), 0
    for _ in range(TRIES):
        answer = give(guarded, "wrong horse", source, {"x-forwarded-for": next(addresses)})
        looked_at += answer.status_code == 401
    seconds = time.monotonic() - began
    return looked_at, 1 + int(math.log2(1 + seconds)) + int(seconds / LONGEST_TOGETHER)


def test_only_a_proxy_that_was_named_is_believed(guarded: Served) -> None:
    answers = {source: _admitted(guarded, source) for source in ("127.0.0.9", "127.0.0.1")}
    assert "Secure" in answers["127.0.0.9"].headers["set-cookie"]
    assert "Secure" not in answers["127.0.0.1"].headers["set-cookie"]


def _admitted(guarded: Served, source: str) -> httpx.Response:
    """Strangers may have to wait for what was guessed before, and not for ever."""
    while (answer := give(guarded, PASSWORD, source, BEHIND_A_PROXY)).status_code == 429:
        time.sleep(int(answer.headers["retry-after"]))
    return answer


def test_who_makes_up_addresses_is_slowed_down_and_keeps_nobody_out(guarded: Served) -> None:
    looked_at, most = guess(guarded, "127.0.0.1", (f"10.1.0.{one}" for one in range(TRIES)))
    assert 1 <= looked_at <= most < TRIES
    # Through a proxy that is believed, or was made up beyond it, guesses are slowed down together.
    looked_at, most = guess(guarded, "127.0.0.9", (f"10.2.0.{one}, 10.9.0.1" for one in range(TRIES)))
    assert looked_at <= most < TRIES
    owner = give(guarded, PASSWORD, "127.0.0.3", {})
    assert owner.status_code == 429
    assert int(owner.headers["retry-after"]) <= LONGEST_TOGETHER
