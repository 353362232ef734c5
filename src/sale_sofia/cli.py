"""The command line: all commands in one place. What each does is in `commands/`."""

import sqlite3
import sys
from importlib.metadata import version
from typing import Annotated

import typer

from sale_sofia.commands import crawl, demo, errors, gates, operations, overview, pages, report, simulate
from sale_sofia.commands import services as service_commands
from sale_sofia.commands.console import BAD_INPUT, log, out
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.jobs import UnknownJob
from sale_sofia.resilience.errors import ServiceRedis
from sale_sofia.scraping.locks import SiteBusy
from sale_sofia.services.errors import ServiceError

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

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the right flat in Sofia. Start with `sale-sofia demo`.",
    epilog="Exit codes: 0 done, 1 not all right (a page, a portal, the machine), 2 wrong input, 130 stopped.",
)
sites_app = typer.Typer(no_args_is_help=True, help="The portals sale-sofia can read.")

app.command()(demo.demo)
app.command()(crawl.crawl)
app.command()(crawl.resume)
app.command()(overview.cancel)
app.command()(overview.jobs)
app.command()(overview.status)
app.command()(report.report)
app.command()(errors.errors)
app.command()(gates.rate)
app.command()(gates.circuits)
app.command()(service_commands.up)
app.command()(service_commands.down)
app.command()(service_commands.worker)
app.command()(service_commands.beat)
app.command()(service_commands.flower)
app.command()(operations.export)
app.command()(operations.reparse)
app.command()(operations.prune)
app.command()(pages.parse)
sites_app.command("list")(pages.list_sites)
app.add_typer(sites_app, name="sites")
app.add_typer(operations.db_app, name="db")
app.command()(operations.settings)
app.command()(operations.doctor)
app.add_typer(simulate.app, name="simulate")


def main() -> None:
    """Run the command; what is wrong is one sentence, never a traceback."""
    try:
        app()
    except _ONE_SENTENCE as error:
        log.print(f"sale-sofia: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(BAD_INPUT)


def _print_version(wanted: bool) -> None:
    if wanted:
        out.print(f"sale-sofia {version('sale-sofia')}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
