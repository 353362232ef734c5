"""`sale-sofia prune`: what is old is removed."""

import time
from datetime import timedelta
from typing import Annotated

import typer

from sale_sofia.commands.console import log
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.lost_pages import forget_pages, lost_pages
from sale_sofia.data.pruning import prune_frontier, prune_page_records, prune_visits
from sale_sofia.monitoring.report_files import ReportFiles
from sale_sofia.scraping.store import open_archive, open_ready


def prune(
    lost: Annotated[
        bool, typer.Option("--lost", help="Instead: forget archived pages that are damaged or gone.")
    ] = False,
) -> None:
    """Remove the oldest pages until the archive fits ARCHIVE_MAX_MB, old reports, and rows nobody needs."""
    settings, now = load_settings(), time.time()
    if lost:
        _forget_lost(settings)
        return
    removed = open_archive(settings).prune()
    log.print(f"{removed.files} pages removed, {removed.bytes / 1_000_000:.1f} MB freed")
    reports = ReportFiles(settings).prune(now=now)
    log.print(f"{reports} files of reports removed that are older than {settings.report_retention_days} days")
    _prune_rows(open_ready(settings), settings, now)


def _forget_lost(settings: Settings) -> None:
    archive, database = open_archive(settings), open_ready(settings)
    damaged = list(archive.remove_damaged())
    forgotten = forget_pages(database, [*damaged, *lost_pages(database, settings.data_dir)])
    log.print(f"{len(damaged)} damaged pages removed, {forgotten} records of archived pages forgotten")


def _prune_rows(database: Database, settings: Settings, now: float) -> None:
    kinds = (
        ("visits", prune_visits, settings.scrape_history_days),
        ("pages of ended jobs", prune_frontier, settings.report_retention_days),
        ("records of archived pages", prune_page_records, settings.report_retention_days),
    )
    for name, prune_old, days in kinds:
        forgotten = prune_old(database, before=now - timedelta(days=days).total_seconds())
        log.print(f"{forgotten} {name} forgotten that are older than {days} days")
