"""Commands that are imported when they are asked for: one command does not wait for what the others need."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command


class LazyGroup(TyperGroup):
    """A group whose commands stand in a table: name → `module:attribute`, a function or a whole `Typer`."""

    table: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: object) -> list[str]:
        """All names, in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ANN401 - the command class is private
        """The command of this name, imported now."""
        del ctx
        place = self.table.get(cmd_name)
        return None if place is None else _load(cmd_name, place)


def _load(name: str, place: str) -> Any:  # noqa: ANN401 - as above
    module, attribute = place.split(":")
    found = getattr(import_module(f"sale_sofia.commands.{module}"), attribute)
    command = get_command(found if isinstance(found, typer.Typer) else _alone(found))
    command.name = name
    return command


def _alone(function: Any) -> typer.Typer:  # noqa: ANN401 - any function that is a command
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(function)
    return app
