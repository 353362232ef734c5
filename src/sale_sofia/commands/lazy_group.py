"""Commands that are imported when they are asked for: one command does not wait for what the others need."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

Contents = Mapping[str, Mapping[str, tuple[str, str]]]
"""Heading → name of a command → its place, `module:attribute`, and what it does in a few words."""


class LazyGroup(TyperGroup):
    """A group whose commands stand in its contents; each is a function or a whole `Typer`."""

    contents: ClassVar[Contents] = {}

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as typer's own
        super().__init__(**attributes)
        self.commands = {command.name: command for command in _announced(self.contents)}
        self._places = {name: place for part in self.contents.values() for name, (place, _) in part.items()}

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ANN401 - the command class is private
        """The command of this name, imported now."""
        del ctx
        place = self._places.get(cmd_name)
        return None if place is None else _load(cmd_name, place)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """All commands under their headings; none is imported for it."""
        self._page().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 - as above
        """What the word may become; no command is imported for it."""
        page = self._page()
        return page.shell_complete(page.make_context(ctx.info_name, [], resilient_parsing=True), incomplete)

    def _page(self) -> TyperGroup:
        """This group as others see it: its commands are names with a sentence."""
        return TyperGroup(
            name=self.name,
            help=self.help,
            epilog=self.epilog,
            params=self.params,
            commands=dict(self.commands),
        )


def _announced(contents: Contents) -> list[Any]:
    return [
        TyperCommand(name, help=sentence, rich_help_panel=heading)
        for heading, part in contents.items()
        for name, (_, sentence) in part.items()
    ]


def _load(name: str, place: str) -> Any:  # noqa: ANN401 - as above
    module, attribute = place.split(":")
    found = getattr(import_module(f"sale_sofia.commands.{module}"), attribute)
    command: Any = get_group(found) if isinstance(found, typer.Typer) else get_command(_alone(found))
    command.name = name
    return command


def _alone(function: Any) -> typer.Typer:  # noqa: ANN401 - any function that is a command
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(function)
    return app
