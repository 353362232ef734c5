"""`start`: what people answer, what is written, and that the rest is left to the other commands."""

import io
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from commands_here import Command, commands
from sale_sofia.advice.scoring.profile import edit_profile, load_profile
from sale_sofia.cli.console import as_typed
from sale_sofia.cli.start import demo_city, demo_port, read_budget, read_kinds, read_metro, read_places
from sale_sofia.crawl.probe import Reading
from sale_sofia.operations.settings import DEMO_PORTS
from tables import each_row

OVCHA_KUPEL = ("Овча купел", "Овча купел 1", "Овча купел 2")


@each_row(
    ("read", "text", "expected"),
    [
        (read_budget, "180000", 180_000),
        (read_budget, " 180 000 € ", 180_000),
        (read_budget, "180.000 евро", 180_000),
        (read_budget, "1,250,000", 1_250_000),
        (read_kinds, "", (("apartment", "maisonette"), ())),
        (read_kinds, "3, 2", (("apartment",), (2, 3))),
        (read_kinds, "тристаен, МЕЗОНЕТ", (("apartment", "maisonette"), (3,))),
        (read_kinds, "dvustaen", (("apartment",), (2,))),
        (read_places, "", ()),
        (read_places, "лозенец, Lozenets, Борово", ("Лозенец", "Борово")),
        (read_places, "Овча купел", OVCHA_KUPEL),
        (read_places, "Ovcha kupel, ж.к. Обеля", (*OVCHA_KUPEL, "Обеля", "Обеля 1", "Обеля 2")),
        (read_places, "Дружба", ("Дружба 1", "Дружба 2")),
        (read_places, "Druzhba", ("Дружба 1", "Дружба 2")),
        (read_metro, "", None),
        (read_metro, " 15 ", 15),
    ],
)
def test_an_answer_is_read(read: Callable[[str], Any], text: str, expected: object) -> None:
    assert read(text) == expected


