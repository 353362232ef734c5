"""Whether a command line that somebody wrote down is one that `sale-sofia` understands."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from sale_sofia.cli import app

_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_IN_FRONT = {"sale-sofia", "sudo", "env", "docker"}
_SHELL = {"|", ">", "2>", "&&", "||", ";", "&"}
_PLACEHOLDER = re.compile(r"[A-Z_…]+|\[.*")


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
