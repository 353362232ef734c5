"""docs/adding-a-portal.md, followed to the letter: its pages, its commands, its crawl."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_server import shared_commands
from listening import free_port
from sale_sofia.cli.sites import write_site
from sale_sofia.settings.files import read_yaml
from sale_sofia.websites.site_file import load_site_config, merge

GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-portal.md"
BLOCK = re.compile(r"```(?P<kind>\w+)(?: (?P<name>[\w.-]+))?\n(?P<text>.*?)```", re.DOTALL)
PORT = "8799"
ONLY_PYTEST = {"PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""For the test that the guide has written: it is run without what this one is run with."""
START_SECONDS = 60


def blocks(kind: str, name: str | None = None) -> list[re.Match[str]]:
    found = [block for block in BLOCK.finditer(GUIDE.read_text("utf-8")) if block["kind"] == kind]
    return [block for block in found if name is None or block["name"] == name]


def typed(blocks_of_commands: list[re.Match[str]], folder: Path, port: int) -> list[list[str]]:
    """The words of each line, as a shell in this folder understands them."""
    text = "\n".join(block["text"] for block in blocks_of_commands).replace(PORT, str(port))
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    return [shlex.split(line.replace("$PWD", str(folder))) for line in lines]


@contextmanager
def in_background(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """A server the guide starts in another window."""
    assert command.pop(0) == "python"
    with subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(port)
            yield
        finally:
            process.kill()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("the guide's server did not start")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder and the output after every step of the guide."""
    folder, port = tmp_path_factory.mktemp("guide"), free_port()
    for block in blocks("html"):
        (folder / block["name"]).write_text(block["text"], "utf-8")
    commands = [block for block in blocks("console") if block["name"] is None]
    (server,) = typed(blocks("console", "background"), folder, port)
    with in_background(server, folder, port):
        return folder, follow(typed(commands, folder, port), folder)


def follow(commands: list[list[str]], folder: Path) -> str:
    """What all commands print, each of which goes well; none waits for the start of its libraries."""
    environ = {**os.environ, "COLUMNS": "150", **ONLY_PYTEST}
    printed = ""
    for program, *words in commands:
        if program == "export":
            environ |= dict(word.split("=", 1) for word in words)
            continue
        if program == "sed":
            subprocess.run([program, *words], cwd=folder, check=True)
            continue
        module = {"python": words[1], "sale-sofia": "sale_sofia.cli.main"}[program]
        arguments = words[2:] if program == "python" else words
        begun = shared_commands().begin(arguments, environ, folder, module=module)
        code = shared_commands().ended(begun)
        assert code == 0, f"{program} {words}: {code}\n{begun.told()[-3000:]}"
        printed += begun.told()
    return printed


def test_the_check_shows_which_link_found_what(followed: tuple[Path, str]) -> None:
    assert "advert 7; missing: nothing" in followed[1]
    assert "layout 1, 2 cards, total 2, next None; missing: nothing" in followed[1]
    assert "1 of 1" in followed[1]


def test_the_test_it_wrote_passes(followed: tuple[Path, str]) -> None:
    assert "2 passed" in followed[1]


def test_the_first_look_reads_it_well_and_no_page_lacks_its_proof(followed: tuple[Path, str]) -> None:
    assert "flats.example: reads well" in followed[1]
    assert "marks of proof" not in followed[1]


def test_the_crawl_stored_both_adverts(followed: tuple[Path, str]) -> None:
    rows = [json.loads(line) for line in (followed[0] / "flats.jsonl").read_text("utf-8").splitlines()]
    told = {row["external_id"]: facts(row) for row in rows}
    assert told == {
        "7": ("flats.example", "sale", 2, 99000.0, 70.0, 2, 6, 2008, "София", "Лозенец", ["+359888000123"]),
        "8": ("flats.example", "sale", 3, None, 95.0, 4, 8, None, "София", "Борово", []),
    }


def facts(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("site", "deal", "rooms", "price_eur", "area_sqm", "floor", "floors_total", "year_built", "city")
    return (*(row[name] for name in names), row["neighbourhood"], row["phones"])


def test_the_yaml_of_the_guide_is_what_site_files_understand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The piece about JSON, put into the file that `sites new` writes."""
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    path = write_site("json.example", tmp_path)[0]
    begun = read_yaml(path.read_text("utf-8"))
    begun["listing"]["rows"], begun["search"]["card_id"] = {}, {}
    whole = merge(begun, read_yaml(blocks("yaml")[0]["text"]))
    path.write_text(yaml.safe_dump(whole, allow_unicode=True), "utf-8")
    assert sorted(load_site_config("json.example").json_) == ["answer", "state"]
