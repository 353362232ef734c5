"""The command line: parse arguments, call, print."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from sale_sofia import demonstration
from sale_sofia.config.settings import SettingsError, load_settings
from sale_sofia.config.settings_report import effective_settings, settings_as_json, settings_table
from sale_sofia.config.site_config import SiteConfigError, load_site_config, load_start_urls
from sale_sofia.monitoring.doctor import run_checks
from sale_sofia.scraping.saved_pages import ManifestError, read_file, read_manifest
from sale_sofia.simulator.render import write_world
from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite, get_scraper

PAGE_IS_AN_ERROR = 1
BAD_INPUT = 2

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Find the right flat in Sofia. Start with `sale-sofia demo`.",
    epilog="Exit codes: 0 done, 1 the page or the machine is not all right, 2 wrong input.",
)
sites_app = typer.Typer(no_args_is_help=True, help="The portals sale-sofia can read.")
simulate_app = typer.Typer(no_args_is_help=True, help="Portals that exist only here, with known truth.")
app.add_typer(sites_app, name="sites")
app.add_typer(simulate_app, name="simulate")

out = Console()
log = Console(stderr=True)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]


def main() -> None:
    """Run the command; wrong input is one sentence, never a traceback."""
    try:
        app()
    except (SettingsError, SiteConfigError, UnknownSite, ManifestError, OSError, ValueError) as error:
        log.print(f"sale-sofia: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
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
) -> None:
    pass


@app.command()
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
        _refuse(site or file or url, "with --manifest give no SITE, FILE or --url: the manifest names them")
        failed = sum(_print_json(answer)["kind"] == "error" for answer in read_manifest(manifest))
        if failed:
            log.print(f"{failed} pages are errors", style="yellow")
        return
    if site is None or file is None or url is None:
        raise typer.BadParameter("give SITE, FILE and --url, or --manifest")
    answer = _print_json(read_file(get_scraper(site), file, url))
    if answer["kind"] == "error":
        raise typer.Exit(PAGE_IS_AN_ERROR)


def _refuse(given: object, sentence: str) -> None:
    if given:
        raise typer.BadParameter(sentence)


def _print_json(answer: dict[str, Any]) -> dict[str, Any]:
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return answer


@sites_app.command("list")
def list_sites(as_json: AsJson = False) -> None:
    """List the portals, how gently each is read and where a crawl of it begins."""
    rows = list(_site_rows())
    if as_json:
        _print_json({"sites": rows})
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
        start_urls = list(load_start_urls().get(name, ()))
        yield {"site": name, "hosts": list(config.hosts), **politeness, "start_urls": start_urls}


@app.command()
def settings(as_json: AsJson = False) -> None:
    """Print every setting: its value, where it came from and what is allowed. Secrets are masked."""
    rows = effective_settings(load_settings(), os.environ)
    if as_json:
        sys.stdout.write(settings_as_json(rows) + "\n")
    else:
        out.print(settings_table(rows))


@simulate_app.command()
def render(
    folder: Annotated[Path, typer.Argument(help="Where to write the pages; an empty or new folder.")],
    properties: Annotated[
        int, typer.Option(min=1, max=100_000, help="How many adverts each portal has.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
) -> None:
    """Write portal pages with their truth (truth.json) and a manifest for `parse --manifest`."""
    with Progress(console=log, transient=True) as progress:
        task = progress.add_task("rendering")
        written = write_world(
            folder, properties, seed, lambda done, total: progress.update(task, completed=done, total=total)
        )
    log.print(
        f"{written} pages in {folder}; read them: sale-sofia parse --manifest {folder / 'manifest.jsonl'}"
    )


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine: versions, time zone, settings, a write test, free disk."""
    checks = run_checks()
    if as_json:
        _print_json({"checks": [asdict(check) for check in checks]})
    else:
        table = Table("", "check", "found", "what to do")
        for check in checks:
            table.add_row("✓" if check.ok else "✗", check.name, check.detail, check.advice or "")
        out.print(table)
    if not all(check.ok for check in checks):
        raise typer.Exit(PAGE_IS_AN_ERROR)


@app.command()
def demo(
    properties: Annotated[int, typer.Option(min=1, max=1000, help="How many adverts each portal has.")] = 12,
    seed: Annotated[int, typer.Option(help="Another seed, another city.")] = 1,
) -> None:
    """Render portal pages, read them back, and show what they say beside the truth."""
    read = demonstration.read_world(properties, seed)
    out.print(demonstration.adverts_table(read))
    out.print(demonstration.verdict(read), highlight=False)
    if demonstration.differences(read):
        raise typer.Exit(PAGE_IS_AN_ERROR)
