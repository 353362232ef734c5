"""The command line: all commands in one place. What each does is in `commands/`."""

import os
import sqlite3
import sys
from typing import Annotated, ClassVar

import typer

from sale_sofia.commands.console import BAD_INPUT, NOT_ALL_RIGHT, out
from sale_sofia.commands.contents import CONTENTS
from sale_sofia.commands.lazy_group import LazyGroup
from sale_sofia.commands.saying import complain, speak_in_lines
from sale_sofia.config.programs import end_at_once
from sale_sofia.data.errors import DatabaseError, DiskFull
from sale_sofia.data.job_model import UnknownJob
from sale_sofia.resilience.errors import ServiceRedis
from sale_sofia.scraping.errors import SiteBusy
from sale_sofia.services.disk_room import is_full
from sale_sofia.services.errors import ServiceError, ServiceFailed
from sale_sofia.services.own_files import keep_others_out

_ONE_SENTENCE = (
    DatabaseError,
    UnknownJob,
    SiteBusy,
    ServiceError,
    ServiceRedis,
    OSError,
    ValueError,
    sqlite3.Error,
)
"""What is wrong with the input or the machine, and says so itself."""


class _Commands(LazyGroup):
    contents: ClassVar = CONTENTS


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the right flat in Sofia. Start with `sale-sofia demo`.",
    epilog="Exit codes: 0 done, 1 not all right (a page, a portal, the machine), 2 wrong input, 130 stopped.",
)


def main() -> None:
    """Run the command; what is wrong is one sentence, not a traceback. Others cannot read what it writes."""
    keep_others_out()
    end_at_once()
    try:
        app()
    except _ONE_SENTENCE as error:
        complain(error)
        sys.exit(NOT_ALL_RIGHT if _is_the_machine(error) else BAD_INPUT)


def _is_the_machine(error: BaseException) -> bool:
    """Whether nothing that was given to us is wrong: services that die, a disk that is full."""
    return isinstance(error, ServiceFailed | DiskFull) or is_full(error)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - slow to import; every command pays for it

        out.print(f"sale-sofia {version('sale-sofia')}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log JSON on standard error; for all that is started, too.")
    ] = False,
) -> None:
    if log_json:
        os.environ["LOG_JSON"] = "true"  # where the command itself, and what it starts, look for it
    _set_up_logging()


def _set_up_logging() -> None:
    from sale_sofia.config.settings import SettingsError, load_settings  # noqa: PLC0415 - as slow as all the rest,
    from sale_sofia.services.logs import log_for_person  # noqa: PLC0415 - and help and version need neither

    try:
        settings = load_settings()
    except SettingsError:  # the command that needs them says what is wrong
        settings = None
    log_for_person(settings)
    if settings is not None and settings.log_json:
        speak_in_lines()
