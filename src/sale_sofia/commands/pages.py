"""Commands about pages and portals: parse, sites list."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out, print_json, refuse
from sale_sofia.config.site_config import load_site_config, load_start_urls
from sale_sofia.scraping.saved_pages import read_file, read_manifest
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
    Many: sale-sofia parse --manifest pages.jsonl (a bad page is an answer of kind "error"; the run goes on).
    """
    if manifest is not None:
        refuse(site or file or url, "with --manifest give no SITE, FILE or --url: the manifest names them")
        failed = sum(print_json(answer)["kind"] == "error" for answer in read_manifest(manifest))
        if failed:
            log.print(f"{failed} pages are errors", style="yellow")
        return
    if site is None or file is None or url is None:
        raise typer.BadParameter("give SITE, FILE and --url, or --manifest")
    answer = print_json(read_file(get_scraper(site), file, url))
    if answer["kind"] == "error":
        raise typer.Exit(NOT_ALL_RIGHT)


def list_sites(as_json: AsJson = False) -> None:
    """List the portals, how gently each is read and where a crawl of it begins."""
    rows = list(_site_rows())
    if as_json:
        print_json({"sites": rows})
        return
    table = Table("site", "hosts", "a request every", "at once", "start URLs")
    for row in rows:
        cells = (
            ", ".join(row["hosts"]),
            f"{row['delay_seconds']:g} s",
            row["concurrency"],
            len(row["start_urls"]),
        )
        table.add_row(row["site"], *map(str, cells))
    out.print(table)


def _site_rows() -> Iterator[dict[str, Any]]:
    for name in AVAILABLE_SITES:
        config = load_site_config(name)
        politeness = config.politeness.model_dump(include={"delay_seconds", "concurrency"})
        start_urls = list(config.start_urls or load_start_urls().get(name, ()))
        yield {"site": name, "hosts": list(config.hosts), **politeness, "start_urls": start_urls}
