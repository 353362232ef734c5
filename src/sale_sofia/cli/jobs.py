"""Commands about jobs: list them, see how the portals are, end one."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from sale_sofia.cli.console import ALLOWED, AsJson, log, moment_of, out, plain_table, print_json, refuse
from sale_sofia.cli.progress import held_back, incident_line, jobs_table, moment, number, status_table
from sale_sofia.crawl.frontier.planning import cancel_job
from sale_sofia.crawl.resilience.breaker import CircuitStatus
from sale_sofia.crawl.resilience.errors import class_names
from sale_sofia.crawl.resilience.factory import get_circuit_breaker, get_rate_limiter
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.urls import UnknownAdvert, advert_of
from sale_sofia.history.changes import CHANGE_KINDS, Happening, happenings
from sale_sofia.history.future import future_sentence
from sale_sofia.history.jobs import list_jobs
from sale_sofia.history.listing_rows import moment_text
from sale_sofia.history.price_meaning import price_per_sqm
from sale_sofia.history.prices import PriceHistory, price_history
from sale_sofia.history.runs.report_page import report_page
from sale_sofia.history.runs.reports import SessionReportGenerator, write_whole
from sale_sofia.history.settings import SHOWN_CHANGES, SHOWN_SWEEPS
from sale_sofia.history.sweeps import Sweep, list_sweeps
from sale_sofia.installation import open_error_log, open_ready
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.operations.status import SiteStatus, site_statuses
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.error_log import Line
from sale_sofia.telemetry.incidents import Incident, open_incidents
from sale_sofia.telemetry.settings import SHOWN_ERRORS, SHOWN_JOBS, STATUS_WATCH_SECONDS
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper


def jobs(as_json: AsJson = False) -> None:
    """List the newest jobs and how each ended."""
    with open_ready(load_settings()).read() as connection:
        found = list_jobs(connection, limit=SHOWN_JOBS)
    if as_json:
        print_json({"jobs": [asdict(job) for job in found]})
    else:
        out.print(jobs_table(found))
        for job in found:
            if job.error:
                out.print(f"{job.id}: {job.error}", highlight=False, soft_wrap=True)


def status(
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again every two seconds, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show for each portal how many adverts are stored, how fresh they are, and what its last job did."""
    refuse(watch and as_json, "--watch is for people; leave out --json, or run it again and again")
    database = open_ready(load_settings())
    if watch:
        _watch(database)
        return
    sites, incidents, clock = database.run_read(_state)
    if as_json:
        told = {"sites": [asdict(one) for one in sites], "incidents": [asdict(one) for one in incidents]}
        print_json({**told, "clock": clock})
    else:
        out.print(_picture(sites, incidents, clock), highlight=False)


def _state(connection: Connection) -> tuple[list[SiteStatus], list[Incident], str | None]:
    """The portals, what is wrong, and what the database holds of the future."""
    clock = future_sentence(connection, now=time.time())
    return site_statuses(connection, AVAILABLE_SITES), open_incidents(connection), clock


def _picture(sites: list[SiteStatus], incidents: list[Incident], clock: str | None) -> Group:
    # Text and not a string, so that square brackets in a message are never taken for markup.
    lines = [*map(incident_line, incidents), *([f"clock: {clock}"] if clock else [])]
    return Group(status_table(sites), *map(Text, lines))


def _watch(database: Database) -> None:
    with suppress(KeyboardInterrupt), Live(console=out, auto_refresh=False) as live:
        # Where lines cannot be taken back, one picture follows the other.
        show = partial(live.update, refresh=True) if out.is_terminal else out.print
        while True:
            show(_picture(*database.run_read(_state)))
            out.file.flush()
            time.sleep(STATUS_WATCH_SECONDS)


def cancel(job: Annotated[str, typer.Argument(help="A job of `sale-sofia jobs`.")]) -> None:
    """End a job for good, whoever crawls it: no further page of it is begun. What is stored stays."""
    ended = open_ready(load_settings()).run_write(
        lambda connection: cancel_job(connection, job, now=time.time())
    )
    log.print(f"job {job} is cancelled" if ended else f"job {job} was cancelled before", highlight=False)


# Tables for people: what changed, the prices of an advert, sweeps.

_LONGEST_VALUE = 24


def changes_table(found: Sequence[Happening]) -> Table:
    """One line for each change."""
    table = plain_table("Changes", ("when", "what", "advert", "neighbourhood"), ("m²", "€", "€/m²"), "change")
    for one in found:
        about = one.about
        advert = f"{about['site']}/{about['external_id']}"
        cells = (about["area_sqm"], about["price_eur"], price_per_sqm(about))
        words = (moment(one.at), one.kind, advert, about["neighbourhood"] or "?")
        table.add_row(*words, *map(number, cells), _what(one))
    return table


def _what(one: Happening) -> str:
    if one.kind == "price":
        return _step(*one.fields["price_eur"])
    if one.fields:
        return ", ".join(f"{name}: {_short(old)} → {_short(new)}" for name, (old, new) in one.fields.items())
    return one.reason or ""


