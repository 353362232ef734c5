"""What all commands share: where they print, and how they end."""

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.segment import Segment
from rich.table import Table

from sale_sofia.commands.tables import WholeTable
from sale_sofia.config.terminal import NOT_SHOWN, WRITTEN_OUT

NOT_ALL_RIGHT = 1
BAD_INPUT = 2
INTERRUPTED = 130


class PlainConsole(Console):
    """Whatever is printed is words: nothing in a text of a portal, a proxy or a server is obeyed.

    Brackets are no markup, and no text moves the cursor, sets a title or changes a colour.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:  # noqa: ANN401 - as rich's own
        """A table that needs more room than there is gets it: lines may break, a number is never cut off."""
        if any(isinstance(one, Table) for one in objects):
            objects, options = tuple(map(_with_room, objects)), {"crop": False, **options}
        super().print(*objects, **options)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """The one way of all output, live bars too; rich's own signs for the terminal are `control`."""
        return super()._render_buffer(one if one.control else _shown(one) for one in buffer)


def _with_room(one: Any) -> Any:  # noqa: ANN401 - whatever rich prints
    return WholeTable(one) if isinstance(one, Table) else one


def _shown(one: Segment) -> Segment:
    return Segment(one.text.translate(NOT_SHOWN), one.style)


out = PlainConsole()
log = PlainConsole(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]


def print_json(answer: dict[str, Any]) -> dict[str, Any]:
    """One line of JSON on standard output; what a terminal would obey is written as its number."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False).translate(WRITTEN_OUT) + "\n")
    return answer


def refuse(given: object, sentence: str) -> None:
    """End with wrong input when something was given that may not be."""
    if given:
        raise typer.BadParameter(sentence)
