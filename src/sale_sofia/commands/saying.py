"""What commands say to a person beside their results: on the terminal, or as lines of the log."""

import io
import logging
from typing import Final, TextIO, cast

from rich.text import Text

from sale_sofia.commands.console import log

_spoken: Final = logging.getLogger("sale_sofia.commands")


class _Lines(io.TextIOBase):
    """A file whose lines are logged, without the signs for a terminal."""

    def __init__(self) -> None:
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            if said := Text.from_ansi(line).plain.strip():
                _spoken.info("%s", said)
        return len(text)


def speak_in_lines() -> None:
    """From now on what is said to a person is lines of the log, so that standard error is JSON alone."""
    log.file, log.soft_wrap = cast("TextIO", _Lines()), True


def say(sentence: str) -> None:
    """One line for the person at the terminal, and for the log."""
    if not _in_lines():
        log.print(sentence, highlight=False, soft_wrap=True)
    _spoken.info("%s", sentence)


def complain(error: BaseException) -> None:
    """What is wrong, in one sentence."""
    sentence = _sentence(error)
    if _in_lines():
        _spoken.error("%s", sentence)
    else:
        log.print(f"sale-sofia: {sentence}", style="red", highlight=False, soft_wrap=True)


def _sentence(error: BaseException) -> str:
    """An error of the system without its number: `/data/x: Permission denied`."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _in_lines() -> bool:
    return isinstance(log.file, _Lines)
