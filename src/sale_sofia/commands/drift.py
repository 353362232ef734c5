"""Commands about pages that changed: what drifted, what is as usual, and proposed repairs."""

import time
from functools import partial
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table
from rich.text import Text

from sale_sofia.commands.console import NOT_ALL_RIGHT, AsJson, log, out, print_json
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.drift import DriftRun, last_run, open_drift
from sale_sofia.monitoring.drift import accept_drift, evidence_of
from sale_sofia.monitoring.drift_checks import Check, Verdict
from sale_sofia.monitoring.drift_judging import checks
from sale_sofia.scraping.repair import Repair, propose_repair
from sale_sofia.scraping.store import open_archive, open_ready
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.repairing import Proposal, written

_STYLES = {Verdict.DRIFTED: "red", Verdict.USUAL: "green", Verdict.UNSURE: "dim"}


def drift(
    site: Annotated[str | None, typer.Argument(help="Only this portal.")] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="The portal's last run is how its pages should be from now on.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how the pages of each portal's last run compare with the usual; exit code 1 where one drifted.

    Drift that is open stops delisting and alerts of its portal, and is over by itself when a run is as usual.
    Where a change is meant to stay, and the site file is right, say so with --accept.
    """
    settings, sites = load_settings(), _sites(site)
    database = open_ready(settings)
    if accept:
        _accept(database, settings, site)
        return
    rows = [_site_row(database, settings, name) for name in sites]
    for row, judged in rows:
        print_json(row) if as_json else _show(row, judged)
    if any(row["open"] for row, _ in rows):
        raise typer.Exit(NOT_ALL_RIGHT)


def _sites(site: str | None) -> list[str]:
    if site is not None:
        get_scraper(site)  # a name that is none is said to be
    return [site] if site else list(AVAILABLE_SITES)


def _accept(database: Database, settings: Settings, site: str | None) -> None:
    if site is None:
        raise typer.BadParameter("--accept needs a portal")
    config = get_scraper(site).config
    work = partial(accept_drift, site=site, config=config, settings=settings, now=time.time())
    accepted = database.run_write(work)
    if accepted is None:
        raise ValueError(f"{site}: no run yet; begin one with `sale-sofia crawl {site}`")
    out.print(f"{site}: run {accepted.job_id} says from now on what is usual", highlight=False)


def _site_row(database: Database, settings: Settings, site: str) -> tuple[dict[str, Any], list[Check]]:
    run = database.run_read(partial(last_run, site=site))
    found = database.run_read(partial(open_drift, site=site))
    judged = [] if run is None else _judged(database, settings, run)
    row = {
        "site": site,
        "job_id": run.job_id if run else None,
        "sound": run.sound if run else None,
        "open": [{"kind": one.kind.value, "message": one.message, **one.details} for one in found],
        "checks": [{"verdict": one.verdict.value, **one.details()} for one in judged],
    }
    return row, judged


def _judged(database: Database, settings: Settings, run: DriftRun) -> list[Check]:
    config = get_scraper(run.site).config
    return checks(database.run_read(partial(evidence_of, run=run, config=config, settings=settings)))


def _show(row: dict[str, Any], judged: list[Check]) -> None:
    out.print(f"\n{row['site']}", style="bold")
    if row["job_id"] is None:
        log.print("no run yet", style="dim")
        return
    table = Table("field", "what", "usual", "last run", "of", "verdict", "first selector")
    for check in judged:
        table.add_row(check.name, *_cells(check), check.selector or "")
    out.print(table)
    for one in row["open"]:
        out.print(f"{one['kind']}: {one['message']}", style="red", soft_wrap=True)


def _cells(check: Check) -> tuple[str | Text, ...]:
    verdict = Text(check.verdict.value, _STYLES[check.verdict])
    what = check.kind.value.removeprefix("drift_")
    return what, _number(check.usual), _number(check.now), str(check.pages), verdict


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:.0%}" if value <= 1 else f"{value:,.0f}"


def repair(
    site: Annotated[str, typer.Argument(help="The portal, as `sale-sofia sites list` names it.")],
    as_json: AsJson = False,
) -> None:
    """Propose selectors for the fields that drifted, from archived pages; nothing is asked of the portal.

    A proposal gives, on pages from after the change, the values that the same adverts had before it. It is
    printed for the site file with its evidence, and never applied by itself.
    """
    get_scraper(site)
    settings = load_settings()
    database = open_ready(settings)
    found = propose_repair(database, open_archive(settings), site)
    print_json(_as_json(found)) if as_json else _print_repair(found)
    if not any(found.proposals.values()):
        raise typer.Exit(NOT_ALL_RIGHT)


def _print_repair(found: Repair) -> None:
    out.print(f"# {found.site}.yaml: proposals; look at each before you use it", highlight=False)
    for snippet, evidence in _by_snippet(found).items():
        for line in (*evidence, snippet):
            out.print(line, highlight=False, soft_wrap=True)
    for name, proposals in found.proposals.items():
        if not proposals:
            _remark(f"listing.fields.{name}: nothing on the new pages gives its known values")
    for name in found.others:
        _remark(f"{name}: no field of an advert's page; look at it with `sale-sofia sites check`")


def _remark(text: str) -> None:
    out.print(f"# {text}", highlight=False, soft_wrap=True)


def _by_snippet(found: Repair) -> dict[str, list[str]]:
    """Each piece of a site file once, with all fields it is right for."""
    snippets: dict[str, list[str]] = {}
    for name, proposals in found.proposals.items():
        for one in proposals:
            told = f"right on {one.right} of {one.pages} pages, another value on {one.wrong}"
            snippets.setdefault(_yaml(name, one), []).append(f"# listing.fields.{name}: {told}")
    return snippets


def _yaml(name: str, proposal: Proposal) -> str:
    return yaml.safe_dump(
        {"listing": _snippet(name, proposal)}, allow_unicode=True, sort_keys=False, width=100
    ).rstrip()


def _snippet(name: str, proposal: Proposal) -> dict[str, Any]:
    """The link to put first in the field's chain, or the set of rows to read it from."""
    place = proposal.place
    if place.rows is not None:
        return {"rows": {place.link.rows: written(place.rows)}}
    return {"fields": {name: {"from": [written(place.link)]}}}


def _proposal(name: str, one: Proposal) -> dict[str, Any]:
    return {"listing": _snippet(name, one), "right": one.right, "wrong": one.wrong, "pages": one.pages}


def _as_json(found: Repair) -> dict[str, Any]:
    return {
        "site": found.site,
        "fields": {
            name: [_proposal(name, one) for one in proposals] for name, proposals in found.proposals.items()
        },
        "others": list(found.others),
    }
