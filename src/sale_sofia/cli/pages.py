"""Commands about pages and texts: parse, reparse, extract, enrich, export, prune."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from sale_sofia.cli.console import NOT_ALL_RIGHT, AsJson, counted, log, out, print_answer, print_json, refuse
from sale_sofia.crawl.reparse import BAD_LINE, read_file, read_manifest
from sale_sofia.crawl.reparse import reparse as reparse_archive
from sale_sofia.crawl.resilience.factory import needs_redis
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.enrichment import (
    Summary,
    ask_all,
    count_disagreements,
    read_all,
    read_disagreements,
)
from sale_sofia.descriptions.fields import Attributes
from sale_sofia.descriptions.settings import DISAGREEMENTS_SHOWN
from sale_sofia.history.export import count_earlier, count_unread, export_listings, export_prices
from sale_sofia.history.pruning import prune_frontier, prune_page_records, prune_visits
from sale_sofia.history.runs.reports import ReportFiles
from sale_sofia.installation import open_archive, open_ready
from sale_sofia.operations.backup.making import forget_pages, lost_pages
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.settings.model import load_settings
from sale_sofia.telemetry.logs import log_to_file
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper


def parse(
    site: Annotated[str | None, typer.Argument(help=f"The portal: {', '.join(AVAILABLE_SITES)}.")] = None,
    file: Annotated[Path | None, typer.Argument(help="A saved page.", exists=True, dir_okay=False)] = None,
    url: Annotated[str | None, typer.Option(help="The address the page was saved from.")] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help='Many pages: one {"site","file","url"} a line, one answer a line.',
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Read saved pages and print what they say, as JSON.

    One page: sale-sofia parse imot.bg page.html --url https://www.imot.bg/obiava-…

    Many: sale-sofia parse --manifest pages.jsonl (a bad page, or a bad line, is an answer of kind "error";
    the run goes on, and ends with code 1 after a bad line).
    """
    if manifest is not None:
        refuse(site or file or url, "with --manifest give no SITE, FILE or --url: the manifest names them")
        answers = map(print_json, read_manifest(manifest))
        errors = [answer["error"]["type"] for answer in answers if answer["kind"] == "error"]
        if errors:
            log.print(f"{counted(len(errors), 'page is an error', 'pages are errors')}", style="yellow")
        if BAD_LINE in errors:
            raise typer.Exit(NOT_ALL_RIGHT)
        return
    if site is None or file is None or url is None:
        raise typer.BadParameter("give SITE, FILE and --url, or --manifest")
    answer = print_json(read_file(get_scraper(site), file, url))
    if answer["kind"] == "error":
        raise typer.Exit(NOT_ALL_RIGHT)


def reparse(site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None) -> None:
    """Extract everything again from the archived pages, without the network."""
    settings = load_settings()
    database = open_ready(settings)
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
        f"{counted(done.pages, 'page')} read again: {counted(done.changed, 'advert')} changed, "
        f"{done.failed} unreadable, {done.missing} no longer in the archive"
    )