def _step(old: float | None, new: float | None) -> str:
    share = f" ({new / old - 1:+.1%})" if old and new else ""
    return f"{number(old)} → {number(new)} €{share}"


def _short(value: Any) -> str:  # noqa: ANN401 - whatever a field holds
    text = "none" if value is None else " ".join(str(value).split())
    plain = "".join(sign if sign.isprintable() else "?" for sign in text).replace("[", "(").replace("]", ")")
    return plain if len(plain) <= _LONGEST_VALUE else f"{plain[:_LONGEST_VALUE]}…"


def history_head(one: PriceHistory) -> str:
    """What the flat is, since when it is there, and what became of it."""
    end = f"gone since {moment(one.gone_at)}" if one.gone_at else f"last seen {moment(one.last_seen_at)}"
    if one.closed_at:
        end = f"its id was given to another flat on {moment(one.closed_at)}"
    doubt = f"; shows {number(one.odd_price_eur)} €, which is not believed" if one.odd_price_eur else ""
    head = f"{one.site}/{one.external_id}: {one.title or 'without a title'}, {number(one.area_sqm)} m²"
    return f"{head}; first seen {moment(one.first_seen_at)}, {one.days_on_market:.0f} days; {end}{doubt}"


def history_table(one: PriceHistory) -> Table:
    """Its prices, the oldest first."""
    table = plain_table("Prices", ("since",), ("€", "лв", "€/m²"), "VAT, what moved")
    before: float | None = None
    for point in one.points:
        per_sqm = price_per_sqm({"price_eur": point.price_eur, "area_sqm": one.area_sqm})
        moved = _step(before, point.price_eur) if point.kind == "price" else point.kind
        cells = (point.price_eur, point.price_bgn, per_sqm)
        table.add_row(moment(point.seen_at), *map(number, cells), f"VAT {point.vat or 'not said'}, {moved}")
        before = point.price_eur
    return table


def sweeps_table(found: Sequence[Sweep]) -> Table:
    """One line for each sweep."""
    counted = ("announced", "seen", "opened", "priced", "gone")
    table = plain_table("Sweeps", ("site", "began", "ended", "complete"), counted, "job")
    for one in found:
        words = {None: "under way", True: "yes", False: "no"}[one.complete]
        counts = map(number, (one.announced, one.adverts, one.opened, one.stored, one.gone))
        ended = moment(one.finished_at) if one.finished_at else ""
        table.add_row(one.site, moment(one.started_at), ended, words, *counts, one.job_id)
    return table


def sweep_reasons(found: Sequence[Sweep]) -> Iterator[str]:
    """Why sweeps were not complete."""
    return (f"{one.job_id}: {one.reason}" for one in found if one.reason)


# Commands about what changed: changes, price-history, sweeps.

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


# `sale-sofia report`: how the last runs went, whether that is healthy, and what was usual.

Report = dict[str, Any]


