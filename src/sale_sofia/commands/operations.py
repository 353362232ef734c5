"""Commands about this installation: settings, db, export, prune, reparse."""

import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out
from sale_sofia.commands.copying import copy
from sale_sofia.config.settings import load_settings
from sale_sofia.config.settings_report import effective_settings, settings_as_json, settings_table
from sale_sofia.data.export import export_listings
from sale_sofia.data.migrate import check as check_database
from sale_sofia.data.migrate import current_revision, initialize_database
from sale_sofia.data.visits import prune_visits
from sale_sofia.monitoring.report_files import ReportFiles
from sale_sofia.scraping.assembly import open_archive
from sale_sofia.scraping.reparse import reparse as reparse_archive
from sale_sofia.scraping.store import open_database

db_app = typer.Typer(no_args_is_help=True, help="The database: bring it up to date, check it, copy it.")
db_app.command()(copy)


def settings(as_json: AsJson = False) -> None:
    """Print every setting: its value, where it came from and what is allowed. Secrets are masked."""
    rows = effective_settings(load_settings(), os.environ)
    if as_json:
        sys.stdout.write(settings_as_json(rows) + "\n")
    else:
        out.print(settings_table(rows))


@db_app.command()
def upgrade() -> None:
    """Make the database, or bring it to the newest version; safe to run at any time."""
    database = open_database(load_settings())
    initialize_database(database)
    out.print(f"{database.name}: version {current_revision(database)}", highlight=False)


@db_app.command()
def check() -> None:
    """Check that the database is sound and has the tables it should have."""
    database = open_database(load_settings())
    problems = check_database(database)
    for problem in problems:
        out.print(problem, highlight=False)
    if problems:
        raise typer.Exit(NOT_ALL_RIGHT)
    out.print(f"{database.name}: sound", highlight=False)


def export(
    path: Annotated[Path, typer.Argument(help="Where to; .csv, .jsonl or .parquet says in which form.")],
) -> None:
    """Write all adverts to a file; it appears whole or not at all."""
    database = open_database(load_settings())
    initialize_database(database)
    log.print(f"{export_listings(database, path)} adverts in {path}")


def prune() -> None:
    """Remove the oldest pages until the archive fits ARCHIVE_MAX_MB, old reports and old unchanged visits."""
    settings = load_settings()
    removed = open_archive(settings).prune()
    log.print(f"{removed.files} pages removed, {removed.bytes / 1_000_000:.1f} MB freed")
    reports = ReportFiles(settings).prune(now=time.time())
    log.print(f"{reports} files of reports removed that are older than {settings.report_retention_days} days")
    database = open_database(settings)
    initialize_database(database)
    before = time.time() - timedelta(days=settings.scrape_history_days).total_seconds()
    forgotten = prune_visits(database, before=before)
    log.print(f"{forgotten} visits forgotten that are older than {settings.scrape_history_days} days")


def reparse(
    site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None,
) -> None:
    """Extract everything again from the archived pages, without the network."""
    settings = load_settings()
    database = open_database(settings)
    initialize_database(database)
    with Progress(console=log, transient=True, disable=not log.is_terminal) as progress:
        task = progress.add_task("reading pages again", total=None)
        done = reparse_archive(
            database,
            open_archive(settings),
            site=site,
            batch=settings.checkpoint_batch_size,
            progress=lambda count: progress.advance(task, count),
        )
    log.print(
        f"{done.pages} pages read again: {done.changed} adverts changed, {done.failed} unreadable, "
        f"{done.missing} no longer in the archive"
    )
