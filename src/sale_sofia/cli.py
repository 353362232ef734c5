"""The command line: all commands in one place. What each does is in `commands/`."""

import os
import sqlite3
import sys
from importlib.metadata import version
from typing import Annotated, ClassVar

import typer

from sale_sofia.commands.console import BAD_INPUT, out
from sale_sofia.commands.lazy_group import LazyGroup
from sale_sofia.commands.saying import complain, speak_in_lines
from sale_sofia.config.settings import SettingsError, load_settings
from sale_sofia.data.errors import DatabaseError
from sale_sofia.data.job_model import UnknownJob
from sale_sofia.resilience.errors import ServiceRedis
from sale_sofia.scraping.errors import SiteBusy
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.logs import log_for_person
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
    table: ClassVar = {
        "demo": "demo:demo",
        "dashboard": "dashboard:dashboard",
        "crawl": "crawl:crawl",
        "resume": "crawl:resume",
        "cancel": "overview:cancel",
        "jobs": "overview:jobs",
        "status": "overview:status",
        "report": "report:report",
        "metrics": "metrics:metrics",
        "changes": "changes:changes",
        "price-history": "changes:price_history_command",
        "sweeps": "changes:sweeps",
        "score": "score:score",
        "profiles": "profiles:app",
        "properties": "properties:app",
        "search": "search:app",
        "shortlist": "evaluation:shortlist",
        "reject": "evaluation:reject",
        "mark": "evaluation:mark",
        "decide": "evaluation:decide",
        "note": "evaluation:note",
        "renovation": "evaluation:renovation",
        "evaluation": "evaluation:evaluation",
        "viewing": "viewings:app",
        "match": "properties:match",
        "agencies": "properties:agencies",
        "alerts": "alerts:app",
        "market": "market:market",
        "value": "valuation:value",
        "extract": "extract:extract",
        "enrich": "extract:enrich",
        "errors": "errors:errors",
        "rate": "gates:rate",
        "circuits": "gates:circuits",
        "proxies": "proxies:app",
        "rotator": "proxy_services:rotator",
        "up": "services:up",
        "down": "services:down",
        "worker": "services:worker",
        "beat": "services:beat",
        "flower": "services:flower",
        "export": "operations:export",
        "reparse": "operations:reparse",
        "prune": "operations:prune",
        "backup": "backup:app",
        "restore": "restore:restore",
        "parse": "pages:parse",
        "sites": "sites:app",
        "db": "operations:db_app",
        "settings": "operations:settings",
        "doctor": "doctor:doctor",
        "simulate": "simulate:app",
    }


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
    try:
        app()
    except _ONE_SENTENCE as error:
        complain(error)
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
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log JSON on standard error; for all that is started, too.")
    ] = False,
) -> None:
    if log_json:
        os.environ["LOG_JSON"] = "true"  # where the command itself, and what it starts, look for it
    try:
        settings = load_settings()
    except SettingsError:  # the command that needs them says what is wrong
        settings = None
    log_for_person(settings)
    if settings is not None and settings.log_json:
        speak_in_lines()
