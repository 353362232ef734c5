"""`sale-sofia doctor`: is this machine ready, and do the portals let us in?"""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from sale_sofia.cli.backup import shown
from sale_sofia.cli.console import NOT_ALL_RIGHT, AsJson, log, out, print_json, refuse
from sale_sofia.operations.doctor import Check, run_checks
from sale_sofia.settings.model import load_settings
from sale_sofia.settings.report import effective_settings, settings_as_json, settings_table


def doctor(
    robots: Annotated[
        bool,
        typer.Option("--robots", help="Also ask every portal for its robots.txt; this uses the network."),
    ] = False,
    site: Annotated[
        list[str] | None, typer.Option(help="With --robots: only this portal; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine: versions, settings, your files, disk, the whole database, Redis, clock, browser."""
    refuse(site and not robots, "--site goes with --robots")
    with shown() as progress:
        checks = run_checks(told=lambda done, most: progress("looking at the database", int(done), int(most)))
    # Slow to import. Nothing is known of files while the settings, which name them, are wrong.
    from sale_sofia.operations.checks import check_files, check_robots  # noqa: PLC0415

    if not any(check.name == "settings" and not check.ok for check in checks):
        checks += check_files(load_settings())
    if robots:
        checks += check_robots(load_settings(), site or ())
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    else:
        _print_table(checks)
    if not all(check.ok for check in checks):
        raise typer.Exit(NOT_ALL_RIGHT)
    if not as_json:
        log.print("before the first crawl: sale-sofia sites probe", highlight=False)


def _print_table(checks: Sequence[Check]) -> None:
    """With a column of advice only where there is any."""
    advised = any(check.advice for check in checks)
    table = Table("", "check", "found", *(["what to do"] if advised else []))
    for check in checks:
        advice = [check.advice or ""] if advised else []
        table.add_row("✓" if check.ok else "✗", check.name, check.detail, *advice)
    out.print(table)


def settings(as_json: AsJson = False) -> None:
    """Print every setting: its value, where it came from and what is allowed. Secrets are masked.

    A setting is an environment variable: DATA_DIR=/srv/flats sale-sofia crawl
    """
    rows = effective_settings(load_settings(), os.environ)
    if as_json:
        sys.stdout.write(settings_as_json(rows) + "\n")
    else:
        out.print(settings_table(rows))
