"""A name that leads elsewhere at the second look, by a real resolver in a network of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rebinding
from command_server import COMMAND
from crawls import environment
from rebinding import INSIDE, NAME, PUBLIC


def test_a_name_that_comes_to_mean_this_machine_is_never_connected_to(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rmn", "true"], capture_output=True, check=False).returncode:  # noqa: S607
        pytest.skip("no network of its own can be had here")
    command = [
        str(COMMAND),
        "sites",
        "check",
        "imot.bg",
        "--url",
        f"http://{NAME}/obiava-1c100000000000000-a",
    ]
    more = {"FETCH_DNS_CACHE_SECONDS": "0", "DOMAIN_RATE_LIMITS": '{"imot.bg": 6000}'}
    told = subprocess.run(
        ["unshare", "-rmn", sys.executable, rebinding.__file__, tmp_path, *command],  # noqa: S607
        capture_output=True,
        text=True,
        env=environment(tmp_path / "data", more),
        check=True,
    )
    found = json.loads(told.stdout)
    assert found["looked_up"] == [PUBLIC, INSIDE]
    assert found["came"] == {PUBLIC: ["GET /robots.txt HTTP/1.1"], INSIDE: []}
    assert found["code"] == 2
    assert f"{NAME} leads to the private address {INSIDE}" in " ".join(found["said"].split())