def extract(
    text_file: Annotated[
        Path | None, typer.Option(help="A file with one description.", exists=True, dir_okay=False)
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help='Many descriptions: one {"id","text"} a line, one answer a line.',
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read what a description says: each field with its status and the words it came from.

    One: sale-sofia extract --text-file advert.txt

    Many: sale-sofia extract --manifest texts.jsonl (the answers come in the same order).
    """
    if (text_file is None) == (manifest is None):
        raise typer.BadParameter("give either --text-file or --manifest")
    if manifest is not None:
        for line in _read_manifest(manifest):
            print_json({"id": line["id"], "attributes": _attributes_record(read_description(line["text"]))})
    if text_file is None:
        return
    try:
        attributes = read_description(text_file.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{text_file}: no UTF-8 text (byte {error.start})") from None
    table = Table("field", "value", "status", "words")
    for name, attribute in attributes.items():
        table.add_row(name, _short(attribute.value), attribute.status, attribute.quote)
    print_answer({"attributes": _attributes_record(attributes)}, table, as_json=as_json)


def _attributes_record(attributes: Attributes) -> dict[str, Any]:
    return {name: attribute.as_json() for name, attribute in attributes.items()}


def _short(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _read_manifest(manifest: Path) -> Iterator[dict[str, str]]:
    needed = '{"id": …, "text": …} is needed'
    with manifest.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            place = f"{manifest} line {number}"
            try:
                loaded = json.loads(line)
            except (ValueError, RecursionError):
                raise ValueError(f"{place}: no JSON; {needed}") from None
            record = loaded if isinstance(loaded, dict) else {}
            if wrong := [name for name in ("id", "text") if not isinstance(record.get(name), str)]:
                raise ValueError(f'{place}: "{wrong[0]}" is no text; {needed}')
            yield record


def enrich(
    llm: Annotated[
        bool, typer.Option("--llm", help="Also ask Ollama about what the rules leave open.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read the descriptions of all stored adverts that are new or changed; crawls do so by themselves."""
    settings = load_settings()
    log_to_file(settings, "enrich")
    database = open_ready(settings)
    summary = Summary()
    read_all(database, summary)
    if llm or settings.llm_enabled:
        redis_url = known_redis_url(settings) if needs_redis(settings) else None
        asyncio.run(ask_all(settings, database, summary, redis_url))
    counts = database.run_read(count_disagreements)
    rows = database.run_read(partial(read_disagreements, limit=DISAGREEMENTS_SHOWN))
    if as_json:
        newest = [{name: row[name] for name in ("url", "field", "portal", "text", "quote")} for row in rows]
        print_json({**asdict(summary), "disagreements": counts, "newest": newest})
        return
    log.print(f"{summary.read} descriptions read; model: {summary.model}")
    if summary.asked or summary.cached or summary.failed:
        log.print(
            f"asked {summary.asked}, from the cache {summary.cached}, answered {summary.answered}, "
            f"failed {summary.failed}"
        )
    table = Table("advert", "field", "portal", "description", "words", title="The portal and the text differ")
    for row in rows:
        table.add_row(row["url"], row["field"], _short(row["portal"]), _short(row["text"]), row["quote"])
    if rows:
        out.print(table)
        log.print(", ".join(f"{name} {count}" for name, count in counts.items()))


def export(
    path: Annotated[Path, typer.Argument(help="Where to; .csv, .jsonl or .parquet says in which form.")],
    prices: Annotated[
        bool, typer.Option("--prices", help="Instead: every price of every advert, with what moved.")
    ] = False,
    all_generations: Annotated[
        bool,
        typer.Option(
            "--all-generations", help="Also the earlier flats under ids that a portal gave to another flat."
        ),
    ] = False,
) -> None:
    """Write all adverts that were opened to a file, gone ones too; it is written completely or not at all.

    Of an id that its portal gave to another flat it holds the flat of now; --all-generations adds the earlier
    ones, with the columns generation and closed_at. Prices are those of all of them.

    For a spreadsheet: sale-sofia export adverts.csv
    """
    refuse(prices and all_generations, "--prices has all generations by itself; leave --all-generations out")
    database = open_ready(load_settings())
    if prices:
        log.print(f"{export_prices(database, path)} prices in {path}")
        return
    written = export_listings(database, path, all_generations=all_generations)
    earlier = count_earlier(database)
    again = f"{counted(earlier, 'earlier flat')} under ids that were given again"
    if all_generations:
        now = f"{counted(written - earlier, 'advert')} of now, {again}"
        log.print(f"{counted(written, 'advert')} in {path}: {now}")
    else:
        log.print(f"{counted(written, 'advert')} in {path}")
    if earlier and not all_generations:
        left_out = f"{again} left out"
        log.print(f"{left_out}; --all-generations adds them")
    if unread := count_unread(database):
        log.print(f"{counted(unread, 'advert')} known only from lists of results left out")


def prune(
    lost: Annotated[
        bool, typer.Option("--lost", help="Instead: forget archived pages that are damaged or gone.")
    ] = False,
) -> None:
    """Remove the oldest pages until the archive fits ARCHIVE_MAX_MB, old reports, and rows nobody needs."""
    settings, now = load_settings(), time.time()
    if lost:
        archive, database = open_archive(settings), open_ready(settings)
        damaged = list(archive.remove_damaged())
        forgotten = forget_pages(database, [*damaged, *lost_pages(database, settings.data_dir)])
        records = counted(forgotten, "record")
        log.print(f"{counted(len(damaged), 'damaged page')} removed, {records} of archived pages forgotten")
        return
    removed = open_archive(settings).prune()
    log.print(f"{counted(removed.files, 'page')} removed, {removed.bytes / 1_000_000:.1f} MB freed")
    reports = ReportFiles(settings).prune(now=now)
    log.print(f"{reports} files of reports removed that are older than {settings.report_retention_days} days")
    database = open_ready(settings)
    kinds = (
        ("visits", prune_visits, settings.scrape_history_days),
        ("pages of ended jobs", prune_frontier, settings.report_retention_days),
        ("records of archived pages", prune_page_records, settings.report_retention_days),
    )
    for name, prune_old, days in kinds:
        forgotten = prune_old(database, before=now - timedelta(days=days).total_seconds())
        log.print(f"{forgotten} {name} forgotten that are older than {days} days")
