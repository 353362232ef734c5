"""Commands about portals: list, probe, check and repair them, and begin a new one."""

import asyncio
import json
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.progress import TextColumn, track
from rich.table import Table
from rich.text import Text

from sale_sofia.cli.console import (
    INTERRUPTED,
    NOT_ALL_RIGHT,
    AsJson,
    counted,
    log,
    out,
    plain_table,
    print_answer,
    print_json,
    print_line,
)
from sale_sofia.cli.progress import make_bars, moment
from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.fetch.classify import classify
from sale_sofia.crawl.fetch.robots import Rules, known_delay
from sale_sofia.crawl.frontier.estimate import rate_per_minute
from sale_sofia.crawl.probe import Look, Probe, Reading, keep, make_folder, probe_sites, without_phones
from sale_sofia.crawl.probe import as_json as probe_record
from sale_sofia.crawl.reparse import Repair, propose_repair
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.resilience.limiter import slowed
from sale_sofia.crawl.settings import FIELDS, FREE_TEXTS, PERSONAL, REQUESTS, SAMPLE_CHARACTERS
from sale_sofia.crawl.urls import check_start_url
from sale_sofia.crawl.visit.assembly import make_fetcher, request_maker, robots_gate
from sale_sofia.crawl.visit.judging import error_of
from sale_sofia.crawl.visit.politely import PoliteFetcher, open_gate
from sale_sofia.history.drift.judging import Check, DriftVerdict, checks
from sale_sofia.history.drift.runs import accept_drift, evidence_of
from sale_sofia.history.drift.store import last_run, open_drift
from sale_sofia.history.settings import SHOWN_IDS
from sale_sofia.history.sweeps import forget_learnt, learnt_rows
from sale_sofia.installation import open_archive, open_ready
from sale_sofia.listings.model import FACTS
from sale_sofia.listings.page import Page, PageError
from sale_sofia.listings.text import squeeze
from sale_sofia.operations.hostile import measure_trials, site_trials
from sale_sofia.settings.model import Settings, get_settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.reading import Answer, check_page, error_answer
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper
from sale_sofia.websites.repair import Proposal, written
from sale_sofia.websites.site_file import (
    enabled_sites,
    known_starts,
    load_site_config,
    own_sites_folder,
    sources,
)

app = typer.Typer(no_args_is_help=True, help="The portals sale-sofia can read.")
SiteName = Annotated[str, typer.Argument(help="The portal, as `sale-sofia sites list` names it.")]


# What drifted, and proposed repairs.

_STYLES = {DriftVerdict.DRIFTED: "red", DriftVerdict.USUAL: "green", DriftVerdict.UNSURE: "dim"}


@app.command()
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
    settings = load_settings()
    if site is not None:
        get_scraper(site)  # refuses an unknown portal
    database = open_ready(settings)
    if accept:
        if site is None:
            raise typer.BadParameter("--accept needs a portal")
        config = get_scraper(site).config
        work = partial(accept_drift, site=site, config=config, settings=settings, now=time.time())
        accepted = database.run_write(work)
        if accepted is None:
            raise ValueError(f"{site}: no run yet; begin one with `sale-sofia crawl {site}`")
        out.print(f"{site}: run {accepted.job_id} says from now on what is usual")
        return
    found = [_drift_of(database, settings, name) for name in ([site] if site else AVAILABLE_SITES)]
    for row, judged in found:
        print_json(row) if as_json else _show_drift(row, judged)
    if any(row["open"] for row, _ in found):
        raise typer.Exit(NOT_ALL_RIGHT)


def _drift_of(database: Database, settings: Settings, site: str) -> tuple[dict[str, Any], list[Check]]:
    run = database.run_read(partial(last_run, site=site))
    incidents = database.run_read(partial(open_drift, site=site))
    judged: list[Check] = []
    if run is not None:
        config = get_scraper(site).config
        judged = checks(database.run_read(partial(evidence_of, run=run, config=config, settings=settings)))
    row = {
        "site": site,
        "job_id": run.job_id if run else None,
        "sound": run.sound if run else None,
        "open": [
            {"kind": incident.kind.value, "message": incident.message, **incident.details}
            for incident in incidents
        ],
        "checks": [{"verdict": check.verdict.value, **check.details()} for check in judged],
    }
    return row, judged


