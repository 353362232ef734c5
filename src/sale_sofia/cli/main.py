"""The command line: the table of all commands; what each does is in its module."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from sale_sofia.cli.console import BAD_INPUT, NOT_ALL_RIGHT, AsJson, complain, out, redirect_to_log
from sale_sofia.settings.files import keep_others_out
from sale_sofia.settings.programs import end_at_once, start_quickly

Contents = Mapping[str, Mapping[str, tuple[str, str]]]
"""Heading → name of a command → its place, `module:attribute`, and what it does in a few words."""


CONTENTS: Final[Contents] = {
    "Begin here": {
        "start": ("start:start", "Say what you want, and see the flats that fit."),
        "demo": ("start:demo", "Crawl two simulated portals and show the flats."),
        "crawl": ("crawl:crawl", "Crawl portals; run again, it continues."),
        "dashboard": ("start:dashboard", "Show flats, market and crawls in the browser."),
        "doctor": ("doctor:doctor", "Check that this machine is ready."),
        "settings": ("main:settings", "Print every setting and its allowed values."),
        "places": ("doctor:places_app", "Use your own timetable, stations or borders."),
    },
    "Find a flat": {
        "search": ("search:app", "Find flats by conditions; save searches."),
        "properties": ("properties:app", "List each flat once, with all its adverts."),
        "score": ("advice:score", "Rank flats for a profile, or explain one score."),
        "profiles": ("advice:app", "Say what each buyer is looking for."),
        "value": ("advice:value", "Estimate the fair price of a property."),
        "market": ("advice:market", "Show asking prices by neighbourhood."),
        "changes": ("jobs:changes", "Show what is new, changed, gone or back."),
        "price-history": ("jobs:price_history_command", "Show every price an advert had."),
        "alerts": ("alerts:app", "Get messages about what is new."),
        "agencies": ("properties:agencies", "List the sellers."),
        "match": ("properties:match", "Find which adverts are the same flat."),
    },
    "Decide on it": {
        "shortlist": ("evaluation:shortlist", "Show the shortlist, or add a property to it."),
        "reject": ("evaluation:reject", "Leave a property out of searches and alerts."),
        "mark": ("evaluation:mark", "Give a property any status."),
        "decide": ("evaluation:decide", "Note your decision on a property."),
        "note": ("evaluation:note", "Add a note on a property, or show its notes."),
        "renovation": ("evaluation:renovation", "Note what you think renovation costs."),
        "viewing": ("evaluation:app", "Plan viewings, and note how they were."),
        "evaluation": ("evaluation:evaluation", "Show all you noted about a property."),
        "share": ("evaluation:share_app", "Show one flat to others by a link."),
        "people": ("evaluation:people_app", "Manage who uses the dashboard."),
    },
    "Watch the crawls": {
        "status": ("jobs:status", "Show how fresh each portal's adverts are."),
        "jobs": ("jobs:jobs", "List the newest jobs and how each ended."),
        "resume": ("crawl:resume", "Continue crawls that were stopped or killed."),
        "cancel": ("jobs:cancel", "End a job for good."),
        "report": ("jobs:report", "Show how runs went, compared with the usual."),
        "sweeps": ("jobs:sweeps", "List sweeps, and what each found gone."),
        "errors": ("jobs:errors", "Show what went wrong lately."),
        "circuits": ("jobs:circuits", "Show which portals are paused, and why."),
        "rate": ("jobs:rate", "Change a portal's rate while workers crawl."),
    },
    "Portals, pages and texts": {
        "sites": ("sites:app", "List, check, repair and add portals."),
        "parse": ("pages:parse", "Read saved pages, as JSON."),
        "reparse": ("pages:reparse", "Extract everything again from archived pages."),
        "extract": ("pages:extract", "Read what a description says."),
        "enrich": ("pages:enrich", "Read the descriptions of all stored adverts."),
        "simulate": ("start:app", "Serve simulated portals on this machine."),
    },
    "Run it for long": {
        "up": ("services:up", "Start the services of the parallel mode."),
        "down": ("services:down", "Stop what `up` started."),
        "worker": ("services:worker", "Run a Celery worker."),
        "beat": ("services:beat", "Run Celery beat, which keeps the schedule."),
        "flower": ("services:flower", "Run Flower, which shows the tasks."),
        "metrics": ("services:metrics", "Serve metrics for Prometheus."),
        "proxies": ("proxies:app", "Add, check and watch proxies."),
        "rotator": ("proxies:rotator", "Run one address in front of all proxies."),
    },
    "Keep it safe": {
        "backup": ("backup:app", "Back up everything into one file; list, verify."),
        "restore": ("backup:restore", "Put a backup back."),
        "export": ("pages:export", "Write all adverts to a CSV, JSON or Parquet file."),
        "prune": ("pages:prune", "Remove what is old: pages, reports, rows."),
        "db": ("backup:database_app", "Bring the database up to date, check it, copy it."),
    },
}


class LazyGroup(TyperGroup):
    """All commands, each imported only when it is run, so that none waits for the imports of others."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as typer's own
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=sentence, rich_help_panel=heading)
            for heading, part in CONTENTS.items()
            for name, (_, sentence) in part.items()
        }

    def get_command(self, ctx: object, cmd_name: str) -> Any:  # noqa: ANN401 - the command class is private
        """The command of this name, a function or a whole `Typer`, imported now."""
        del ctx
        place = next((part[cmd_name][0] for part in CONTENTS.values() if cmd_name in part), None)
        if place is None:
            return None
        module, attribute = place.split(":")
        target = getattr(import_module(f"sale_sofia.cli.{module}"), attribute)
        if isinstance(target, typer.Typer):
            command: Any = get_group(target)
        else:
            single = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
            single.command()(target)
            command = get_command(single)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Print all commands under their headings, without importing any."""
        self._page().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 - as above
        """The completions of the word, without importing any command."""
        page = self._page()
        return page.shell_complete(page.make_context(ctx.info_name, [], resilient_parsing=True), incomplete)

    def _page(self) -> TyperGroup:
        """This group as a plain one, whose commands are names with a sentence."""
        return TyperGroup(
            name=self.name,
            help=self.help,
            epilog=self.epilog,
            params=self.params,
            commands=dict(self.commands),
        )


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the right flat in Sofia. Start with `sale-sofia start`, or look first: `sale-sofia demo`.",
    epilog="Exit codes: 0 done, 1 not all right (a page, a portal, the machine), 2 wrong input, 130 stopped.",
)


def settings(as_json: AsJson = False) -> None:
    """Print every setting: its value, where it came from and what is allowed. Secrets are masked.

    A setting is an environment variable: DATA_DIR=/srv/flats sale-sofia crawl
    """
    # Here, and not in a module of commands, whose imports it would wait for.
    from sale_sofia.settings.model import load_settings  # noqa: PLC0415 - as slow as all the rest
    from sale_sofia.settings.report import effective_settings, settings_as_json, settings_text  # noqa: PLC0415

    rows = effective_settings(load_settings(), os.environ)
    sys.stdout.write(settings_as_json(rows) + "\n" if as_json else settings_text(rows))


def main() -> None:
    """Run the command. Expected errors end in one sentence; files it writes are for their owner alone."""
    start_quickly()
    keep_others_out()
    end_at_once()
    try:
        app()
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        complain(error)
        sys.exit(code)


def _exit_code(error: Exception) -> int | None:
    """The exit code for an expected error of the input or the machine; None for a bug."""
    # Imported only after an error: all of these are slow, and help and version need none.
    import sqlite3  # noqa: PLC0415

    from sale_sofia.crawl.resilience.errors import ServiceRedis  # noqa: PLC0415
    from sale_sofia.crawl.runners.runners import SiteBusy  # noqa: PLC0415
    from sale_sofia.history.jobs import UnknownJob  # noqa: PLC0415
    from sale_sofia.operations.services.ownership import is_full  # noqa: PLC0415
    from sale_sofia.settings.errors import ServiceFailed, ServiceUnavailable  # noqa: PLC0415
    from sale_sofia.storage.errors import DatabaseError, DiskFull  # noqa: PLC0415

    ours = DatabaseError | UnknownJob | SiteBusy | ServiceUnavailable | ServiceRedis
    if not isinstance(error, ours | OSError | ValueError | sqlite3.Error):
        return None
    # Services that die or a full disk: the input is not to blame.
    return NOT_ALL_RIGHT if isinstance(error, ServiceFailed | DiskFull) or is_full(error) else BAD_INPUT


def _print_version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version  # noqa: PLC0415 - slow to import; every command pays for it

        out.print(f"sale-sofia {version('sale-sofia')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log as JSON on standard error, in programs it starts too.")
    ] = False,
) -> None:
    if log_json:
        os.environ["LOG_JSON"] = "true"  # where the command itself, and what it starts, look for it
    from sale_sofia.settings.model import SettingsError, load_settings  # noqa: PLC0415 - as slow as all the rest,
    from sale_sofia.telemetry.logs import log_for_person  # noqa: PLC0415 - and help and version need neither

    try:
        settings = load_settings()
    except SettingsError:  # the command that needs them says what is wrong
        settings = None
    log_for_person(settings)
    if settings is not None and settings.log_json:
        redirect_to_log()
