"""What all commands share: where they print, and how they end."""

import json
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

NOT_ALL_RIGHT = 1
BAD_INPUT = 2
INTERRUPTED = 130

out = Console()
log = Console(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]


def print_json(answer: dict[str, Any]) -> dict[str, Any]:
    """One line of JSON on standard output."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return answer


def refuse(given: object, sentence: str) -> None:
    """End with wrong input when something was given that may not be."""
    if given:
        raise typer.BadParameter(sentence)
