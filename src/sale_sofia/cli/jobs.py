"""Commands about crawls: jobs and portals, what changed, reports, errors, circuits and rates."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from sale_sofia.cli.console import (
    ALLOWED,
    AsJson,
    counted,
    log,
    moment_of,
    one_of,
    out,
    plain_table,
    print_answer,
    print_json,
    print_line,
    refuse,
)
from sale_sofia.cli.progress import held_back, moment, number, on_market_words
from sale_sofia.crawl.frontier.jobs import copy_notes
from sale_sofia.crawl.frontier.planning import cancel_job
from sale_sofia.crawl.resilience.breaker import CircuitStatus
from sale_sofia.crawl.resilience.errors import class_names
from sale_sofia.crawl.resilience.factory import get_circuit_breaker, get_rate_limiter
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.urls import UnknownAdvert, advert_of
from sale_sofia.history.changes import CHANGE_KINDS, Happening, happenings
from sale_sofia.history.jobs import COPY_COUNTS, list_jobs
from sale_sofia.history.listing_rows import moment_text
from sale_sofia.history.prices import PriceHistory, price_history
from sale_sofia.history.runs.incidents import future_sentence
from sale_sofia.history.runs.report_page import report_page
from sale_sofia.history.runs.reports import SessionReportGenerator, write_whole
from sale_sofia.history.settings import SHOWN_CHANGES, SHOWN_SWEEPS
from sale_sofia.history.sweeps import accept_drop, list_sweeps
from sale_sofia.history.tables import PRINTED_BEFORE
from sale_sofia.history.timeline import price_per_sqm
from sale_sofia.installation import open_error_log, open_ready
from sale_sofia.operations.portals import SiteStatus, site_statuses
from sale_sofia.operations.services.redis import answering_redis_url
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.telemetry.error_log import Line
from sale_sofia.telemetry.incidents import Incident, open_incidents
from sale_sofia.telemetry.settings import SHOWN_ERRORS, SHOWN_JOBS, STATUS_WATCH_SECONDS
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper

_LONGEST_VALUE = 24
Report = dict[str, Any]
Site = Annotated[str | None, typer.Option(help="Only of this portal.")]


def jobs(as_json: AsJson = False) -> None:
    """List the newest jobs and how each ended."""
    with open_ready(load_settings()).read() as connection:
        found = list_jobs(connection, limit=SHOWN_JOBS)
    table = plain_table("Jobs", ("job", "state"), ("requests", "new", "changed", "seconds"))
    for job in found:
        counts = (job.requests, job.new_listings, job.changed_listings, job.worked_seconds)
        table.add_row(job.id, job.state.value, *map(number, counts))
    errors = [f"{job.id}: {job.error}" for job in found if job.error]
    print_answer({"jobs": [asdict(job) for job in found]}, table, *errors, as_json=as_json)


def status(
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again every two seconds, until Ctrl-C.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show for each portal how many adverts are stored, how fresh they are, and what its last job did."""
    refuse(watch and as_json, "--watch is for people; leave out --json, or run it again and again")
    settings = load_settings()
    database, read = open_ready(settings), partial(_state, settings=settings)
    if not watch:
        sites, incidents, clock = database.run_read(read)
        if as_json:
            record = {"sites": list(map(asdict, sites)), "incidents": list(map(asdict, incidents))}
            print_json({**record, "clock": clock})
        else:
            out.print(_picture(sites, incidents, clock))
        return
    with suppress(KeyboardInterrupt), Live(console=out, auto_refresh=False) as live:
        # Without a terminal lines cannot be erased: each picture follows the last.
        show = partial(live.update, refresh=True) if out.is_terminal else out.print
        while True:
            show(_picture(*database.run_read(read)))
            out.file.flush()
            time.sleep(STATUS_WATCH_SECONDS)


def _state(connection: Connection, settings: Settings) -> tuple[list[SiteStatus], list[Incident], str | None]:
    """The portals, the open incidents, and a sentence about rows dated in the future."""
    clock = future_sentence(connection, now=time.time())
    return site_statuses(connection, AVAILABLE_SITES, settings), open_incidents(connection), clock


