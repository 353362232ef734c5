"""`sale-sofia sites learnt`: what crawls learnt of the portals' limits and filters."""

from functools import partial
from typing import Annotated, Any

import typer
from rich.table import Table

from sale_sofia.commands.console import AsJson, log, out, print_json
from sale_sofia.commands.crawl_tables import moment
from sale_sofia.commands.tables import plain_table
from sale_sofia.config.history import SHOWN_IDS
from sale_sofia.config.settings import load_settings
from sale_sofia.data.searches import forget_learnt, learnt_rows
from sale_sofia.scraping.store import open_ready
from sale_sofia.websites.registry import get_scraper


def learnt(
    site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget it, so that the next crawl of the portal learns it anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what crawls learnt of the portals: how much of a search they show, ids of filters, useless ones.

    It is believed for 30 days, and learnt anew by the next crawl after that.
    """
    if site is not None:
        get_scraper(site)
    if forget and site is None:
        raise typer.BadParameter("with --forget name the portal")
    database = open_ready(load_settings())
    if forget and site is not None:
        count = database.run_write(partial(forget_learnt, site=site))
        log.print(f"{site}: {count} forgotten", highlight=False)
        return
    rows = database.run_read(partial(learnt_rows, site=site))
    if as_json:
        print_json({"learnt": rows})
    elif rows:
        out.print(_table(rows))
    else:
        log.print("nothing learnt yet; crawls of portals that cap their searches learn how to cut them")


def _table(rows: list[dict[str, Any]]) -> Table:
    table = plain_table("Learnt", ("site", "since", "what"), (), "value")
    for row in rows:
        table.add_row(row["site"], moment(row["learnt_at"]), *_told(row["name"], row["value"]))
    return table


def _told(name: str, value: Any) -> tuple[str, str]:  # noqa: ANN401 - numbers, ids or names
    kind, _, query = name.partition(":")
    match kind:
        case "most":
            return "most adverts of a search", str(value)
        case "ids":
            shown = ", ".join(value[:SHOWN_IDS])
            return f"ids of {query}", f"{len(value)}: {shown}{' …' if len(value) > SHOWN_IDS else ''}"
        case _:
            return "filter that changes nothing", query
