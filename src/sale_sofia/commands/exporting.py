"""`sale-sofia export`: all adverts in one file."""

from pathlib import Path
from typing import Annotated

import typer

from sale_sofia.commands.console import log
from sale_sofia.config.settings import load_settings
from sale_sofia.data.export import export_listings
from sale_sofia.scraping.store import open_ready


def export(
    path: Annotated[Path, typer.Argument(help="Where to; .csv, .jsonl or .parquet says in which form.")],
) -> None:
    """Write all adverts to a file, those too that are gone; it appears whole or not at all.

    For a spreadsheet: sale-sofia export adverts.csv
    """
    log.print(f"{export_listings(open_ready(load_settings()), path)} adverts in {path}")
