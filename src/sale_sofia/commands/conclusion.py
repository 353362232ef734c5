"""The end of a crawl, in whichever mode it ran: what came of it, and the exit code."""

from collections.abc import Sequence
from dataclasses import asdict

import typer

from sale_sofia.commands.console import INTERRUPTED, NOT_ALL_RIGHT, log, out, print_json
from sale_sofia.commands.crawl_tables import best_table, held_back, reports_table
from sale_sofia.data.database import Database
from sale_sofia.scraping.jobs import SiteReport
from sale_sofia.scraping.status import best_offers

GO_ON = "stopped; go on with: sale-sofia resume"


def conclude(
    database: Database,
    reports: Sequence[SiteReport],
    *,
    stopped: bool,
    as_json: bool,
    advice: str = GO_ON,
) -> None:
    """Say what came of the jobs; leaves with an exit code that says whether all is right."""
    if as_json:
        print_json({"jobs": [asdict(one) for one in reports], "stopped": stopped})
    else:
        _print_summary(database, reports)
    if stopped:
        log.print(advice, highlight=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED)
    if any(one.error or one.state != "COMPLETE" or one.shortfalls or one.missing for one in reports):
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_summary(database: Database, reports: Sequence[SiteReport]) -> None:
    out.print(reports_table(reports))
    for one in reports:
        for sentence in _remarks(one):
            log.print(sentence, style="red", highlight=False, soft_wrap=True)
        for sentence in one.notes:
            log.print(f"{one.site}: {sentence}", highlight=False, soft_wrap=True)
    with database.read() as connection:
        offers = best_offers(connection)
    if offers:
        out.print(best_table(offers))
    out.print(f"database: {database.name}", highlight=False, soft_wrap=True)


def _remarks(report: SiteReport) -> list[str]:
    counted = ", ".join(f"{reason} {pages}" for reason, pages in report.reasons.items())
    return [
        *([f"{report.site}: {report.error}"] if report.error else []),
        *([f"{report.site}: pages that failed, by reason: {counted}"] if counted else []),
        *([f"{report.site}: {report.missing}"] if report.missing else []),
        *(f"{report.site}: {sentence}" for sentence in report.shortfalls),
        *([f"{report.site}: {held_back(report.held_back)}"] if report.held_back else []),
    ]
