"""`sale-sofia reparse`: the archived pages read again."""

from typing import Annotated

import typer
from rich.progress import Progress

from sale_sofia.commands.console import log
from sale_sofia.config.settings import load_settings
from sale_sofia.scraping.reparse import reparse as reparse_archive
from sale_sofia.scraping.store import open_archive, open_ready


def reparse(
    site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None,
) -> None:
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
        f"{done.pages} pages read again: {done.changed} adverts changed, {done.failed} unreadable, "
        f"{done.missing} no longer in the archive"
    )
