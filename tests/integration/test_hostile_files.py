"""Files made to end or to hang us: a sentence that names the file, and the exit code of wrong input."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from command_server import PATIENCE_SECONDS, shared_commands
from sale_sofia.websites.site_file import CONFIG_FOLDER

DEEP = 100_000
TOO_DEEP = "nested deeper than 40"
BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))
FILES = {
    "a site file of brackets": ("sites/own.yaml", "[" * DEEP, ("sites", "list"), TOO_DEEP),
    "a profile of dashes": (
        "data/profiles/own.yaml",
        "- " * DEEP,
        ("profiles", "check"),
        "nested deeper than 40",
    ),
    "alerts of question marks": (
        "data/alerts.yaml",
        "? " * DEEP,
        ("alerts", "rules"),
        "nested deeper than 40",
    ),
    "alerts of aliases": ("data/alerts.yaml", BOMB, ("alerts", "rules"), "holds more than 50000 values"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_hostile_file_is_told_in_a_sentence(kind: str, tmp_path: Path) -> None:
    name, text, command, fault = FILES[kind]
    path = tmp_path / name
    (tmp_path / "sites").mkdir()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    ended = run(tmp_path, *command)
    told = [line for line in (ended.stdout + ended.stderr).splitlines() if fault in line]
    assert ended.returncode in (1, 2), ended.stderr[-2000:]
    assert len(told) == 1
    assert path.name in told[0]


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    told = {"DATA_DIR": str(folder / "data"), "SITES_DIR": str(folder / "sites"), "COLUMNS": "400"}
    return shared_commands().run(arguments, {**os.environ, **told}, folder, PATIENCE_SECONDS)


def test_a_slow_pattern_of_a_site_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "sites").mkdir()
    content = yaml.safe_load((CONFIG_FOLDER / "sites" / "alo.bg.yaml").read_text("utf-8"))
    content["search"]["total"] = [{"css": "h1", "match": r"(\d[\d ]*) обяви"}]
    (tmp_path / "sites" / "alo.bg.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    ended = run(tmp_path, "sites", "check", "alo.bg")
    assert ended.returncode == 2
    [told] = [line for line in ended.stderr.splitlines() if line.strip()]
    assert "alo.bg.yaml: search.total.0.match: the pattern '(\\\\d[\\\\d ]*) обяви' may be too slow" in told
    assert "allowed is a repeat with a bound" in told
