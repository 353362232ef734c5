"""Words of portals on a terminal: shown, never obeyed."""

import io
import json
import logging
import re
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sale_sofia.cli.console import PlainConsole, print_json
from sale_sofia.telemetry.log_lines import make_formatter

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
MOVES = re.compile(r"\x1b\[(?:\?25[lh]|[0-9]*[ABCDGKJ])|\r")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
TITLE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r[bold]x[/bold][link=http://evil.example]y[/link]:smile:\u202e"
WORDS = st.text(st.characters(exclude_categories=()), max_size=60)


def shown(title: str, *, terminal: bool) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("FORCE_COLOR", "1") if terminal else patch.delenv("FORCE_COLOR", raising=False)
        console = PlainConsole()
    console.file = io.StringIO()
    table = Table("a", title, title=title)
    table.add_row(title, Text(title, "red"))
    console.print(table)
    console.print(title, style="red")
    return console.file.getvalue()


@given(WORDS)
@example(TITLE)
def test_nothing_in_a_text_is_obeyed(title: str) -> None:
    assert not OBEYED.search(shown(title, terminal=False))
    assert not OBEYED.search(COLOURS.sub("", shown(title, terminal=True)))


def test_brackets_and_colons_are_shown_as_they_are() -> None:
    assert "[bold]x[/bold][link=http://evil.example]y[/link]:smile:?" in shown(TITLE, terminal=False)


def test_live_pictures_are_no_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = PlainConsole()
    console.file = io.StringIO()
    with Live(Text(TITLE), console=console, auto_refresh=False) as live:
        live.refresh()
    written = console.file.getvalue()
    assert "owned" in written
    assert not OBEYED.search(MOVES.sub("", COLOURS.sub("", written)))


@given(WORDS)
@example(TITLE)
def test_json_keeps_every_sign_and_a_terminal_obeys_none(title: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", written := io.StringIO())
        print_json({"title": title})
    assert not OBEYED.search(written.getvalue())
    assert json.loads(written.getvalue()) == {"title": title}


def complain() -> None:
    raise ValueError(TITLE)


def test_a_traceback_in_a_log_keeps_its_lines_and_steers_no_terminal() -> None:
    try:
        complain()
    except ValueError:
        record = logging.LogRecord(
            "x", logging.ERROR, __file__, 1, "a page said %s", (TITLE,), sys.exc_info()
        )
    written = make_formatter(None).format(record)
    assert not OBEYED.search(written)
    assert written.count("\n") >= 3
