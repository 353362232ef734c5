"""The command about the fair price of a property, and of how well such prices are told."""

from pathlib import Path
from typing import Annotated

import typer

from sale_sofia.commands.console import AsJson, log, out, print_json, refuse
from sale_sofia.commands.valuation_tables import error_tables, valuation_tables
from sale_sofia.config.settings import load_settings
from sale_sofia.insights.valuation import value_property
from sale_sofia.insights.valuation_trial import try_file
from sale_sofia.scraping.store import open_ready


def value(
    property_id: Annotated[
        int | None,
        typer.Argument(
            metavar="PROPERTY",
            help="The id of a property, as `sale-sofia search` shows it.",
            show_default=False,
        ),
    ] = None,
    adverts: Annotated[
        Path | None,
        typer.Option(help="A Parquet table of adverts: tell how well their prices can be told instead."),
    ] = None,
    refit: Annotated[bool, typer.Option("--refit", help="Fit the model anew, though it is not old.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell the fair price of a property: an interval, the flats it rests on, and where its price lies."""
    refuse((property_id is None) == (adverts is None), "give the id of a property, or --adverts FILE")
    refuse(refit and adverts is not None, "--refit is for the stored model; leave it out with --adverts")
    if adverts is not None:
        _try_file(adverts, as_json=as_json)
    elif property_id is not None:
        _value(property_id, refit=refit, as_json=as_json)


def _value(property_id: int, *, refit: bool, as_json: bool) -> None:
    settings = load_settings()
    database = open_ready(settings)
    found = value_property(database, settings, property_id, refit=refit)
    if as_json:
        print_json(found.as_json())
        return
    for part in valuation_tables(found):
        out.print(part, highlight=False)


def _try_file(path: Path, *, as_json: bool) -> None:
    found = try_file(path, load_settings())
    if as_json:
        print_json(found.as_json())
        return
    for part in error_tables(found):
        out.print(part, highlight=False)
    log.print(f"{found.flats} flats in {path}, {found.seconds:.1f} s", highlight=False)
