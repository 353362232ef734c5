"""Scraper health: first what to do, then each portal by its data; runs, incidents, failed pages, workers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection
from starlette.responses import PlainTextResponse, Response

from sale_sofia.app import charts
from sale_sofia.app import formatting as shown
from sale_sofia.app.application import Done, Page
from sale_sofia.app.errands import Errand, Kind
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import Values, Visit
from sale_sofia.app.words import named, say, told
from sale_sofia.crawl.fetch.archive import ArchiveDamaged
from sale_sofia.crawl.probe import Reading
from sale_sofia.crawl.reparse import reparse_pages
from sale_sofia.crawl.runners.progress import LiveState, proxy_rows, read_live_state
from sale_sofia.crawl.tables import spoken
from sale_sofia.history.drift.store import DRIFT_KINDS
from sale_sofia.history.pages import FailedPage, PageRecord, archived_page, failed_page, failed_pages
from sale_sofia.history.runs.health import DataState, PortalVerdict
from sale_sofia.installation import open_archive
from sale_sofia.listings.page import PageError, decode
from sale_sofia.listings.text import plain
from sale_sofia.operations.portals import FILLED, PortalRow, Run, read_portals, read_runs
from sale_sofia.operations.settings import DEMO_BEGAN, FLOWER_HOST
from sale_sofia.proxies.model import DomainStats
from sale_sofia.telemetry.incidents import Incident, IncidentKind, newest_incidents, open_incidents
from sale_sofia.telemetry.settings import ARCHIVED_TEXT_MAX, FAILED_PAGES_SHOWN, HEALTH_RUNS, INCIDENTS_SHOWN
from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite

TRENDS: Final = ("adverts", "new", "changed", "gone", "failed")
SIGNS: Final[Mapping[DataState, tuple[str, str]]] = {
    DataState.FAILING: ("✗", "bad"),
    DataState.STUCK: ("■", "bad"),
    DataState.LATE: ("!", "unsure"),
    DataState.FRESH: ("✓", "good"),
    DataState.NEVER: ("–", ""),
}
"""A sign and a colour for each state; its word stands beside them."""
INERT: Final = {"content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}
"""What a portal sent is text of which a browser makes nothing."""
Row = dict[str, str]

# What helps: the code of its sentence, and the command.

_CRAWL: Final = ("crawl", "sale-sofia crawl {site}")
_PROBE: Final = ("probe", "sale-sofia sites probe {site}")
_ERRORS: Final = ("errors", "sale-sofia errors --site {site}")
_RESUME: Final = ("resume", "sale-sofia resume")
_DRIFT: Final = ("drift", "sale-sofia sites drift {site}")
REMEDIES: Final[Mapping[IncidentKind, tuple[str, str]]] = dict.fromkeys(DRIFT_KINDS, _DRIFT) | {
    IncidentKind.EMPTY_JOB: _ERRORS,
    IncidentKind.FAILED_JOB: _ERRORS,
    IncidentKind.PARTIAL_JOB: _ERRORS,
    IncidentKind.COVERAGE: _PROBE,
    IncidentKind.COLLAPSE: _PROBE,
    IncidentKind.COPIES: _PROBE,
    IncidentKind.CIRCUIT_OPEN_LONG: ("circuits", "sale-sofia circuits"),
    IncidentKind.STUCK_JOB: _RESUME,
    IncidentKind.PRICE_MEANING: _PROBE,
    IncidentKind.LARGE_PROPERTY: ("properties", "sale-sofia properties --sort adverts"),
    IncidentKind.MATCHING_FAILED: ("match", "sale-sofia match"),
    IncidentKind.PHOTOS_FAILED: ("photos", "sale-sofia properties photos"),
    IncidentKind.SCORING_FAILED: ("profiles", "sale-sofia profiles check"),
    IncidentKind.NO_CRAWL: _CRAWL,
    IncidentKind.DISK_LOW: ("prune", "sale-sofia prune"),
    IncidentKind.CLOCK_AHEAD: ("doctor", "sale-sofia doctor"),
    IncidentKind.ALERTS_FAILED: ("alerts", "sale-sofia alerts run"),
    IncidentKind.CHANNEL_SILENT: ("channels", "sale-sofia alerts test"),
}
BY_REASON: Final[Mapping[str, tuple[str, str]]] = {
    "nothing_found": _PROBE,
    "unmoved": _RESUME,
    "no_news": _PROBE,
    "old": _CRAWL,
    "never_seen": _PROBE,
    "nothing_collected": _CRAWL,
}


@dataclass(frozen=True, slots=True)
class Task:
    """Something that waits for the operator: what is wrong with what, and the command that helps."""

    site: str
    sign: str
    colour: str
    state: str
    why: str
    remedy: str
    command: str


@dataclass(frozen=True, slots=True)
class Seen:
    """All that the database says, read at one moment."""

    portals: Sequence[PortalRow]
    open: Sequence[Incident]
    incidents: Sequence[Incident]
    runs: Sequence[Run]
    failed: Sequence[FailedPage]


def page(visit: Visit) -> Page:
    """The page."""
    seen = visit.database.run_read(partial(_read, visit=visit))
    live = read_live_state(visit.site.settings, [row.site for row in seen.portals])
    used = [row for row in seen.portals if row.verdict.state is not DataState.NEVER]
    trend = next((one for one in TRENDS if one == visit.asked("trend")), TRENDS[0])
    settings = visit.site.settings
    values: Values = {
        "tasks": list(tasks(seen)),
        "errands": [_errand(one) for one in visit.site.errands.newest()],
        "sites": AVAILABLE_SITES,
        "used": used,
        "never": [_task(row) for row in seen.portals if row not in used],
        "portals": [_portal(row, visit.now) for row in used],
        "traffic": [_traffic(row, live) for row in used],
        "fields": [say(f"field.{name}") for name in FILLED],
        "fill": [(row.site, [shown.percent(row.fill[name]) for name in FILLED]) for row in used if row.fill],
        "incidents": [_incident(one, visit.now) for one in seen.incidents],
        "trends": TRENDS,
        "trend": trend,
        "chart": charts.lines(
            say("health.runs"), say(f"health.trend.{trend}"), _lines(used, trend), zero=True
        ),
        "runs": [_run(run) for run in seen.runs],
        "failed": [_failed(one) for one in seen.failed],
        "live": live,
        "flower": f"http://{FLOWER_HOST}:{settings.flower_port}",
        "proxies": [_proxy(row) for row in proxy_rows(settings)],
    }
    return Page("health.html", say("page.health"), values, lambda: _data(visit, seen, live))


def _read(connection: Connection, visit: Visit) -> Seen:
    return Seen(
        read_portals(
            connection,
            AVAILABLE_SITES,
            visit.site.settings,
            now=visit.now,
            stored=visit.site.stored(connection),
        ),
        open_incidents(connection),
        newest_incidents(connection, limit=INCIDENTS_SHOWN),
        read_runs(connection, limit=HEALTH_RUNS),
        failed_pages(connection, limit=FAILED_PAGES_SHOWN),
    )


# A page that could not be read: as it came, and read again.


def archived(visit: Visit) -> Page | Response:
    """What was kept of a failed page, as text that does nothing."""
    record = visit.database.run_read(partial(_record, row_id=_row_id(visit)))
    text = _text(visit, record) if record else None
    if text is None:
        return Page(
            "message.html", say("health.failed_pages"), {"errors": [say("health.not_archived")]}, status=404
        )
    return PlainTextResponse(text, headers=INERT)


def reparse(visit: Visit) -> Done:
    """Read the kept page again, and store the advert."""
    if not visit.may_operate:
        return Done(say("people.not_yours"), wrong=True)
    record = visit.database.run_read(partial(_record, row_id=_row_id(visit)))
    if record is None:
        return Done(say("health.not_archived"), wrong=True)
    try:
        done = reparse_pages(visit.database, open_archive(visit.site.settings), [record])
    except UnknownSite as error:
        return Done(told(error), wrong=True)
    if done.missing:
        return Done(say("health.not_archived"), wrong=True)
    return Done(say("health.still_unreadable"), wrong=True) if done.failed else Done(say("health.reparsed"))


def _row_id(visit: Visit) -> int:
    return int(visit.request.path_params["row"])


def _record(connection: Connection, row_id: int) -> PageRecord | None:
    failed = failed_page(connection, row_id)
    return archived_page(connection, failed) if failed else None


def _text(visit: Visit, record: PageRecord) -> str | None:
    """The page as it came; None where its bytes are gone."""
    try:
        body = open_archive(visit.site.settings).get(record.digest)
    except (ArchiveDamaged, FileNotFoundError, ValueError):
        return None
    try:
        text = decode(body, record.content_type)
    except PageError:  # what cannot be read as text is why it is here
        text = body.decode("utf-8", errors="replace")
    return text[:ARCHIVED_TEXT_MAX]


# What can be started from here.


def begin(kind: Kind, visit: Visit) -> Done:
    """Crawl or probe a portal now, unless that is being done."""
    site, settings = visit.form.get("site", ""), visit.site.settings
    if not visit.may_operate:
        return Done(say("people.not_yours"), wrong=True)
    if site not in AVAILABLE_SITES:
        return Done(say("web.errand.unknown"), wrong=True)
    if (settings.data_dir / DEMO_BEGAN).exists():
        # Its adverts are made up; real ones beside them would be taken for what they are not.
        return Done(say("web.errand.demo"), wrong=True)
    if not visit.site.errands.start(kind, site):
        return Done(say("web.errand.runs", what=say(f"web.errand.{kind}"), site=site), wrong=True)
    return Done(say("web.errand.begun", what=say(f"web.errand.{kind}"), site=site))


def _errand(one: Errand) -> Values:
    """What came of it so far, in words."""
    probed = (one.data or {}).get("probes") if one.kind == "probe" else None
    if one.ended_at is None:
        state, colour, said = say("web.errand.since", at=shown.moment(one.began_at)), "", ""
    elif probed:
        verdict = probed[0]["verdict"]
        colour = "good" if verdict == Reading.WELL else "bad"
        state, said = say(f"web.probe.{Reading(verdict).name.lower()}"), "; ".join(probed[0]["reasons"])
    else:
        well = one.code == 0
        state, colour = say("web.errand.done" if well else "web.errand.failed"), "good" if well else "bad"
        said = "" if well else one.said
    return {
        "site": one.site,
        "what": say(f"web.errand.{one.kind}"),
        "state": state,
        "colour": colour,
        "said": plain(said, LONGEST_MESSAGE),
        "running": one.ended_at is None,
    }


# What to do.


def tasks(seen: Seen) -> Iterator[Task]:
    """The worst portals first, then what else is open."""
    order = list(DataState)
    wrong = [row for row in seen.portals if row.verdict.state not in {DataState.FRESH, DataState.NEVER}]
    yield from map(_task, sorted(wrong, key=lambda row: order.index(row.verdict.state)))
    said = {(row.site, row.verdict.values.get("kind")) for row in wrong}
    said |= {(row.site, IncidentKind.STUCK_JOB) for row in wrong if row.verdict.reason == "unmoved"}
    for one in seen.open:
        if (one.site, one.kind) not in said:
            remedy, command = REMEDIES[one.kind]
            yield Task(
                plain(one.site),
                "●",
                "unsure",
                named("incident", one.kind.value),
                plain(told(one.message), LONGEST_MESSAGE),
                say(f"web.do.{remedy}"),
                command.format(site=one.site),
            )


def _task(row: PortalRow) -> Task:
    verdict = row.verdict
    sign, colour = SIGNS[verdict.state]
    kind = verdict.values.get("kind")
    remedy, command = REMEDIES[IncidentKind(str(kind))] if kind else BY_REASON[verdict.reason]
    state = say(f"health.state.{verdict.state.value}")
    return Task(
        row.site, sign, colour, state, _why(verdict), say(f"web.do.{remedy}"), command.format(site=row.site)
    )


def _why(verdict: PortalVerdict) -> str:
    values = {
        name: shown.number(value) if isinstance(value, float | int) else named("incident", value)
        for name, value in verdict.values.items()
    }
    return say(f"health.why.{verdict.reason}", **values) if values else say(f"health.why.{verdict.reason}")


# The numbers as rows of tables and lines of charts.


def _portal(row: PortalRow, now: float) -> Row:
    """What the last run of the portal brought."""
    newest, (sign, _) = row.newest, SIGNS[row.verdict.state]
    found = newest.adverts if newest else None
    return {
        say("health.portal"): row.site,
        say("health.state"): f"{sign}{shown.SPACE}{say(f'health.state.{row.verdict.state.value}')}",
        say("health.seen"): shown.ago(row.last_listing_at, now),
        say("health.found"): f"{shown.number(found)} / {shown.number(row.expected)}",
        say("health.new"): shown.number(newest.new if newest else None),
        say("health.changed"): shown.number(newest.changed if newest else None),
        say("health.gone"): shown.number(newest.gone if newest else None),
        say("health.stored"): shown.number(row.adverts),
    }


def _traffic(row: PortalRow, live: LiveState) -> Row:
    """How the last run of the portal went, and how its gate is now."""
    times = [row.metrics.response.quantile(share) for share in (0.5, 0.95)]
    said = (
        [say("health.limiter.rate", n=shown.number(live.rates[row.site]))] if row.site in live.rates else []
    )
    if wait := live.waits.get(row.site):
        said.append(say("health.limiter.wait", n=shown.number(wait, 1)))
    return {
        say("health.portal"): row.site,
        say("health.failed"): shown.number(row.newest.failed if row.newest else None),
        say("health.doubted"): shown.number(row.doubted),
        say("health.blocks"): shown.percent(row.block_share, 1),
        say("health.latency"): " / ".join(shown.number(one, 2) for one in times) + f"{shown.SPACE}s",
        say("health.circuit"): _circuit(row, live),
        say("health.limiter"): " · ".join(
            [*said, say("health.limiter.waited", n=shown.number(row.metrics.waited_seconds))]
        ),
    }


def _circuit(row: PortalRow, live: LiveState) -> str:
    """As all workers share it; without Redis, how long it was open during the last run."""
    if status := live.circuits.get(row.site):
        blocked = f" ({plain(status.last_block)})" if status.last_block else ""
        return f"{named('circuit', status.state.value.lower())}{blocked}"
    if not row.newest:
        return shown.UNKNOWN
    window = (row.newest.started_at, row.newest.finished_at or row.newest.started_at)
    seconds = row.metrics.circuit_open.seconds_within(*window)
    return say("health.circuit.open_for", n=shown.number(seconds)) if seconds else say("health.circuit.never")


def _incident(one: Incident, now: float) -> Row:
    closed = one.closed_at
    return {
        say("health.state"): say("health.open") if closed is None else say("health.over"),
        say("health.portal"): plain(one.site),
        say("health.what"): named("incident", one.kind.value),
        say("health.why"): plain(told(one.message), LONGEST_MESSAGE),
        say("health.began"): shown.moment(one.opened_at),
        say("health.until"): shown.ago(one.seen_at, now) if closed is None else shown.moment(closed),
    }


def _lines(rows: Sequence[PortalRow], name: str) -> list[charts.Line]:
    """One number of each run of each portal."""
    return [
        charts.Line(
            row.site, [charts.Point(run.started_at, getattr(run, name)) for run in reversed(row.runs)]
        )
        for row in rows
        if row.runs
    ]


def _run(run: Run) -> Row:
    found = shown.number(run.adverts)
    if run.announced not in {None, run.adverts}:
        found = f"{found} / {shown.number(run.announced)}"
    return {
        say("health.portal"): run.site,
        say("health.began"): shown.moment(run.started_at),
        say("health.ended"): named("job_state", run.state),
        say("health.sweep"): say("yes") if run.complete else plain(told(run.reason or say("no"))),
        say("health.run_found"): found,
        say("health.new"): shown.number(run.new),
        say("health.changed"): shown.number(run.changed),
        say("health.gone"): shown.number(run.gone),
        say("health.run_failed"): shown.number(run.failed),
        say("health.requests"): shown.number(run.requests),
    }


def _failed(one: FailedPage) -> Values:
    return {
        "id": one.row_id,
        "archived": one.archived,
        "readable": one.archived and one.kind == "listing",
        "site": one.site,
        "kind": named("page_kind", one.kind),
        "why": plain(spoken(one.code, one.reason), LONGEST_MESSAGE),
        "tries": shown.number(one.attempts),
        "began": shown.moment(one.at),
        "url": plain(one.url, LONGEST_MESSAGE),
    }


def _proxy(row: DomainStats) -> Row:
    """A proxy, its address masked."""
    return {
        say("health.proxy"): plain(row.address),
        say("health.tier"): row.tier,
        say("health.expected"): shown.percent(row.expected),
        say("health.successes"): f"{row.successes} / {row.uses}",
        say("health.latency"): shown.number(row.latency_seconds, 2),
        say("health.state"): say("health.quarantined") if row.quarantined else say("health.ready"),
        say("health.why"): plain(row.last_reason),
    }


def _data(visit: Visit, seen: Seen, live: LiveState) -> dict[str, Any]:
    return {
        "errands": [
            {"kind": one.kind, "site": one.site, "began_at": one.began_at, "ended_at": one.ended_at}
            | {"exit_code": one.code, "result": one.data, "said": one.said}
            for one in visit.site.errands.newest()
        ],
        "tasks": [{"site": one.site, "why": one.why, "command": one.command} for one in tasks(seen)],
        "portals": [
            {
                "site": row.site,
                "state": row.verdict.state.value,
                "reason": row.verdict.reason,
                "last_listing_at": row.last_listing_at,
                "adverts": row.adverts,
                "expected": row.expected,
                "doubted": row.doubted,
                "block_share": row.block_share,
                "fill": dict(row.fill),
            }
            for row in seen.portals
        ],
        "incidents": [
            {
                "site": one.site,
                "kind": one.kind.value,
                "message": str(one.message),
                "opened_at": one.opened_at,
                "closed_at": one.closed_at,
            }
            for one in seen.incidents
        ],
        "runs": [{**asdict(run), "reason": run.reason and str(run.reason)} for run in seen.runs],
        "failed_pages": [asdict(one) for one in seen.failed],
        "redis": live.redis,
        "workers": live.workers,
        "waiting": live.waiting,
    }