def _picture(sites: list[SiteStatus], incidents: list[Incident], clock: str | None) -> Group:
    table = plain_table("Portals", ("site",), ("adverts", "pending", "failed"))
    for heading in ("last seen", "last job"):
        table.add_column(heading, no_wrap=True)
    for site in sites:
        counts = map(number, (site.adverts, site.pending, site.failed))
        table.add_row(site.site, *counts, moment(site.last_seen_at), site.job_state or "none yet")
    lines = [
        f"{incident.site}: open since {moment(incident.opened_at)}: {incident.kind}: {incident.message}"
        for incident in incidents
    ]
    lines += [f"{site.site}: {site.outlook.told}" for site in sites if site.outlook]
    if clock:
        lines.append(f"clock: {clock}")
    # Text and not a string, so that square brackets in a message are never taken for markup.
    return Group(*map(Text, lines), table)


def cancel(job: Annotated[str, typer.Argument(help="A job of `sale-sofia jobs`.")]) -> None:
    """End a job for good, whoever crawls it: no further page of it is begun. What is stored stays."""
    ended = open_ready(load_settings()).run_write(
        lambda connection: cancel_job(connection, job, now=time.time())
    )
    log.print(f"job {job} is cancelled" if ended else f"job {job} was cancelled before")


# What changed: changes, price-history, sweeps.


def changes(
    since: Annotated[str, typer.Option(help=f"Since when: {ALLOWED}.")] = "yesterday",
    kind: Annotated[
        list[str] | None, typer.Option(help=f"Only this kind; may be repeated: {', '.join(CHANGE_KINDS)}.")
    ] = None,
    site: Site = None,
    as_json: AsJson = False,
) -> None:
    """Show what is new, got another price, was edited, is gone or came back; with --json a line for each.

    For example: sale-sofia changes --since 7d --kind price
    """
    start = moment_of(since, datetime.now(UTC))
    kinds = [one_of(name, "kind", CHANGE_KINDS) for name in kind or CHANGE_KINDS]
    if site is not None:
        get_scraper(site)  # refuses an unknown portal
    with open_ready(load_settings()).read() as connection:
        found = (change for change in happenings(connection, start, site) if change.kind in kinds)
        if as_json:
            for change in found:
                print_json(_change_record(change))
        else:
            _print_changes(found, since)


def _print_changes(found: Iterator[Happening], since: str) -> None:
    counts: Counter[str] = Counter()
    numbers = ("m²", "€", "€/m²")
    table = plain_table("Changes", ("when", "what", "advert", "neighbourhood"), numbers, "change")
    for change in found:
        counts[change.kind] += 1
        if table.row_count == SHOWN_CHANGES:
            continue
        about = change.about
        advert = f"{about['site']}/{about['external_id']}"
        cells = map(number, (about["area_sqm"], about["price_eur"], price_per_sqm(about)))
        place = about["neighbourhood"] or "?"
        table.add_row(moment(change.at), change.kind, advert, place, *cells, _change(change))
    if not counts:
        log.print(f"nothing has changed since {since}")
        return
    out.print(table)
    out.print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    if more := counts.total() - table.row_count:
        log.print(f"{more} more; `--json` prints all of them")


def _change(change: Happening) -> str:
    if change.kind == "price":
        return _step(*change.fields["price_eur"])
    if change.fields:
        return ", ".join(
            f"{name}: {_short(old)} → {_short(new)}" for name, (old, new) in change.fields.items()
        )
    return change.reason or ""


def _step(old: float | None, new: float | None) -> str:
    share = f" ({new / old - 1:+.1%})" if old and new else ""
    return f"{number(old)} → {number(new)} €{share}"


def _short(value: Any) -> str:  # noqa: ANN401 - whatever a field holds
    text = "none" if value is None else " ".join(str(value).split())
    plain = "".join(sign if sign.isprintable() else "?" for sign in text).replace("[", "(").replace("]", ")")
    return plain if len(plain) <= _LONGEST_VALUE else f"{plain[:_LONGEST_VALUE]}…"


