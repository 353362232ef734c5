"""Commands about what changed: changes, price-history, sweeps."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Annotated, Any

import typer

from sale_sofia.commands.change_tables import (
    changes_table,
    history_head,
    history_table,
    sweep_reasons,
    sweeps_table,
)
from sale_sofia.commands.console import AsJson, log, out, print_json
from sale_sofia.commands.moments import ALLOWED, moment_of
from sale_sofia.config.history import SHOWN_CHANGES, SHOWN_SWEEPS
from sale_sofia.config.settings import load_settings
from sale_sofia.data.changes import CHANGE_KINDS, Happening, happenings
from sale_sofia.data.listing_rows import moment_text
from sale_sofia.data.price_history import PriceHistory, price_history
from sale_sofia.data.price_meaning import price_per_sqm
from sale_sofia.data.sweeps import list_sweeps
from sale_sofia.scraping.addresses import UnknownAdvert, advert_of
from sale_sofia.scraping.store import open_ready
from sale_sofia.websites.registry import get_scraper

Site = Annotated[str | None, typer.Option(help="Only of this portal.")]


def changes(
    since: Annotated[
        str,
        typer.Option(help=f"Since when: {ALLOWED}."),
    ] = "yesterday",
    kind: Annotated[
        list[str] | None,
        typer.Option(help=f"Only this kind, more than once if need be: {', '.join(CHANGE_KINDS)}."),
    ] = None,
    site: Site = None,
    as_json: AsJson = False,
) -> None:
    """Show what is new, got another price, was edited, is gone or came back; with --json a line for each.

    For example: sale-sofia changes --since 7d --kind price
    """
    start, kinds = moment_of(since, datetime.now(UTC)), _kinds(kind)
    if site is not None:
        get_scraper(site)  # a name that is none is said to be
    with open_ready(load_settings()).read() as connection:
        found = (one for one in happenings(connection, start, site) if one.kind in kinds)
        if as_json:
            for one in found:
                print_json(change_record(one))
        else:
            _print_changes(found, since)


def _kinds(given: list[str] | None) -> frozenset[str]:
    for one in given or ():
        if one not in CHANGE_KINDS:
            raise typer.BadParameter(f"no kind {one!r}; allowed: {', '.join(CHANGE_KINDS)}")
    return frozenset(given or CHANGE_KINDS)


def _print_changes(found: Iterator[Happening], since: str) -> None:
    counts: Counter[str] = Counter()
    shown = list(islice(_counted(found, counts), SHOWN_CHANGES))
    more = sum(1 for _ in _counted(found, counts))
    if not shown:
        log.print(f"nothing has changed since {since}", highlight=False)
        return
    out.print(changes_table(shown))
    out.print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()), highlight=False)
    if more:
        log.print(f"{more} more; `--json` prints all of them", highlight=False)


def _counted(found: Iterable[Happening], counts: Counter[str]) -> Iterator[Happening]:
    for one in found:
        counts[one.kind] += 1
        yield one


def change_record(one: Happening) -> dict[str, Any]:
    """One change for programs: moments are ISO with Sofia's offset."""
    return {
        "kind": one.kind,
        "at": _iso(one.at),
        "noted_at": _iso(one.noted_at),
        **one.about,
        "price_per_sqm": price_per_sqm(one.about),
        "changes": {name: {"old": old, "new": new} for name, (old, new) in one.fields.items()},
        "reason": one.reason,
    }


def _iso(moment: float) -> str:
    return moment_text(datetime.fromtimestamp(moment, UTC))


def price_history_command(
    listing: Annotated[str, typer.Argument(help="An advert's address, or its portal and id: imot.bg/1b17…")],
    as_json: AsJson = False,
) -> None:
    """Show every price an advert had, with VAT and per m², and how long it has been on the market."""
    site, external_id = advert_of(listing)
    read = partial(price_history, site=site, external_id=external_id, now=time.time())
    found: list[PriceHistory] = open_ready(load_settings()).run_read(read)
    if not found:
        raise UnknownAdvert(f"advert {external_id} of {site} was never seen")
    if as_json:
        print_json({"listings": [asdict(one) for one in found]})
        return
    for one in found:
        out.print(history_head(one), highlight=False, soft_wrap=True)
        out.print(history_table(one))


def sweeps(site: Site = None, as_json: AsJson = False) -> None:
    """List the newest sweeps: whether each was complete, what it saw, and how many adverts it found gone."""
    if site is not None:
        get_scraper(site)
    found = open_ready(load_settings()).run_read(partial(list_sweeps, limit=SHOWN_SWEEPS, site=site))
    if as_json:
        print_json({"sweeps": [asdict(one) for one in found]})
    elif not found:
        log.print("no sweep yet; begin one with `sale-sofia crawl`")
    else:
        out.print(sweeps_table(found))
        for line in sweep_reasons(found):
            out.print(line, highlight=False, soft_wrap=True)