def report(
    job: Annotated[
        str | None, typer.Argument(help="A job of `sale-sofia jobs`; the newest of each portal without it.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write it to this file, as a page for a browser.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how runs went: what came of them, their health, the commonest errors, and what was usual."""
    settings = load_settings()
    database = open_ready(settings)
    generator = SessionReportGenerator(settings, database)
    found = generator.session([job]) if job else generator.latest()
    if html is not None:
        write_whole(html, report_page(found))
        log.print(f"report in {html}")
    if as_json:
        print_json(found)
    elif html is None:
        _print(found)


def _print(found: Report) -> None:
    if not found["runs"]:
        log.print("no run yet; begin one with `sale-sofia crawl`")
        return
    out.print(runs_table(found["runs"]))
    out.print(traffic_table(found["runs"]))
    for sentence in (line for run in found["runs"] for line in remarks(run)):
        out.print(sentence, highlight=False, soft_wrap=True)


def runs_table(runs: Sequence[Report]) -> Table:
    """What came of each run, beside what is usual."""
    table = plain_table("Runs", ("site", "state", "health"), ("adverts", "usual", "new", "changed"))
    table.add_column("began")
    for run in runs:
        counted, usual = run["summary"], (run["comparison"] or {}).get("adverts")
        numbers = (counted["adverts"], usual, counted["new"], counted["changed"])
        words = (run["site"], run["state"], run["health"]["state"])
        table.add_row(*words, *map(number, numbers), moment(run["started_at"]))
    return table


def traffic_table(runs: Sequence[Report]) -> Table:
    """How the portal took each run: answers in seconds, waits for our own limits."""
    counted = ("requests", "failed", "blocked", "retries", "waited s", "p50 s", "p95 s", "p99 s")
    table = plain_table("Traffic", ("site",), counted)
    for run in runs:
        table.add_row(run["site"], *_traffic_cells(run["summary"]))
    return table


def _traffic_cells(counted: Report) -> Iterator[str]:
    yield from (number(counted["requests"]), number(counted["pages_failed"]))
    yield f"{counted['block_share']:.1%}"
    yield from (number(counted["retries"]), number(counted["limiter_wait_seconds"]))
    yield from (number(counted["response_seconds"][name], 2) for name in ("p50", "p95", "p99"))


def remarks(run: Report) -> Iterator[str]:
    """How far a run came, why it is unhealthy, what is open for a person, and what went wrong most."""
    site = run["site"]
    if run["coverage"]:
        yield f"{site}: {run['coverage']['line']}"
    for reason in run["health"]["reasons"]:
        yield f"{site}: {reason}"
    if held := run["summary"]["held_back"]:
        yield f"{site}: {held_back(held)}"
    for incident in run["incidents"]:
        yield f"{site}: open since {moment(incident['opened_at'])}: {incident['kind']}: {incident['message']}"
    for error in run["top_errors"]:
        example = error["example"]
        counts = f"{error['failed_pages']} pages, {error['failed_requests']} requests"
        yield f"{site}: {error['class']}: {counts}; {example['url']}: {example['message']}"


# `sale-sofia errors`: what went wrong lately, counted by class, the newest last.


def errors(
    site: Annotated[str | None, typer.Option(help="Only of this portal.")] = None,
    error_class: Annotated[str | None, typer.Option("--class", help="Only of this class.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show so many, the newest.")] = SHOWN_ERRORS,
    as_json: AsJson = False,
) -> None:
    """Show the error log: how many requests failed by class, and the newest of them."""
    if site is not None:
        get_scraper(site)  # a name that is none is said to be
    if error_class is not None and error_class not in (names := class_names()):
        raise typer.BadParameter(f"no class {error_class!r}; allowed: {', '.join(names)}")
    counts: Counter[str] = Counter()
    newest: deque[Line] = deque(maxlen=limit)
    for line in _chosen(site, error_class):
        counts[str(line.get("class"))] += 1
        newest.append(line)
    if as_json:
        print_json({"counts": dict(counts.most_common()), "errors": list(newest)})
        return
    out.print(_counts_table(counts))
    for line in newest:
        out.print(_sentence(line), highlight=False, soft_wrap=True)


def _chosen(site: str | None, error_class: str | None) -> Iterator[Line]:
    wanted = {"domain": site, "class": error_class}
    chosen = {key: value for key, value in wanted.items() if value is not None}
    for line in open_error_log(load_settings()).read():
        if all(line.get(key) == value for key, value in chosen.items()):
            yield line


def _counts_table(counts: Counter[str]) -> Table:
    table = Table("class", "requests", title="Failed requests")
    for name, count in counts.most_common():
        table.add_row(name, str(count))
    return table


def _sentence(line: Line) -> str:
    delay = line.get("next_delay")
    after = "" if delay is None else f" in {delay} s"
    head = f"{line.get('time')} {line.get('class')}, try {line.get('attempt')}, {line.get('action')}{after}"
    return f"{head}: {line.get('url')}: {line.get('message')}"


# The portals' gates as all workers share them: show their circuits, change a rate while they work.

_SHARED = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": True}


def rate(
    site: Annotated[str, typer.Argument(help="The portal.")],
    per_minute: Annotated[
        float | None,
        typer.Argument(help="Requests per minute of all workers together; without it as configured."),
    ] = None,
) -> None:
    """Change a portal's rate while workers crawl: it holds for all of them from their next request on.

    For example: sale-sofia rate imot.bg 20, and later sale-sofia rate imot.bg to take it back.
    """
    settings = _shared_settings()
    domain = get_scraper(site).name
    asyncio.run(_set_rate(settings, known_redis_url(settings), domain, per_minute))
    told = "as configured" if per_minute is None else f"{per_minute:g} requests per minute"
    log.print(f"{domain}: {told}", highlight=False)


async def _set_rate(settings: Settings, url: str, domain: str, per_minute: float | None) -> None:
    async with connect(url) as redis:
        await get_rate_limiter(settings, settings.rate_limit, redis).set_rate(domain, per_minute)


def circuits(as_json: AsJson = False) -> None:
    """Show each portal's circuit: whether it is asked at all (closed) or left alone (open), and why."""
    settings = _shared_settings()
    found = asyncio.run(_circuits(settings, known_redis_url(settings)))
    if as_json:
        print_json({"circuits": {domain: asdict(one) for domain, one in found.items()}})
    else:
        out.print(_table(found))


async def _circuits(settings: Settings, url: str) -> Mapping[str, CircuitStatus]:
    async with connect(url) as redis:
        return await get_circuit_breaker(settings, redis).get_all_states()


def _table(found: Mapping[str, CircuitStatus]) -> Table:
    table = Table("portal", "circuit", "failures in a row", "last block", "allowed", "refused")
    for domain, one in sorted(found.items()):
        counts = (str(one.failures), one.last_block or "–", str(one.allowed), str(one.refused))
        table.add_row(domain, one.state.value.lower(), *counts)
    return table


def _shared_settings() -> Settings:
    """What is shown and changed is what workers share, whatever mode this command is run in."""
    return load_settings().model_copy(update=_SHARED)