def _show_drift(row: dict[str, Any], judged: list[Check]) -> None:
    def number(value: float | None) -> str:
        if value is None:
            return "?"
        return f"{value:.0%}" if value <= 1 else f"{value:,.0f}"

    out.print(f"\n{row['site']}", style="bold")
    if row["job_id"] is None:
        log.print("no run yet", style="dim")
        return
    table = Table("field", "what", "usual", "last run", "of", "verdict", "first selector")
    for check in judged:
        kind = check.kind.value.removeprefix("drift_")
        verdict = Text(check.verdict.value, _STYLES[check.verdict])
        numbers = (number(check.usual), number(check.now), str(check.pages))
        table.add_row(check.name, kind, *numbers, verdict, check.selector or "")
    out.print(table)
    for incident in row["open"]:
        out.print(f"{incident['kind']}: {incident['message']}", style="red", soft_wrap=True)


@app.command()
def repair(site: SiteName, as_json: AsJson = False) -> None:
    """Propose selectors for the fields that drifted, from archived pages; nothing is asked of the portal.

    A proposal gives, on pages from after the change, the values that the same adverts had before it. It is
    printed for the site file with its evidence, and never applied by itself.
    """
    get_scraper(site)
    settings = load_settings()
    database = open_ready(settings)
    found = propose_repair(database, open_archive(settings), site)
    if as_json:
        fields = {
            name: [
                {
                    "listing": _snippet(name, proposal),
                    "right": proposal.right,
                    "wrong": proposal.wrong,
                    "pages": proposal.pages,
                }
                for proposal in proposals
            ]
            for name, proposals in found.proposals.items()
        }
        print_json({"site": found.site, "fields": fields, "others": list(found.others)})
    else:
        _print_repair(found)
    if not any(found.proposals.values()):
        raise typer.Exit(NOT_ALL_RIGHT)


def _snippet(name: str, proposal: Proposal) -> dict[str, Any]:
    """The link to put first in the field's chain, or the set of rows to read it from."""
    place = proposal.place
    if place.rows is not None:
        return {"rows": {place.link.rows: written(place.rows)}}
    return {"fields": {name: {"from": [written(place.link)]}}}


def _print_repair(found: Repair) -> None:
    out.print(f"# {found.site}.yaml: proposals; look at each before you use it")
    evidence: dict[str, list[str]] = {}  # each piece of a site file, with all fields that it fits
    for name, proposals in found.proposals.items():
        for proposal in proposals:
            piece = {"listing": _snippet(name, proposal)}
            snippet = yaml.safe_dump(piece, allow_unicode=True, sort_keys=False, width=100).rstrip()
            counts = f"right on {proposal.right} of {proposal.pages} pages, another value on {proposal.wrong}"
            evidence.setdefault(snippet, []).append(f"# listing.fields.{name}: {counts}")
    for snippet, lines in evidence.items():
        for line in (*lines, snippet):
            print_line(line)
    for name, proposals in found.proposals.items():
        if not proposals:
            print_line(f"# listing.fields.{name}: nothing on the new pages gives its known values")
    for name in found.others:
        print_line(f"# {name}: no field of an advert's page; look at it with `sale-sofia sites check`")


# What crawls learnt about the portals' limits and filters.


