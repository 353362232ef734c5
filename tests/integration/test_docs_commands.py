"""Every command that the documentation names is there, and every one that it has typed works as it says."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from typer.main import get_command

from alert_servers import AlertServers, alert_servers
from command_lines import Line, command_lines, fault, steps
from crawls import stored
from docs_world import DocsWorld, docs_world, is_shown
from sale_sofia.cli.main import app
from sale_sofia.telemetry.incidents import IncidentKind
from valued_flats import write_table

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "docs" / "bg" / "buyers.md", *(ROOT / "docs").glob("*.md")])
OPERATIONS = ROOT / "docs" / "operations.md"
NOT_RUN_HERE = {
    "make": "sets up the checkout and runs these very tests; the demo is run by test_wheel.py",
    ".": "a shell's own; the commands are on the path already",
    "sudo": "root on the reader's machine; the unit files are held to the program by test_deploy.py",
    "docker": "containers; the Compose files are held to the program by test_deploy.py",
    "deploy/make-secrets.sh": "run by test_deploy_secrets.py",
    "cp": "copies what the deploy folder has; test_deploy.py",
    "pg_dump": "a program of PostgreSQL",
}
"""Programs that a page has typed and that are not started here, and why."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_is_there(page: Path) -> None:
    lines = list(command_lines(page.read_text("utf-8")))
    assert [found for line in lines if (found := fault(line))] == []


def test_the_page_of_operations_names_commands_and_every_incident() -> None:
    text = OPERATIONS.read_text("utf-8")
    assert len(list(command_lines(text))) > 20
    assert [kind for kind in IncidentKind if f"| `{kind.value}` |" not in text] == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sale-sofia crawl imot.bg --parallel", None),
        ("sale-sofia crawll imot.bg", "'sale-sofia crawll imot.bg': sale-sofia has no command crawll"),
        ("sale-sofia db copy --form x", "'sale-sofia db copy --form x': copy has no option --form"),
        ("DATA_DIR=/x sale-sofia db check | cat --nothing", None),
        ("sudo -u sale-sofia /opt/sale-sofia/bin/sale-sofia jobs", None),
    ],
)
def test_a_wrong_command_is_seen(line: str, expected: str | None) -> None:
    assert fault(line) == expected


def leaves(command: Any, name: str = "") -> Iterator[str]:  # noqa: ANN401 - the command classes are private
    """Every command by its full name; a group that does something by itself is one too."""
    if not hasattr(command, "list_commands"):
        yield name
        return
    if command.invoke_without_command and name:
        yield name
    for one in command.list_commands(None):
        yield from leaves(command.get_command(None, one), f"{name} {one}".strip())


def test_the_page_of_commands_has_every_command_and_no_other() -> None:
    text = (ROOT / "docs" / "commands.md").read_text("utf-8")
    quoted = re.findall(r"`([^`]+)`", "\n".join(line for line in text.splitlines() if line.startswith("| `")))
    named = {command for one in quoted for command in leaves_in(one)}
    assert set(leaves(get_command(app))) - named == set()


def leaves_in(quoted: str) -> Iterator[str]:
    """The command that a quoted line calls, of one word and of two."""
    words = quoted.removeprefix("sale-sofia ").split()
    yield words[0]
    yield " ".join(words[:2])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_program_that_is_typed_is_ours_or_known(page: Path) -> None:
    typed_ones = {step.program for step in steps(page.read_text("utf-8")) if isinstance(step, Line)}
    assert typed_ones - set(NOT_RUN_HERE) <= {"sale-sofia", ""}


def test_nothing_is_left_out_that_is_not_typed_anywhere() -> None:
    lines = [step for page in PAGES for step in steps(page.read_text("utf-8")) if isinstance(step, Line)]
    assert set(NOT_RUN_HERE) - {line.program for line in lines} == set()
    assert set(PIPED) | {""} == {line.source for line in lines}
    assert set(CODES) - {line.command for line in lines} == set()


def test_only_a_guide_with_a_test_of_its_own_has_consoles() -> None:
    assert [page.name for page in PAGES if "```console" in page.read_text("utf-8")] == ["adding-a-portal.md"]


