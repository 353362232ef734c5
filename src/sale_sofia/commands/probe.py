"""`sale-sofia sites probe`: a first, polite look at portals, and how well each is read."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich.progress import TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from sale_sofia.commands.console import INTERRUPTED, NOT_ALL_RIGHT, AsJson, log, out, print_json
from sale_sofia.commands.progress import make_bars
from sale_sofia.config.probing import FIELDS, FREE_TEXTS, PERSONAL, REQUESTS, SAMPLE_CHARACTERS
from sale_sofia.config.settings import load_settings
from sale_sofia.listings.model import FACTS
from sale_sofia.listings.text import squeeze
from sale_sofia.scraping.probe_files import as_json as for_program
from sale_sofia.scraping.probe_files import keep, make_folder, without_phones
from sale_sofia.scraping.probing import Look, Probe, probe_sites
from sale_sofia.scraping.urls import check_start_url
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper

_COLOURS = {"reads well": "green", "reads in part": "yellow", "does not read": "red"}
_COUNTED = {"phones": "number", "description": "character", "photo_urls": "photo"}
_UNITS = {"price_eur": " EUR", "area_sqm": " m²"}
_TOLD_ABOVE = frozenset({"price_eur", "area_sqm", "property_type"})
"""Facts that are the whole of a field that matters, and have no second line of their own."""


def probe(
    sites: Annotated[
        list[str] | None, typer.Argument(help=f"Portals: {', '.join(AVAILABLE_SITES)}. All without any.")
    ] = None,
    start_url: Annotated[
        list[str] | None, typer.Option(help="Begin here instead of at the portal's searches; any host.")
    ] = None,
    keep_dir: Annotated[
        Path | None,
        typer.Option(
            "--keep", help="Save the pages and what was read of them in this new folder.", file_okay=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look at portals before the first crawl: do they let us in, and is what matters read?

    Each is asked at most seven times, at its own rate and as its robots.txt allows: robots.txt, a page of
    results, three adverts, the next page. Nothing is stored. Ends with 0 when all read well.

    sale-sofia sites probe imot.bg
    """
    names = list(dict.fromkeys(sites or AVAILABLE_SITES))
    if start_url and len(names) != 1:
        raise typer.BadParameter("--start-url needs exactly one SITE: its name decides how pages are read")
    scrapers = [get_scraper(name) for name in names]
    starts = tuple(check_start_url(scrapers[0], url) for url in start_url or ())
    if keep_dir:
        make_folder(keep_dir)
    probes = _asked(names, starts)
    if keep_dir:
        keep(keep_dir, probes)
    if as_json:
        print_json({"probes": [for_program(one) for one in probes]})
    else:
        _show(probes, keep_dir)
    if any(one.verdict != "reads well" for one in probes):
        raise typer.Exit(NOT_ALL_RIGHT)


def _asked(names: Sequence[str], starts: tuple[str, ...]) -> list[Probe]:
    try:
        with _Steps(names) as steps:
            return probe_sites(load_settings(), names, starts, steps.show)
    except KeyboardInterrupt:
        log.print("stopped; nothing was kept", highlight=False)
        raise typer.Exit(INTERRUPTED) from None


class _Steps:
    """A bar per portal on a terminal: what it is being asked for."""

    def __init__(self, names: Sequence[str]) -> None:
        self._bars = make_bars(log, TextColumn("{task.fields[asking]}"))
        self._tasks: dict[str, TaskID] = {
            name: self._bars.add_task(name, total=REQUESTS, asking="") for name in names
        }

    def show(self, site: str, asking: str, sent: int) -> None:
        """The portal is about to be asked for this, after so many requests."""
        self._bars.update(self._tasks[site], completed=sent, asking=asking)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


def _show(probes: Sequence[Probe], kept: Path | None) -> None:
    for one in probes:
        _say(one.site, style="bold")
        if one.requests:
            _show_robots(one)
        if one.looks:
            out.print(_pages_table(one))
        if one.read:
            out.print(_fields_table(one))
            _show_rest(one)
        out.print()
    if kept:
        _say(f"kept in {kept}; read again: sale-sofia parse --manifest {kept / 'manifest.jsonl'}")
    for one in probes:
        _say(f"{one.site}: {one.sentence}", style=_COLOURS[one.verdict])


