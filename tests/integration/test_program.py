"""The installed program itself, once for each group of commands: elsewhere its commands are forked."""

import subprocess
from pathlib import Path

import pytest

from command_server import COMMAND
from crawls import PATIENCE_SECONDS, environment
from sale_sofia.cli.main import CONTENTS

ONE_OF_EACH = {
    "Begin here": (["settings"], "DATABASE_PASSWORD_FILE"),
    "Find a flat": (["search", "--limit", "3"], "€"),
    "Decide on it": (["shortlist"], "0 properties on the shortlist"),
    "Watch the crawls": (["jobs", "--json"], '"state": "COMPLETE"'),
    "Portals, pages and texts": (["sites", "list"], "suprimmo.bg"),
    "Run it for long": (["proxies", "list"], "no proxies are known"),
    "Keep it safe": (["db", "check"], "sound"),
}


def program(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments],
        env=environment(data, {}),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def test_no_group_is_left_out() -> None:
    assert set(ONE_OF_EACH) == set(CONTENTS)


@pytest.mark.parametrize("group", ONE_OF_EACH)
def test_a_command_of_each_group(demo_copy: Path, group: str) -> None:
    arguments, word = ONE_OF_EACH[group]
    told = program(demo_copy, *arguments)
    assert told.returncode == 0, told.stderr
    assert word in told.stdout + told.stderr


def test_it_ends_as_it_says(tmp_path: Path) -> None:
    wrong = program(tmp_path, "jobs", "--limit", "none")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "No such option: --limit" in wrong.stderr