def _change_record(change: Happening) -> dict[str, Any]:
    """One change for programs: moments are ISO with Sofia's offset."""

    def iso(seconds: float) -> str:
        return moment_text(datetime.fromtimestamp(seconds, UTC))

    return {
        "kind": change.kind,
        "at": iso(change.at),
        "noted_at": iso(change.noted_at),
        **change.about,
        "price_per_sqm": price_per_sqm(change.about),
        "changes": {name: {"old": old, "new": new} for name, (old, new) in change.fields.items()},
        "reason": change.reason,
    }


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
        print_json({"listings": list(map(asdict, found))})
        return
    for history in found:
        # The flat, since when it has been offered, and how that ended.
        if history.closed_at:
            end = f"its id was given to another flat on {moment(history.closed_at)}"
        elif history.gone_at:
            end = f"gone since {moment(history.gone_at)}"
        else:
            end = f"last seen {moment(history.last_seen_at)}"
        odd_price = history.odd_price_eur
        doubt = f"; shows {number(odd_price)} €, which is not believed" if odd_price else ""
        advert, title = f"{history.site}/{history.external_id}", history.title or "without a title"
        head = f"{advert}: {title}, {number(history.area_sqm)} m²"
        since = on_market_words(history.on_market_since, history.on_market_source, history.days_on_market)
        print_line(f"{head}; {since}; first seen {moment(history.first_seen_at)}; {end}{doubt}")
        table = plain_table("Prices", ("since",), ("€", "лв", "€/m²"), "VAT, what moved")
        before: float | None = None
        for point in history.points:
            per_sqm = price_per_sqm({"price_eur": point.price_eur, "area_sqm": history.area_sqm})
            cells = map(number, (point.price_eur, point.price_bgn, per_sqm))
            if point.kind == PRINTED_BEFORE:
                table.add_row(moment(point.seen_at), *cells, "printed there as the price before")
                continue
            moved = _step(before, point.price_eur) if point.kind == "price" else point.kind
            table.add_row(moment(point.seen_at), *cells, f"VAT {point.vat or 'not said'}, {moved}")
            before = point.price_eur
        out.print(table)