@each_row(
    ("read", "text", "said"),
    [
        (read_budget, "", "it is missing; write whole euros from 1 000 to 100 000 000"),
        (read_budget, "180", "'180' is no budget; write whole euros from 1 000 to 100 000 000"),
        (read_budget, "много", "'много' is no budget; write whole euros from 1 000 to 100 000 000"),
        (read_budget, "180000.00", "'180000.00' is no budget; write whole euros from 1 000 to 100 000 000"),
        (read_budget, "180 000,50 €", "'180 000,50 €' is no budget; write whole euros from 1 000 to"),
        (read_kinds, "2, замък", "'замък' is no kind of home; write rooms from 1 to 5, or such as тристаен,"),
        (read_kinds, "6", "'6' is no kind of home; write rooms from 1 to 5, or such as тристаен, мезонет"),
        (read_places, "Борово, Атлантида", "'Атлантида' is no neighbourhood of Sofia"),
        (read_places, "Дружба 7", "'Дружба 7' is no neighbourhood of Sofia; there are Дружба 1, Дружба 2"),
        (read_places, "с. Дружба", "'с. Дружба' is no neighbourhood of Sofia; there are Дружба 1, Дружба 2"),
        (read_metro, "0", "'0' are no minutes; write a number from 1 to 120"),
        (read_metro, "близо", "'близо' are no minutes; write a number from 1 to 120"),
    ],
)
def test_a_wrong_answer_is_one_sentence(read: Callable[[str], Any], text: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - its words are looked at
        read(text)
    assert said in str(refused.value)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Portals that read well but for one, which nobody asks."""

    def look_at(names: list[str], _starts: object) -> list[SimpleNamespace]:
        verdicts = {"olx.bg": Reading.NOT_AT_ALL}
        return [
            SimpleNamespace(site=name, sentence="as told", verdict=verdicts.get(name, Reading.WELL))
            for name in names
        ]

    monkeypatch.setattr("sale_sofia.cli.sites.look_at", look_at)
    monkeypatch.setattr(
        "sale_sofia.cli.crawl.crawl", lambda **given: (tmp_path / "crawled").write_text(repr(given), "utf-8")
    )
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    return commands(tmp_path, monkeypatch, capsys)


def test_options_say_it_all(command: Command, tmp_path: Path) -> None:
    given = ("--budget", "180 000", "--kinds", "2,4", "--neighbourhoods", "Лозенец, Дружба", "--metro", "15")
    told = command("start", "imot.bg", "olx.bg", *given, "--yes", "--no-dashboard")
    assert told.code == 0, told.err
    assert (tmp_path / "crawled").read_text("utf-8") == "{'sites': ['imot.bg'], 'looks_for': ['me']}"
    assert told.err.endswith(
        "flats that fit: sale-sofia search --profile me --passing, or in the browser: sale-sofia dashboard"
    )
    fits = round(33_500 * (1 - 0.08 - 0.03) * 3 * 0.01)  # by the shares that are assumed
    assert f"first answers after 1 min, all {fits} that may fit after 46 min, everything 28.6 h" in told.err
    head = (tmp_path / "profiles" / "me.yaml").read_text("utf-8").partition("\n")[0]
    assert head.startswith("# The profile me, made by `sale-sofia start` from your answers;")
    mine = load_profile(tmp_path, "me")
    assert (mine.budget_eur, mine.property_types, mine.wishes.rooms) == (180_000, ("apartment",), 4)
    assert (mine.must.rooms_least, mine.must.metro_most_minutes, mine.must.not_panel) == (2, 15, False)
    assert mine.neighbourhoods.best == ("Лозенец", "Дружба 1", "Дружба 2")
    assert (mine.neighbourhoods.others, mine.must.wanted_neighbourhood) == ("poor", True)
    # Said again, it is another wish of the same person; what was not asked stays.
    edit_profile(tmp_path, "me", [("must.not_panel", True), ("renovation_eur", 5000)])
    assert command("start", "imot.bg", "--budget", "90000", "--yes", "--no-crawl", "--no-dashboard").code == 0
    changed = load_profile(tmp_path, "me")
    assert (changed.budget_eur, changed.neighbourhoods.others) == (90_000, "fair")
    assert (changed.must.rooms_least, changed.must.wanted_neighbourhood) == (None, False)
    assert (changed.must.not_panel, changed.renovation_eur, changed.wishes.rooms) == (True, 5000, 3)


@each_row(
    ("given", "said"),
    [
        (("--yes",), "--budget: it is missing; write whole euros from 1 000 to 100 000 000"),
        (("--budget", "x", "--yes"), "--budget: 'x' is no budget"),
        (("--budget", "90000", "--metro", "-1", "--yes"), "--metro: '-1' are no minutes"),
        (
            ("--budget", "90000", "--neighbourhoods", "Ню Йорк", "--yes", "--lang", "bg"),
            "не е квартал на София",
        ),
        (("--budget", "90000"), "there is nobody to ask here: give --budget and --yes"),
        (("--budget", "90000", "--profile", "a/b", "--yes"), "a/b"),
        (("nowhere.bg", "--budget", "90000", "--yes"), "no site 'nowhere.bg'; allowed: "),
    ],
)
def test_wrong_options_are_refused_before_anything_is_written(
    command: Command, tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    told = command("start", *given)
    assert (told.code, said in told.err) == (2, True), told.err
    assert not (tmp_path / "profiles").exists()


def test_in_a_terminal_it_asks_until_it_is_right_and_begins_only_with_a_yes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = ["много", "150000", "замък", "", "Младост 44", "Борово", "", "може би", "не"]
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(answers) + "\n"))
    told = command("start", "imot.bg", "--lang", "bg", "--profile", "ние")
    assert told.code == 0, told.err
    place = "'Младост 44' не е квартал на София; има: Младост 1"
    begin = "'може би' не е нито да, нито не"
    wrong = ("'много' не е бюджет", "'замък' не е вид жилище", place, begin)
    told_so = ("Търсеното е записано в", "imot.bg: ✓ чете се добре", "Нищо не е започнато")
    assert [said for said in (*wrong, *told_so) if said not in told.err] == []
    assert told.out.count("Бюджет в евро") == 2
    assert not (tmp_path / "crawled").exists()
    mine = load_profile(tmp_path, "ние")
    assert (mine.budget_eur, mine.neighbourhoods.best) == (150_000, ("Борово",))


@each_row(("answer", "begun"), [("", True), ("ДА", True), ("y", True), ("н", False), ("no", False)])
def test_it_begins_by_a_yes_in_either_language(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, answer: str, begun: bool
) -> None:
    (tmp_path / "crawled").unlink(missing_ok=True)
    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    given = ("--budget", "90000", "--kinds", "", "--neighbourhoods", "", "--metro", "")
    assert command("start", "imot.bg", *given, "--no-dashboard").code == 0
    assert (tmp_path / "crawled").exists() is begun


def test_a_question_left_by_ctrl_c_ends_as_stopped(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal())
    assert command("start", "imot.bg").code == 130
    assert not (tmp_path / "profiles").exists()


def test_where_no_portal_can_be_read_nothing_begins(command: Command, tmp_path: Path) -> None:
    # Without a crawl none is asked.
    assert command("start", "olx.bg", "--budget", "90000", "--yes", "--no-crawl", "--no-dashboard").code == 0
    told = command("start", "olx.bg", "--budget", "90000", "--yes")
    assert (told.code, "no portal can be read; nothing was begun" in told.err) == (1, True), told.err
    assert not (tmp_path / "crawled").exists()


@pytest.mark.parametrize(
    ("called", "folders", "typed"),
    [
        ("/here/.venv/bin/sale-sofia", "", ".venv/bin/sale-sofia"),
        (".venv/bin/sale-sofia", "", ".venv/bin/sale-sofia"),
        ("/here/sale-sofia", "", "./sale-sofia"),
        ("/opt/sale-sofia", "", "/opt/sale-sofia"),
        ("/here/.venv/bin/sale-sofia", "/here/.venv/bin", "sale-sofia"),
        ("/here/sale_sofia/cli/main.py", "", "sale-sofia"),
    ],
)
def test_what_is_said_to_type_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str, folders: str, typed: str
) -> None:
    program = tmp_path / ".venv" / "bin" / "sale-sofia"
    program.parent.mkdir(parents=True)
    program.touch(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [called.replace("/here", str(tmp_path))])
    monkeypatch.setenv("PATH", folders.replace("/here", str(tmp_path)))
    assert as_typed() == typed


def test_a_demo_keeps_its_city(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    city = {"properties": 4, "seed": 7}
    assert demo_city(folder, 4, 7) == demo_city(folder, None, None) == demo_city(folder, 4, None) == city
    for other, said in (
        ((None, 2), "--seed: the demo in {} has 7, not 2;"),
        ((5, 7), "--properties: the demo in {} has 4, not 5;"),
    ):
        with pytest.raises(typer.BadParameter) as refused:
            demo_city(folder, *other)
        advice = " leave the option out, delete that folder, or set DATA_DIR to another one"
        assert str(refused.value) == said.format(folder) + advice
    assert demo_city(folder, None, None) == city


def test_a_demo_keeps_its_ports_and_waits_while_another_program_has_one(tmp_path: Path) -> None:
    first = demo_port(tmp_path)
    assert first in DEMO_PORTS
    assert demo_port(tmp_path) == first
    with socket.create_server(("127.0.0.1", first + 1)), pytest.raises(typer.BadParameter) as refused:
        demo_port(tmp_path)
    assert str(refused.value) == (
        f"another program uses port {first} or {first + 1}, where the portals of the demo in {tmp_path} are; "
        "end it, or delete that folder to begin anew"
    )
    assert demo_port(tmp_path) == first