def _say(sentence: str, style: str = "") -> None:
    out.print(sentence, style=style, highlight=False, soft_wrap=True)


def _show_robots(one: Probe) -> None:
    _say(f"robots.txt: {_rules(one)}")
    _say(f"requests: {one.requests}, one every {one.seconds_per_request:.3g} s")
    for url in one.forbidden:
        _say(f"not allowed: {url}")
    if one.start_url:
        _say(f"{'began instead' if one.forbidden else 'began'} at {one.start_url}")


def _rules(one: Probe) -> str:
    status = f"answered {one.robots.status}" if one.robots else "no answer"
    if one.start_url is None:
        return f"{status}, nothing may be asked"
    delay = "no Crawl-delay" if one.crawl_delay is None else f"Crawl-delay {one.crawl_delay:g} s"
    return f"{status}, allowed, {delay}"


def _pages_table(one: Probe) -> Table:
    table = Table("page", "status", "kind", "block", "found")
    for look in one.looks:
        cells = (look.what, "–" if look.status is None else str(look.status), look.kind, look.block or "none")
        table.add_row(*cells, _found(one, look))
    return table


def _found(one: Probe, look: Look) -> str | Text:
    if look.problem:
        return Text("not read, see below", "red")
    if look.advert:
        return ", ".join(what for what in FIELDS if look.advert.has(what)) or "nothing that matters"
    if look.search is None:
        return "gone"
    cards = f"{len(look.search.cards)} cards"
    if look is one.next_page:
        return f"{cards}, {one.new_on_next_page} of them new"
    total = "no total" if look.search.total is None else f"{look.search.total} announced"
    return f"{cards}, {total}, {'a' if look.search.next_url else 'no'} next page"


def _fields_table(one: Probe) -> Table:
    of = len(one.opened)
    table = Table("field", f"of {of}", "sample")
    for what in FIELDS:
        table.add_row(Text(what, "bold"), str(one.count(what)), _matter_sample(one, what))
    for name in FACTS:
        values = [advert.facts[name] for advert in one.read if name in advert.facts]
        if values and name not in _TOLD_ABOVE:
            table.add_row(name, str(len(values)), sample(name, values[0]))
    return table


def _matter_sample(one: Probe, what: str) -> str:
    for advert in one.read:
        if found := [sample(name, advert.facts[name]) for name in FIELDS[what] if name in advert.facts]:
            return ", ".join(found)
    return "on request" if one.count(what) else ""


def sample(name: str, value: Any) -> str:  # noqa: ANN401 - facts have many types
    """A value on one short line; of a person only that there is something."""
    if name in _COUNTED:
        return f"{len(value)} {_COUNTED[name]}{'' if len(value) == 1 else 's'}"
    if name in PERSONAL:
        return "a name"
    text = _text(value)
    return _short(without_phones(text) if name in FREE_TEXTS else text) + _UNITS.get(name, "")


def _text(value: Any) -> str:  # noqa: ANN401 - facts have many types
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.10g}"
    return f"{value:%Y-%m-%d %H:%M}" if isinstance(value, datetime) else str(value)


def _short(text: str) -> str:
    line = squeeze(text)
    return line if len(line) <= SAMPLE_CHARACTERS else line[: SAMPLE_CHARACTERS - 1] + "…"


def _show_rest(one: Probe) -> None:
    never = [name for name in FACTS if not any(name in advert.facts for advert in one.read)]
    if never:
        _wrapped(f"on none: {', '.join(never)}")
    unclear = {name: text for advert in one.read for name, text in advert.not_understood.items()}
    if unclear:
        told = ", ".join(f"{name} “{_unclear(name, text)}”" for name, text in unclear.items())
        _wrapped(f"found, but no value made of it: {told}")


def _unclear(name: str, text: str) -> str:
    return "not shown" if name in PERSONAL else _short(without_phones(text))


def _wrapped(sentence: str) -> None:
    out.print(sentence, highlight=False)