def sweeps(
    site: Site = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="As few adverts as in the portal's last sweep are usual now.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the newest sweeps: whether each was complete, what it saw, and how many adverts it found gone.

    After a collapse nothing is delisted. Where the portal really has so few adverts now, say so with
    --accept.
    """
    if site is not None:
        get_scraper(site)
    database = open_ready(load_settings())
    if accept:
        if site is None:
            raise typer.BadParameter("--accept needs a portal: --site")
        accepted = database.run_write(partial(accept_drop, site=site, now=time.time()))
        if accepted is None:
            raise ValueError(f"{site}: its last sweep did not collapse; there is nothing to accept")
        out.print(f"{site}: {counted(accepted.adverts or 0, 'advert is', 'adverts are')} usual from now on")
        return
    found = database.run_read(partial(list_sweeps, limit=SHOWN_SWEEPS, site=site))
    numbers = ("announced", "seen", "opened", "priced", "gone")
    table = plain_table("Sweeps", ("site", "began", "ended", "complete"), numbers, "job")
    for sweep in found:
        open_yet = "cancelled" if sweep.cancelled else "under way"
        complete = {None: open_yet, True: "yes", False: "no"}[sweep.complete]
        counts = map(number, (sweep.announced, sweep.adverts, sweep.opened, sweep.stored, sweep.gone))
        ended = moment(sweep.finished_at) if sweep.finished_at else ""
        table.add_row(sweep.site, moment(sweep.started_at), ended, complete, *counts, sweep.job_id)
    reasons = [f"{sweep.job_id}: {sweep.reason}" for sweep in found if sweep.reason]
    none_yet = "no sweep yet; begin one with `sale-sofia crawl`"
    record = {"sweeps": list(map(asdict, found))}
    print_answer(record, table, *reasons, as_json=as_json, empty=none_yet)


def report(
    job: Annotated[
        str | None, typer.Argument(help="A job of `sale-sofia jobs`; the newest of each portal without it.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write it to this file, as a page for a browser.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how runs went: their results and health, the most common errors, and what is usual."""
    settings = load_settings()
    generator = SessionReportGenerator(settings, open_ready(settings))
    found = generator.session([job]) if job else generator.latest()
    if html is not None:
        write_whole(html, report_page(found))
        log.print(f"report in {html}")
    if as_json:
        print_json(found)
    elif html is None:
        _print_report(found["runs"])


def _print_report(runs: list[Report]) -> None:
    if not runs:
        log.print("no run yet; begin one with `sale-sofia crawl`")
        return
    came = plain_table("Runs", ("site", "state", "health"), ("adverts", "usual", "new", "changed"), "began")
    headings = ("requests", "failed", "blocked", "retries", "waited s", "p50 s", "p95 s", "p99 s")
    traffic = plain_table("Traffic", ("site",), headings)
    for run in runs:
        summary, usual = run["summary"], (run["comparison"] or {}).get("adverts")
        numbers = map(number, (summary["adverts"], usual, summary["new"], summary["changed"]))
        health = run["health"]["state"]
        came.add_row(run["site"], run["state"], health, *numbers, moment(run["started_at"]))
        traffic.add_row(
            run["site"],
            number(summary["requests"]),
            number(summary["pages_failed"]),
            f"{summary['block_share']:.1%}",
            number(summary["retries"]),
            number(summary["limiter_wait_seconds"]),
            *(number(summary["response_seconds"][name], 2) for name in ("p50", "p95", "p99")),
        )
    out.print(came)
    out.print(traffic)
    for run in runs:
        for remark in _remarks(run):
            print_line(f"{run['site']}: {remark}")


def _remarks(run: Report) -> Iterator[str]:
    """What needs a person, how far a run came, why it is unhealthy, and its most common errors."""
    for incident in run["incidents"]:
        yield f"open since {moment(incident['opened_at'])}: {incident['kind']}: {incident['message']}"
    if run["coverage"]:
        yield run["coverage"]["line"]
    yield from run["health"]["reasons"]
    if (photos := run["photos"])["asked"]:
        yield f"{photos['asked']} photos asked for, {photos['failed']} could not be had"
    if held := run["summary"]["held_back"]:
        yield held_back(held)
    yield from copy_notes(**{name: run["summary"][name] for name in COPY_COUNTS})
    for error in run["top_errors"]:
        example = error["example"]
        counts = f"{counted(error['failed_pages'], 'page')}, {counted(error['failed_requests'], 'request')}"
        yield f"{error['class']}: {counts}; {example['url']}: {example['message']}"


def errors(
    site: Annotated[str | None, typer.Option(help="Only of this portal.")] = None,
    error_class: Annotated[str | None, typer.Option("--class", help="Only of this class.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show this many, the newest.")] = SHOWN_ERRORS,
    as_json: AsJson = False,
) -> None:
    """Show the error log: how many requests failed by class, and the newest of them."""
    if site is not None:
        get_scraper(site)  # refuses an unknown portal
    if error_class is not None:
        error_class = one_of(error_class, "class", class_names())
    counts: Counter[str] = Counter()
    newest: deque[Line] = deque(maxlen=limit)
    for line in open_error_log(load_settings()).read():
        of_site = site is None or line.get("domain") == site
        if of_site and (error_class is None or line.get("error_type") == error_class):
            counts[str(line.get("error_type"))] += 1
            newest.append(line)
    table = Table("class", "requests", title="Failed requests")
    for name, count in counts.most_common():
        table.add_row(name, str(count))
    lines = []
    for line in newest:
        delay = line.get("next_delay")
        action = f"{line.get('recovery_action')}{'' if delay is None else f' in {delay} s'}"
        head = f"{line.get('timestamp')} {line.get('error_type')}, try {line.get('attempt')}, {action}"
        lines.append(f"{head}: {line.get('url')}: {line.get('message')}")
    record = {"counts": dict(counts.most_common()), "errors": list(newest)}
    print_answer(record, table, *lines, as_json=as_json, empty="no failed requests in the error log")


# The portals' gates as all workers share them: show their circuits, change a rate while they work.


def _shared_settings() -> Settings:
    """Settings that use the limits which workers share in Redis, whatever mode this command runs in."""
    shared = {"redis_rate_limiter_enabled": True, "redis_circuit_breaker_enabled": True}
    return load_settings().model_copy(update=shared)


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
    asyncio.run(_set_rate(settings, answering_redis_url(settings), domain, per_minute))
    new_rate = "as configured" if per_minute is None else f"{per_minute:g} requests per minute"
    log.print(f"{domain}: {new_rate}")


async def _set_rate(settings: Settings, url: str, domain: str, per_minute: float | None) -> None:
    async with connect(url) as redis:
        await get_rate_limiter(settings, settings.rate_limit, redis).set_rate(domain, per_minute)


def circuits(as_json: AsJson = False) -> None:
    """Show each portal's circuit: whether it is crawled (closed) or left alone (open), and why."""
    settings = _shared_settings()
    found = asyncio.run(_read_circuits(settings, answering_redis_url(settings)))
    numbers = ("failures", "allowed", "refused")
    table = plain_table("Circuits", ("portal", "circuit", "open since", "tried again"), numbers, "last block")
    for domain, circuit in sorted(found.items()):
        since, again = ("–" if at is None else moment(at) for at in (circuit.opened_at, circuit.retry_at))
        counts = map(str, (circuit.failures, circuit.allowed, circuit.refused))
        table.add_row(domain, circuit.state.value.lower(), since, again, *counts, circuit.last_block or "–")
    record = {"circuits": {domain: asdict(circuit) for domain, circuit in found.items()}}
    print_answer(record, table, as_json=as_json)


async def _read_circuits(settings: Settings, url: str) -> Mapping[str, CircuitStatus]:
    async with connect(url) as redis:
        return await get_circuit_breaker(settings, redis).get_all_states()
