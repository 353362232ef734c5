"""A site file tried on what is made to be slow to read: `sale-sofia sites check NAME --hostile`."""

from rich.progress import track
from rich.text import Text
from typer import Exit

from sale_sofia.commands.console import NOT_ALL_RIGHT, log, out, print_json
from sale_sofia.monitoring.growth import Growth, growths
from sale_sofia.monitoring.hostile_sites import site_trials
from sale_sofia.websites.table_site import TableSite


def try_hostile(site: TableSite, *, as_json: bool) -> None:
    """The verdict on everything that can be tried; exits with 1 where anything is slow."""
    trials = site_trials(site)
    told = track(growths(trials), "trying", len(trials), console=log, transient=True)
    found = list(told)
    slow = [growth for growth in found if growth.fault]
    if as_json:
        print_json(_answer(site.name, found, slow))
    else:
        _show(site.name, found, slow)
    if slow:
        raise Exit(NOT_ALL_RIGHT)


def _answer(site: str, found: list[Growth], slow: list[Growth]) -> dict[str, object]:
    return {
        "site": site,
        "tried": len(found),
        "slowest_seconds": _slowest(found),
        "slow": [{"name": one.name, "fault": one.fault, "seconds": one.seconds} for one in slow],
    }


def _show(site: str, found: list[Growth], slow: list[Growth]) -> None:
    for one in slow:
        out.print(Text(f"slow: {one.name}: {one.fault}", "red"), soft_wrap=True)
    verdict = f"{len(slow)} are slow" if slow else f"none is slow; the slowest took {_slowest(found):.2f} s"
    out.print(f"{site}: {len(found)} tried, {verdict}", highlight=False, soft_wrap=True)


def _slowest(found: list[Growth]) -> float:
    return round(max((second for one in found for second in one.seconds.values()), default=0.0), 3)