@app.command()
def learnt(
    site: Annotated[str | None, typer.Argument(help="One portal; all without it.")] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Forget it, so that the next crawl of the portal learns it anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what crawls learnt about the portals: how much of a search they show, ids and useless filters.

    It is believed for 30 days, and learnt anew by the next crawl after that.
    """
    if site is not None:
        get_scraper(site)
    if forget and site is None:
        raise typer.BadParameter("with --forget name the portal")
    database = open_ready(load_settings())
    if forget and site is not None:
        count = database.run_write(partial(forget_learnt, site=site))
        log.print(f"{site}: {count} forgotten")
        return
    rows = database.run_read(partial(learnt_rows, site=site))
    cells = (
        (row["site"], moment(row["learnt_at"]), *_learnt_cells(row["name"], row["value"])) for row in rows
    )
    table = plain_table("Learnt", ("site", "since", "what"), (), "value", rows=cells)
    none_yet = "nothing learnt yet; crawls of portals that cap their searches learn how to cut them"
    print_answer({"learnt": rows}, table, as_json=as_json, empty=none_yet)


def _learnt_cells(name: str, value: Any) -> tuple[str, str]:  # noqa: ANN401 - numbers, ids or names
    kind, _, query = name.partition(":")
    if kind == "most":
        return "most adverts of a search", str(value)
    if kind == "ids":
        first_ids = ", ".join(value[:SHOWN_IDS])
        return f"ids of {query}", f"{len(value)}: {first_ids}{' …' if len(value) > SHOWN_IDS else ''}"
    return "filter that changes nothing", query


# A first, polite look at portals, and how well each is read.

_COLOURS = {Reading.WELL: "green", Reading.IN_PART: "yellow", Reading.NOT_AT_ALL: "red"}
_COUNTED = {"phones": "number", "description": "character", "photo_urls": "photo"}
_UNITS = {"price_eur": " EUR", "area_sqm": " m²"}
_SHOWN_ABOVE = frozenset({"price_eur", "area_sqm", "property_type"})
"""Facts that are the whole of a heading of FIELDS, and get no second row of their own."""


@app.command()
def probe(
    sites: Annotated[
        list[str] | None, typer.Argument(help=f"Portals: {', '.join(AVAILABLE_SITES)}. Default: all.")
    ] = None,
    start_url: Annotated[
        list[str] | None, typer.Option(help="Begin here instead of at the portal's usual searches; any host.")
    ] = None,
    keep_dir: Annotated[
        Path | None,
        typer.Option(
            "--keep", help="Save the pages and what was read of them in this new folder.", file_okay=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look at portals before the first crawl: do they let us in, and can their pages be read?

    Each is asked at most seven times, at its own rate and as its robots.txt allows: robots.txt, a page of
    results, three adverts, the next page, and one more where an advert is gone or a page was moved. Nothing
    is stored. Ends with 0 when all read well.

    sale-sofia sites probe imot.bg
    """
    names = list(dict.fromkeys(sites or enabled_sites()))
    if start_url and len(names) != 1:
        raise typer.BadParameter("--start-url needs exactly one SITE: its name decides how pages are read")
    scrapers = [get_scraper(name) for name in names]
    starts = tuple(check_start_url(scrapers[0], url) for url in start_url or ())
    if keep_dir:
        make_folder(keep_dir)
    probes = look_at(names, starts)
    if keep_dir:
        keep(keep_dir, probes)
    if as_json:
        print_json({"probes": [probe_record(result) for result in probes]})
    else:
        _show_probes(probes, keep_dir)
    if any(result.verdict is not Reading.WELL for result in probes):
        raise typer.Exit(NOT_ALL_RIGHT)


def look_at(names: Sequence[str], starts: tuple[str, ...]) -> list[Probe]:
    """Probe the portals; on a terminal with a bar for each that names the present request."""
    try:
        with make_bars(log, TextColumn("{task.fields[asking]}")) as bars:
            tasks = {name: bars.add_task(name, total=REQUESTS, asking="") for name in names}

            def show(site: str, asking: str, sent: int) -> None:
                bars.update(tasks[site], completed=sent, asking=asking)

            return probe_sites(load_settings(), names, starts, show)
    except KeyboardInterrupt:
        log.print("stopped; nothing was kept")
        raise typer.Exit(INTERRUPTED) from None


def _show_probes(probes: Sequence[Probe], folder: Path | None) -> None:
    for result in probes:
        print_line(result.site, style="bold")
        if result.requests:
            _show_robots(result)
        if result.looks:
            table = Table("page", "status", "kind", "block", "found")
            for look in result.looks:
                status = "–" if look.status is None else str(look.status)
                table.add_row(look.what, status, look.kind, look.block or "none", _found_on(result, look))
            out.print(table)
        if result.read:
            out.print(_fields_table(result))
            never = [name for name in FACTS if not any(name in advert.facts for advert in result.read)]
            if never:
                out.print(f"on none: {', '.join(never)}")
            unclear = {name: text for advert in result.read for name, text in advert.not_understood.items()}
            if unclear:
                texts = (
                    f"{name} “{'not shown' if name in PERSONAL else _short(without_phones(text))}”"
                    for name, text in unclear.items()
                )
                out.print(f"found, but no value made of it: {', '.join(texts)}")
        out.print()
    if folder:
        print_line(f"kept in {folder}; read again: sale-sofia parse --manifest {folder / 'manifest.jsonl'}")
    for result in probes:
        print_line(f"{result.site}: {result.sentence}", style=_COLOURS[result.verdict])


def _show_robots(result: Probe) -> None:
    status = f"answered {result.robots.status}" if result.robots else "no answer"
    delay = "no Crawl-delay" if result.crawl_delay is None else f"Crawl-delay {result.crawl_delay:g} s"
    rules = "nothing may be asked" if result.start_url is None else f"allowed, {delay}"
    print_line(f"robots.txt: {status}, {rules}")
    print_line(f"requests: {result.requests}, one every {result.seconds_per_request:.3g} s")
    for url in result.forbidden:
        print_line(f"not allowed: {url}")
    if result.start_url:
        print_line(f"{'began instead' if result.forbidden else 'began'} at {result.start_url}")


def _found_on(result: Probe, look: Look) -> str | Text:
    if look.problem:
        return Text("not read, see below", "red")
    if look.advert:
        return ", ".join(heading for heading in FIELDS if look.advert.has(heading)) or "nothing that matters"
    if look.search is None:
        return "gone"
    cards = counted(len(look.search.cards), "card")
    if look is result.next_page:
        return f"{cards}, {result.new_on_next_page} of them new"
    total = "no total" if look.search.total is None else f"{look.search.total} announced"
    return f"{cards}, {total}, {'a' if look.search.next_url else 'no'} next page"


def _fields_table(result: Probe) -> Table:
    table = Table("field", f"of {len(result.opened)}", "sample")
    for heading in FIELDS:
        samples = (
            ", ".join(sample(name, advert.facts[name]) for name in FIELDS[heading] if name in advert.facts)
            for advert in result.read
        )
        first = next(filter(None, samples), "on request" if result.count(heading) else "")
        table.add_row(Text(heading, "bold"), str(result.count(heading)), first)
    for name in FACTS:
        values = [advert.facts[name] for advert in result.read if name in advert.facts]
        if values and name not in _SHOWN_ABOVE:
            table.add_row(name, str(len(values)), sample(name, values[0]))
    return table


def sample(name: str, value: Any) -> str:  # noqa: ANN401 - facts have many types
    """A value on one short line; for personal data only that there is some."""
    if name in _COUNTED:
        return f"{len(value)} {_COUNTED[name]}{'' if len(value) == 1 else 's'}"
    if name in PERSONAL:
        return "a name"
    match value:
        case tuple():
            text = ", ".join(map(str, value))
        case float():
            text = f"{value:.10g}"
        case datetime():
            text = f"{value:%Y-%m-%d %H:%M}"
        case _:
            text = str(value)
    return _short(without_phones(text) if name in FREE_TEXTS else text) + _UNITS.get(name, "")


def _short(text: str) -> str:
    line = squeeze(text)
    return line if len(line) <= SAMPLE_CHARACTERS else line[: SAMPLE_CHARACTERS - 1] + "…"


_SECONDS_PER_MINUTE = 60


@app.command("list")
def list_sites(as_json: AsJson = False) -> None:
    """List the portals, how often each is asked and where a crawl of it begins."""
    rows = list(_site_rows(load_settings()))
    table = Table("site", "hosts", "a request every", "at once", "start URLs")
    for row in rows:
        hosts, delay = ", ".join(row["hosts"]), f"{row['delay_seconds']:.3g} s"
        name = row["site"] if row["enabled"] else f"{row['site']} (off)"
        table.add_row(name, hosts, delay, str(row["concurrency"]), str(len(row["start_urls"])))
    print_answer({"sites": rows}, table, as_json=as_json)


def _site_rows(settings: Settings) -> Iterator[dict[str, Any]]:
    for name in AVAILABLE_SITES:
        config = load_site_config(name)
        yield {
            "site": name,
            "enabled": config.enabled,
            "hosts": list(config.hosts),
            "delay_seconds": round(_SECONDS_PER_MINUTE / rate_per_minute(settings, config), 6),
            "concurrency": config.politeness.concurrency,
            "start_urls": list(known_starts(name)),
        }


@app.command()
def show(site: SiteName, as_json: AsJson = False) -> None:
    """Print how a portal is read, and which file each value is from.

    A file in SITES_DIR without `site:` is laid over the installed one: maps by their keys, lists whole.
    """
    get_scraper(site)  # refuses an unknown portal
    found = sources(site)
    table = Table("key", "value", "from")
    own = own_sites_folder()
    for key, (value, path) in found.items():
        yours = own is not None and path.parent == own
        text = json.dumps(value, ensure_ascii=False, default=str)
        table.add_row(Text(key), Text(text), Text(str(path) if yours else path.name, "bold" if yours else ""))
    record = {key: {"value": value, "from": str(path)} for key, (value, path) in found.items()}
    print_answer(record, table, as_json=as_json)


# How a page is read: a saved one, one of a simulated portal, or one of the real portal, asked for politely.

_ADVERTS = 3
_SEED = 1


@app.command()
def check(
    site: SiteName,
    file: Annotated[Path | None, typer.Option(help="A saved page.", exists=True, dir_okay=False)] = None,
    url: Annotated[
        str | None, typer.Option(help="Where it was saved from; without --file it is fetched, politely.")
    ] = None,
    hostile: Annotated[
        bool, typer.Option("--hostile", help="Try the site file on pages and texts made to be slow to read.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show how a page is read: which link of each field's chain found a text, and what is missing.

    A saved page:  sale-sofia sites check imot.bg --file page.html --url https://www.imot.bg/obiava-…

    The portal itself, one request, robots.txt obeyed:  sale-sofia sites check imot.bg --url https://…

    Without both, pages of the simulated portal are read; nothing is ever asked of a real one.

    With --hostile no page is shown. Every pattern and selector of the site file reads texts and pages made
    for it, up to 2 MB: twice as much may take at most 2.5 times as long, and a megabyte two seconds.
    """
    scraper = get_scraper(site)
    if hostile:
        # Try everything that can be slow; exit with 1 where anything is.
        trials = site_trials(scraper)
        found = list(track(measure_trials(trials), "trying", len(trials), console=log, transient=True))
        slow = [growth for growth in found if growth.fault]
        slowest = round(
            max((second for growth in found for second in growth.seconds.values()), default=0.0), 3
        )
        faults = [{"name": growth.name, "fault": growth.fault, "seconds": growth.seconds} for growth in slow]
        record = {"site": scraper.name, "tried": len(found), "slowest_seconds": slowest, "slow": faults}
        lines = [Text(f"slow: {growth.name}: {growth.fault}", "red") for growth in slow]
        verdict = f"{len(slow)} are slow" if slow else f"none is slow; the slowest took {slowest:.2f} s"
        print_answer(record, *lines, f"{scraper.name}: {len(found)} tried, {verdict}", as_json=as_json)
        if slow:
            raise typer.Exit(NOT_ALL_RIGHT)
        return
    answers = [_read_page(scraper, page) for page in _pages(scraper, file, url)]
    for answer in answers:
        print_json(answer) if as_json else _show_page(answer)
    if any(answer["kind"] == "error" for answer in answers):
        raise typer.Exit(NOT_ALL_RIGHT)


def _read_page(site: TableSite, page: Page) -> Answer:
    try:
        return check_page(site, page)
    except PageError as error:
        return error_answer(site.name, page.url, error.code, str(error))


def _pages(site: TableSite, file: Path | None, url: str | None) -> list[Page]:
    if file is not None and url is None:
        raise typer.BadParameter("with --file give --url too: the address the page was saved from")
    if file is not None:
        return [Page(url or "", file.read_bytes())]
    return [asyncio.run(_fetch_page(site, url))] if url else _simulated_pages(site.name)


def _simulated_pages(site: str) -> list[Page]:
    """The first advert and the first page of results of the simulated portal."""
    # The whole simulator, which no other command about portals needs.
    from sale_sofia_simulator.render import TWIN_PORTALS, render_twin, render_world  # noqa: PLC0415
    from sale_sofia_simulator.simulation import SITES  # noqa: PLC0415
    from sale_sofia_simulator.world import make_world  # noqa: PLC0415

    if site not in SITES:
        raise typer.BadParameter(
            f"there is no simulated {site}; give a saved page (--file PAGE --url URL), or --url to fetch one"
        )
    world = make_world(_ADVERTS, _SEED)
    pages = render_twin(world, site) if site in TWIN_PORTALS else render_world(world)
    first: dict[str, Page] = {}
    for page in pages:
        if page.site == site and page.truth["kind"] in {"listing", "search"}:
            first.setdefault(page.truth["kind"], Page(page.url, page.body))
    return list(first.values())


async def _fetch_page(site: TableSite, url: str) -> Page:
    """Fetch a page at the portal's rate; ValueError if that may not be, or the answer is not the page."""
    settings, start = get_settings(), check_start_url(site, url)
    if site.config.proxies.use:
        raise ValueError(
            f"{site.name} is asked through proxies alone, and a check asks directly; "
            "save the page and give it with --file"
        )
    fetcher = make_fetcher(settings)
    rate, known = rate_per_minute(settings, site.config), dict[str, Rules]()

    def delay_of(_: str) -> float | None:
        """The Crawl-delay, once robots.txt is read."""
        return known_delay(known, start) if settings.robots_obeyed else None

    def rate_of(domain: str) -> float:
        return slowed(rate, delay_of(domain))

    gate = open_gate(settings, rate_of, lambda _: site.config.politeness.concurrency, delay_of)
    polite = PoliteFetcher(
        fetcher=fetcher,
        gate=gate,
        domain=site.name,
        longest_wait=settings.longest_polite_wait,
        most_redirects=settings.fetch_max_redirects,
    )
    request_for = request_maker(settings, site.config, (start,))
    try:
        robots = robots_gate(settings, polite, request_for, known)
        may_ask = robots.allowed if settings.robots_obeyed else None
        if may_ask and not await may_ask(start):
            raise ValueError(f"{start}: robots.txt does not allow it, or could not be read")
        answer = await polite.ask(request_for(start), partial(_page_answer, site, start), may_ask)
    except CrawlError as error:
        raise ValueError(f"{url}: {error}") from error
    finally:
        await gate.close()
        await fetcher.close()
    return Page(url, answer.body, answer.headers.get("content-type"))


async def _page_answer(site: TableSite, url: str, answer: Response) -> Response:
    """The answer, if it is the page; raises `CrawlError` for a block, or a page that is not there."""
    verdict = classify(answer, url, datetime.now(UTC), proof=site.config.proof)
    if verdict.kind not in {"ok", "redirected"}:
        raise error_of(verdict, answer.status)
    return answer


def _show_page(answer: Answer) -> None:
    print_line(f"\n{answer['kind']} {answer['url']}", style="bold")
    if answer["kind"] == "error":
        error = answer["error"]
        log.print(f"{error['type']}: {error['message']}", style="red", soft_wrap=True)
        return
    table = Table("field", "link", "selector", "text", "value")
    for row in answer["fields"]:
        text: str | Text = str(row["text"] or "")
        if row["unmatched"] is not None:
            text = Text(f"match missed in: {row['unmatched']}", "yellow")
        value = ", ".join(f"{name} {value}" for name, value in row["value"].items())
        table.add_row(row["field"], _link(row), row["selector"] or "", text, value)
    if answer["fields"]:
        out.print(table)
    print_line(_summary(answer))


def _link(row: Answer) -> str | Text:
    if row["link"] is None:
        return Text(f"none of {row['links']}", "yellow")
    if "filled" in row:
        return ", ".join(f"{link} on {count}" for link, count in row["matched"].items())
    return f"{row['link']} of {row['links']}"


def _summary(answer: Answer) -> str:
    if "list" in answer:
        counts = (("cards", "advert"), ("sitemaps", "sitemap"), ("ids", "id"))
        return f"{answer['list']}: {', '.join(counted(answer[name], thing) for name, thing in counts)}"
    missing = f"missing: {', '.join(answer['missing']) or 'nothing'}"
    unproven = "; none of the marks of proof stands on this page" if answer["proven"] is False else ""
    if answer["kind"] == "search":
        paging = f"total {answer['total']}, next {answer['next_url']}"
        return f"layout {answer['layout']}, {counted(answer['cards'], 'card')}, {paging}; {missing}{unproven}"
    unread = f"; found but not understood: {', '.join(answer['unread'])}" if answer["unread"] else ""
    flags = f"; flags: {', '.join(answer['flags'])}" if answer["flags"] else ""
    return f"advert {answer['external_id']}; {missing}{unread}{flags}{unproven}"


# A new portal's files: its site file with every key explained, and a test that reads saved pages by it.

_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}")


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The portal's domain, like flats.example.")],
    folder: Annotated[
        Path | None, typer.Option(help="Where to write; by default SITES_DIR, else ./sites.", file_okay=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Begin a portal: write its commented site file, switched off, and a test of it, ready to be filled in.

    Nothing is overwritten. Then save a page of results and one of an advert, fill in the file, and look at
    it with `sale-sofia sites check NAME --file PAGE --url URL`. docs/adding-a-portal.md goes through it.
    """
    paths = write_site(name, folder)
    then = (
        f"set SITES_DIR={paths[0].parent} and run: sale-sofia sites check {name} --file PAGE --url URL; "
        f"once it reads well, remove `enabled: false` from {paths[0].name}: until then no crawl asks {name}"
    )
    record = {"site": name, "written": [str(path) for path in paths]}
    print_answer(record, *(f"wrote {path}" for path in paths), then, as_json=as_json)


def write_site(name: str, folder: Path | None) -> tuple[Path, Path]:
    """Write the site file and its test; writes nothing if either exists."""
    if not _DOMAIN.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is no domain; write it like flats.example, in small letters")
    if name in AVAILABLE_SITES:
        raise typer.BadParameter(f"there is a portal {name} already; `sale-sofia sites list` names them all")
    place = folder or own_sites_folder() or Path("sites")
    paths = place / f"{name}.yaml", place / f"test_{re.sub(r'[^a-z0-9]', '_', name)}.py"
    for path in paths:
        if path.exists():
            raise typer.BadParameter(f"{path} exists already; nothing was written")
    place.mkdir(parents=True, exist_ok=True)
    templates = files("sale_sofia.websites").joinpath("new_site")
    for path, template in zip(paths, ("site.yaml.txt", "test_site.py.txt"), strict=True):
        path.write_text(templates.joinpath(template).read_text("utf-8").replace("NAME", name), "utf-8")
    return paths
