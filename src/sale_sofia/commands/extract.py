"""What descriptions say: `extract` reads texts, `enrich` reads those of all stored adverts."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sale_sofia.commands.console import AsJson, log, out, print_json
from sale_sofia.config.llm import DISAGREEMENTS_SHOWN
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.descriptions import count_disagreements, read_disagreements
from sale_sofia.llm.attributes import Attributes
from sale_sofia.llm.dictionary import read_description
from sale_sofia.llm.enrichment import Summary, ask_all, read_all
from sale_sofia.resilience.factory import needs_redis
from sale_sofia.scraping.store import open_ready
from sale_sofia.services.logs import log_to_file
from sale_sofia.services.running_redis import known_redis_url


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
            print_json({"id": line["id"], "attributes": _printed(read_description(line["text"]))})
    elif text_file is not None:
        _extract_one(text_file, as_json=as_json)


def _extract_one(file: Path, *, as_json: bool) -> None:
    try:
        attributes = read_description(file.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: no UTF-8 text (byte {error.start})") from None
    if as_json:
        print_json({"attributes": _printed(attributes)})
        return
    table = Table("field", "value", "status", "words")
    for name, one in attributes.items():
        table.add_row(name, _short(one.value), one.status, one.quote)
    out.print(table)


def _printed(attributes: Attributes) -> dict[str, Any]:
    return {name: one.as_json() for name, one in attributes.items()}


def _short(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def _read_manifest(manifest: Path) -> Iterator[dict[str, str]]:
    with manifest.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _check_line(line, f"{manifest} line {number}")


def _check_line(line: bytes, place: str) -> dict[str, str]:
    try:
        loaded = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f'{place}: no JSON; {{"id": …, "text": …}} is needed') from None
    given = loaded if isinstance(loaded, dict) else {}
    wrong = [name for name in ("id", "text") if not isinstance(given.get(name), str)]
    if wrong:
        raise ValueError(f'{place}: "{wrong[0]}" is no text; {{"id": …, "text": …}} is needed')
    return {"id": loaded["id"], "text": loaded["text"]}


def enrich(
    llm: Annotated[
        bool, typer.Option("--llm", help="Also ask Ollama about what the rules leave open.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read the descriptions of all stored adverts that are new or changed; after a crawl, never during it."""
    settings = load_settings()
    log_to_file(settings, "enrich")
    database = open_ready(settings)
    summary = Summary()
    read_all(database, summary)
    if llm or settings.llm_enabled:
        asyncio.run(ask_all(settings, database, summary, _redis_url(settings)))
    _report(database, summary, as_json=as_json)


def _redis_url(settings: Settings) -> str | None:
    return known_redis_url(settings) if needs_redis(settings) else None


def _report(database: Database, summary: Summary, *, as_json: bool) -> None:
    counts = database.run_read(count_disagreements)
    rows = database.run_read(partial(read_disagreements, limit=DISAGREEMENTS_SHOWN))
    if as_json:
        shown = [{name: row[name] for name in ("url", "field", "portal", "text", "quote")} for row in rows]
        print_json({**asdict(summary), "disagreements": counts, "newest": shown})
        return
    log.print(f"{summary.read} descriptions read; model: {summary.model}", highlight=False)
    if summary.asked or summary.cached or summary.failed:
        log.print(
            f"asked {summary.asked}, from the cache {summary.cached}, answered {summary.answered}, "
            f"failed {summary.failed}",
            highlight=False,
        )
    table = Table("advert", "field", "portal", "description", "words", title="The portal and the text differ")
    for row in rows:
        table.add_row(row["url"], row["field"], _short(row["portal"]), _short(row["text"]), row["quote"])
    if rows:
        out.print(table)
        log.print(", ".join(f"{name} {count}" for name, count in counts.items()), highlight=False)
