"""Reading saved pages: parse."""

from pathlib import Path
from typing import Annotated

import typer

from sale_sofia.commands.console import NOT_ALL_RIGHT, log, print_json, refuse
from sale_sofia.scraping.saved_pages import BAD_LINE, read_file, read_manifest
from sale_sofia.websites.reading import Answer
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
        _print_all(manifest)
        return
    if site is None or file is None or url is None:
        raise typer.BadParameter("give SITE, FILE and --url, or --manifest")
    answer = print_json(read_file(get_scraper(site), file, url))
    if answer["kind"] == "error":
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_all(manifest: Path) -> None:
    """Every answer; lines that lead to no page end the run as not all right."""
    codes = [_error(print_json(answer)) for answer in read_manifest(manifest)]
    if failed := len(codes) - codes.count(None):
        log.print(f"{failed} pages are errors", style="yellow")
    if BAD_LINE in codes:
        raise typer.Exit(NOT_ALL_RIGHT)


def _error(answer: Answer) -> str | None:
    return answer["error"]["type"] if answer["kind"] == "error" else None
