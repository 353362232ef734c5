"""The command about the market."""

import time
from functools import partial
from typing import Annotated

import typer

from sale_sofia.commands.console import AsJson, log, out, print_json
from sale_sofia.commands.market_tables import market_table
from sale_sofia.config.market import MARKET_LISTED
from sale_sofia.config.settings import load_settings
from sale_sofia.insights.market import LABEL, VAT_RULE, Deal, Market, read_market
from sale_sofia.listings.places import find_neighbourhood
from sale_sofia.scraping.store import open_ready


def market(
    neighbourhood: Annotated[
        str | None, typer.Option(help="Only of this neighbourhood, by kind of flat.")
    ] = None,
    deal: Annotated[Deal, typer.Option(help="What flats cost, or what they are let for a month.")] = "sale",
    limit: Annotated[int, typer.Option(min=1, help="Show so many lines.")] = MARKET_LISTED,
    as_json: AsJson = False,
) -> None:
    """Show the market by neighbourhood: what is asked for a m², how many come and go, how long they stay."""
    name = _known(neighbourhood)
    settings = load_settings()
    database = open_ready(settings)
    found = database.run_read(partial(read_market, settings=settings, now=time.time(), deal=deal))
    chosen = _chosen(found, name)
    if as_json:
        print_json(chosen.as_json())
        return
    out.print(market_table(chosen, limit, by_rooms=name is not None), highlight=False)
    log.print(_said(chosen), highlight=False, soft_wrap=True)


def _known(name: str | None) -> str | None:
    if name is None:
        return None
    found = find_neighbourhood(name)
    if found is None:
        raise typer.BadParameter(f"no neighbourhood {name!r} in Sofia is known; write it as the portals do")
    return found.name


def _chosen(found: Market, name: str | None) -> Market:
    if name is None:
        return found
    cells = {cell: one for cell, one in found.cells.items() if cell.neighbourhood == name}
    return Market(found.deal, found.now, found.least, cells)


def _said(found: Market) -> str:
    if not found.cells:
        return "no flat yet; adverts come with `sale-sofia crawl`"
    return f"{LABEL}; {VAT_RULE}; what fewer than {found.least} flats make is not shown"
