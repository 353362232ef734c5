"""`sale-sofia report`: how the last runs went, whether that is healthy, and what was usual."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sale_sofia.commands.console import AsJson, log, out, print_json
from sale_sofia.commands.crawl_tables import held_back, moment, number
from sale_sofia.commands.tables import plain_table
from sale_sofia.config.settings import load_settings
from sale_sofia.monitoring.report_files import write_whole
from sale_sofia.monitoring.report_page import report_page
from sale_sofia.monitoring.session_report import SessionReportGenerator
from sale_sofia.scraping.store import open_ready

Report = dict[str, Any]


def report(
    job: Annotated[
        str | None, typer.Argument(help="A job of `sale-sofia jobs`; the newest of each portal without it.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write it to this file, as a page for a browser.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how runs went: what came of them, their health, the commonest errors, and what was usual."""
    settings = load_settings()
    database = open_ready(settings)
    generator = SessionReportGenerator(settings, database)
    found = generator.session([job]) if job else generator.latest()
    if html is not None:
        write_whole(html, report_page(found))
        log.print(f"report in {html}")
    if as_json:
        print_json(found)
    elif html is None:
        _print(found)


def _print(found: Report) -> None:
    if not found["runs"]:
        log.print("no run yet; begin one with `sale-sofia crawl`")
        return
    out.print(runs_table(found["runs"]))
    out.print(traffic_table(found["runs"]))
    for sentence in (line for run in found["runs"] for line in remarks(run)):
        out.print(sentence, highlight=False, soft_wrap=True)


def runs_table(runs: Sequence[Report]) -> Table:
    """What came of each run, beside what is usual."""
    table = plain_table("Runs", ("site", "state", "health"), ("adverts", "usual", "new", "changed"))
    table.add_column("began")
    for run in runs:
        counted, usual = run["summary"], (run["comparison"] or {}).get("adverts")
        numbers = (counted["adverts"], usual, counted["new"], counted["changed"])
        words = (run["site"], run["state"], run["health"]["state"])
        table.add_row(*words, *map(number, numbers), moment(run["started_at"]))
    return table


def traffic_table(runs: Sequence[Report]) -> Table:
    """How the portal took each run: answers in seconds, waits for our own limits."""
    counted = ("requests", "failed", "blocked", "retries", "waited s", "p50 s", "p95 s", "p99 s")
    table = plain_table("Traffic", ("site",), counted)
    for run in runs:
        table.add_row(run["site"], *_traffic_cells(run["summary"]))
    return table


def _traffic_cells(counted: Report) -> Iterator[str]:
    yield from (number(counted["requests"]), number(counted["pages_failed"]))
    yield f"{counted['block_share']:.1%}"
    yield from (number(counted["retries"]), number(counted["limiter_wait_seconds"]))
    yield from (number(counted["response_seconds"][name], 2) for name in ("p50", "p95", "p99"))


def remarks(run: Report) -> Iterator[str]:
    """How far a run came, why it is unhealthy, what is open for a person, and what went wrong most."""
    site = run["site"]
    if run["coverage"]:
        yield f"{site}: {run['coverage']['line']}"
    for reason in run["health"]["reasons"]:
        yield f"{site}: {reason}"
    if held := run["summary"]["held_back"]:
        yield f"{site}: {held_back(held)}"
    for incident in run["incidents"]:
        yield f"{site}: open since {moment(incident['opened_at'])}: {incident['kind']}: {incident['message']}"
    for error in run["top_errors"]:
        example = error["example"]
        counts = f"{error['failed_pages']} pages, {error['failed_requests']} requests"
        yield f"{site}: {error['class']}: {counts}; {example['url']}: {example['message']}"
