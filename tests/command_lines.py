"""The command lines of a page of documentation: which they are, and whether `sale-sofia` understands them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from typer.main import get_command

from sale_sofia.cli.main import app

_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_IN_FRONT = {"sale-sofia", "sudo", "env", "docker"}
_SHELL = {"|", ">", "2>", "&&", "||", ";", "&"}
_PLACEHOLDER = re.compile(r"[A-Z_…]+|\[.*")
_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)
_COMMANDS = {"", "sh"}
_SHOWN = "text shown"


@dataclass(frozen=True, slots=True)
class Line:
    """A line that a reader types."""

    text: str
    environ: Mapping[str, str]
    words: tuple[str, ...]
    source: str = ""
    """The program whose output comes through a pipe."""

    @property
    def program(self) -> str:
        """The first word; empty for one that only sets variables."""
        return self.words[0] if self.words else ""

    @property
    def command(self) -> str:
        """The words alone, without variables and comment."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True)
class File:
    """A file that a reader writes."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What the commands before it print, line by line; … stands for anything."""

    lines: tuple[str, ...]


Step = Line | File | Shown


def steps(page: str) -> Iterator[Step]:
    """What a reader of the page does and sees, in its order.

    Blocks without a language are commands; a block of a language and a path is a file; `text` is text.
    """
    for block in _BLOCK.finditer(page):
        info, text = block["info"].strip(), block["text"]
        name = info.partition(" ")[2]
        if info in _COMMANDS:
            yield from map(typed, _lines(text))
        elif info == _SHOWN:
            yield Shown(tuple(line for line in text.splitlines() if line.strip()))
        elif "/" in name:
            yield File(name, text)


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if stripped := line.removeprefix("$ ").strip():
            yield stripped


def typed(text: str) -> Line:
    """A line in its parts: variables in front, or behind `export`, and the words without the comment."""
    source, _, command = text.rpartition(" | ")
    words = shlex.split(command, comments=True)
    words = words[1:] if words[:1] == ["export"] else words
    count = next((place for place, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    environ = dict(word.split("=", 1) for word in words[:count])
    return Line(text, environ, tuple(words[count:]), source)


def fault(line: str) -> str | None:
    """What is wrong with the command line; None when its command and options are there."""
    words = _words(line)
    command: Any = get_command(app)
    name = words.pop(0)
    while words and hasattr(command, "list_commands") and not words[0].startswith("--"):
        if _PLACEHOLDER.match(words[0]):
            return None  # `sale-sofia COMMAND`: any
        if (found := command.get_command(None, words[0])) is None:
            return f"{line!r}: {name} has no command {words[0]}"
        command, name = found, words.pop(0)
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    return f"{line!r}: {name} has no option {', '.join(unknown)}" if unknown else None


def _words(line: str) -> list[str]:
    words = shlex.split(line, comments=True)
    rest = words[_place(words) or 0 :]
    end = next((place for place, word in enumerate(rest) if word in _SHELL), len(rest))
    return rest[:end]


def _place(words: list[str]) -> int | None:
    """Where our program is called; a user and a folder have its name too."""
    called = (
        place
        for place, word in enumerate(words[:-1])
        if (word == "sale-sofia" and words[place - 1] != "-u") or word.endswith("/bin/sale-sofia")
    )
    return next(called, None)


def command_lines(text: str) -> Iterator[str]:
    """Every command of ours in a page of documentation: in its blocks, and between single marks."""
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, re.DOTALL)
    for line in "\n".join(blocks).replace("\\\n", " ").splitlines():
        if is_ours(line):
            yield line.strip()
    outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    yield from (line for line in re.findall(r"`([^`]+)`", outside) if is_ours(line))


def is_ours(line: str) -> bool:
    """Whether the line calls `sale-sofia`, perhaps with variables or another program in front."""
    words = [word for word in line.split() if not _ASSIGNMENT.match(word)]
    return bool(words) and words[0] in _IN_FRONT and _place(words) is not None