PIPED = {"pass show proxies": "http://reader:secret@127.0.0.1:9\n"}
"""Programs in front of a pipe, and what they would have said."""
CODES = {
    "sale-sofia proxies check": 1,  # nobody listens on these ports
    "sale-sofia proxies refresh": 1,
    "sale-sofia sites repair imot.bg": 2,  # nothing has drifted
}
"""Lines that end otherwise than with 0, as their page says."""
EMPTY = {"README.md", "first-steps.md"}
"""Pages that begin with nothing."""
README = ROOT / "README.md"
OWN_SEARCH = "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/lozenets/dvustaen"
SERVER = (
    "postgresql://sale_sofia@main.internal/sale_sofia?sslmode=verify-full&sslrootcert=/etc/sale-sofia/ca.crt"
)
LISTS = "http://127.0.0.1:9\n127.0.0.1:10\n"
FILES = "files"


def test_every_command_of_every_page_works(tmp_path: Path) -> None:
    """In the order of each page, in a folder of its own; what runs on is ended when the page is."""
    with docs_world(tmp_path) as world, alert_servers() as servers:
        wrong = {README.name: follow(world, README, world.first, {})}
        address, text = advert_page(world)
        table = replacements(world, servers, address)
        put_files(tmp_path / FILES, text)
        wrong |= {page.name: follow(world, page, page.stem, table) for page in PAGES if page != README}
        told = {one.subject for one in servers.came}
        asked = world.looked_up.read_text("utf-8") if world.looked_up.exists() else ""
    found = [f"{name}: {sentence}" for name, sentences in wrong.items() for sentence in sentences]
    assert not found, "\n\n".join(found)
    assert "sale-sofia: Проба" in told
    assert asked == ""


def replacements(world: DocsWorld, servers: AlertServers, address: str) -> dict[str, str]:
    """What stands for what the pages say: nothing here leads out of this machine."""
    ranked = json.loads(world.asked("score", "--json"))["scores"]
    flats = [str(one["property_id"]) for one in ranked[:2]]
    return {
        OWN_SEARCH: world.simulator.start_urls("imot.bg")[0],
        "https://lists.example/all.txt": "list.txt",
        "ntfys://ntfy.sh/a-name-that-nobody-guesses": servers.hook_url,
        "data/backups/BACKUP": "data/backups/*",
        "sqlite:////var/lib/sale-sofia/sale_sofia.db": "sqlite:///data/sale_sofia.db",
        SERVER: "sqlite:///copy.db",
        "deploy/secrets/database_password": "password",
        "8701": "0",
        "portals": "simulated",
        "PAGE": "page.html",
        "URL": address,
        **dict.fromkeys(("590", "106", "1234"), flats[0]),
        "591": flats[1],
    }


def follow(world: DocsWorld, page: Path, folder: str, table: Mapping[str, str]) -> list[str]:
    """What did not go as the page says."""
    wanted = [
        step
        for step in steps(page.read_text("utf-8"))
        if not (isinstance(step, Line) and step.program in NOT_RUN_HERE)
    ]
    if not wanted:
        return []
    reader = world.reader(folder, table, PIPED, empty=page.name in EMPTY)
    if table:
        shutil.copytree(world.root / FILES, reader.folder, dirs_exist_ok=True)
    return reader.follow(wanted, CODES)


def put_files(folder: Path, page: bytes) -> None:
    """What the pages take for granted that a reader has."""
    folder.mkdir()
    (folder / "list.txt").write_text(LISTS, "utf-8")
    (folder / "password").write_text("secret", "utf-8")
    (folder / "page.html").write_bytes(page)
    write_table(folder / "adverts.parquet", 250, seed=2)


def advert_page(world: DocsWorld) -> tuple[str, bytes]:
    """The address of an advert of imot.bg, and its page."""
    url = str(next(row["url"] for row in stored(world.data) if row["site"] == "imot.bg"))
    with urlopen(url, timeout=60) as answer:  # noqa: S310 - our own loopback address
        return url, answer.read()


@pytest.mark.parametrize(
    ("line", "expected"),
    [("running: … beat", True), ("beat … running", False), ("a  table", True), ("12 adverts", False)],
)
def test_what_is_shown_is_looked_for_piece_by_piece(line: str, expected: bool) -> None:  # noqa: FBT001
    assert is_shown(line, "x\nrunning: Redis, worker, beat (log: y)\n a table │\n") is expected
