"""Scraper health: tasks first, then the data of each portal; runs, incidents, failed pages, workers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection
from starlette.responses import PlainTextResponse, Response

from sale_sofia.app import charts
from sale_sofia.app import formatting as fmt
from sale_sofia.app.application import Done, WebPage, error_page
from sale_sofia.app.errands import Errand, Kind
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import PageVisit, Values
from sale_sofia.app.words import say, translate, word_for
from sale_sofia.crawl.fetch.archive import ArchiveDamaged
from sale_sofia.crawl.tables import spoken
from sale_sofia.history.drift.store import DRIFT_KINDS
from sale_sofia.history.pages import (
    FailedPage,
    PageRecord,
    archived_page,
    count_failed_pages,
    failed_page,
    failed_pages,
)
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

if TYPE_CHECKING:
    from sale_sofia.crawl.runners.progress import LiveState

TRENDS: Final = ("adverts", "new", "changed", "gone", "failed")
SIGNS: Final[Mapping[DataState, tuple[str, str]]] = {
    DataState.FAILING: ("✗", "bad"),
    DataState.STUCK: ("■", "bad"),
    DataState.LATE: ("!", "unsure"),
    DataState.FRESH: ("✓", "good"),
    DataState.NEVER: ("–", ""),
}
"""The sign and the colour of each state; its name is shown beside them."""
INERT: Final = {"content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'"}
"""Keeps a browser from running or loading anything of an archived page."""
Row = dict[str, str]

# Remedies: the code of the sentence, and the command.

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
    """Something for the operator to do: what is wrong, and the command that helps."""

    site: str
    sign: str
    colour: str
    state: str
    why: str
    remedy: str
    command: str


@dataclass(frozen=True, slots=True)
class HealthData:
    """All that the page reads from the database, in one transaction."""

    portals: Sequence[PortalRow]
    open: Sequence[Incident]
    incidents: Sequence[Incident]
    runs: Sequence[Run]
    failed: Sequence[FailedPage]
    """The newest of them."""
    failed_count: int


def page(visit: PageVisit) -> WebPage:
    """The page."""
    # Redis's client takes 20 MB, and most buyers never open this page.
    from sale_sofia.crawl.runners.progress import proxy_rows, read_live_state  # noqa: PLC0415

    data = visit.database.run_read(partial(_read, visit=visit))
    live = read_live_state(visit.state.settings, [row.site for row in data.portals])
    used = [row for row in data.portals if row.verdict.state is not DataState.NEVER]
    trend = next((name for name in TRENDS if name == visit.param("trend")), TRENDS[0])
    settings = visit.state.settings
    values: Values = {
        "tasks": list(tasks(data)),
        "errands": [_errand(errand) for errand in visit.state.errands.newest()],
        "sites": AVAILABLE_SITES,
        "used": used,
        "never": [_task(row) for row in data.portals if row not in used],
        "portals": [_portal(row, visit.now) for row in used],
        "traffic": [_traffic(row, live) for row in used],
        "fields": [say(f"field.{name}") for name in FILLED],
        "fill": [(row.site, [fmt.percent(row.fill[name]) for name in FILLED]) for row in used if row.fill],
        "incidents": [_incident(incident, visit.now) for incident in data.incidents],
        "trends": TRENDS,
        "trend": trend,
        "chart": charts.lines(
            say("health.runs"), say(f"health.trend.{trend}"), _lines(used, trend), zero=True
        ),
        "runs": [_run(run) for run in data.runs],
        "failed": [_failed(failed) for failed in data.failed],
        "failed_count": data.failed_count,
        "live": live,
        "flower": f"http://{FLOWER_HOST}:{settings.flower_port}",
        "proxies": [_proxy(row) for row in proxy_rows(settings)],
    }
    return WebPage("health.html", say("page.health"), values, lambda: _data(visit, data, live))


def _read(connection: Connection, visit: PageVisit) -> HealthData:
    return HealthData(
        read_portals(
            connection,
            AVAILABLE_SITES,
            visit.state.settings,
            now=visit.now,
            stored=visit.state.stored(connection),
        ),
        open_incidents(connection),
        newest_incidents(connection, limit=INCIDENTS_SHOWN),
        read_runs(connection, limit=HEALTH_RUNS),
        failed_pages(connection, limit=FAILED_PAGES_SHOWN),
        count_failed_pages(connection),
    )


# Failed pages: shown as they came, and parsed again.


def archived(visit: PageVisit) -> WebPage | Response:
    """The archived body of a failed page, as inert text."""
    record = visit.database.run_read(partial(_record, row_id=_row_id(visit)))
    text = _text(visit, record) if record else None
    if text is None:
        return error_page("health.failed_pages", [say("health.not_archived")], 404)
    return PlainTextResponse(text, headers=INERT)


def reparse(visit: PageVisit) -> Done:
    """Parse the archived page again, and store the advert."""
    if not visit.may_operate:
        return Done(say("people.not_yours"), wrong=True)
    from sale_sofia.crawl.reparse import reparse_pages  # noqa: PLC0415 - loads what fetches pages, 5 MB

    record = visit.database.run_read(partial(_record, row_id=_row_id(visit)))
    if record is None:
        return Done(say("health.not_archived"), wrong=True)
    try:
        done = reparse_pages(visit.database, open_archive(visit.state.settings), [record])
    except UnknownSite as error:
        return Done(translate(error), wrong=True)
    if done.missing:
        return Done(say("health.not_archived"), wrong=True)
    return Done(say("health.still_unreadable"), wrong=True) if done.failed else Done(say("health.reparsed"))


def _row_id(visit: PageVisit) -> int:
    return int(visit.request.path_params["row"])


def _record(connection: Connection, row_id: int) -> PageRecord | None:
    failed = failed_page(connection, row_id)
    return archived_page(connection, failed) if failed else None


def _text(visit: PageVisit, record: PageRecord) -> str | None:
    """The archived page; None where its bytes are gone."""
    try:
        body = open_archive(visit.state.settings).get(record.digest)
    except (ArchiveDamaged, FileNotFoundError, ValueError):
        return None
    try:
        text = decode(body, record.content_type)
    except PageError:  # perhaps why the page failed
        text = body.decode("utf-8", errors="replace")
    return text[:ARCHIVED_TEXT_MAX]


# Crawls and probes.


def begin(kind: Kind, visit: PageVisit) -> Done:
    """Start a crawl or a probe of a portal, unless the same is running."""
    site, settings = visit.form.get("site", ""), visit.state.settings
    if not visit.may_operate:
        return Done(say("people.not_yours"), wrong=True)
    if site not in AVAILABLE_SITES:
        return Done(say("web.errand.unknown"), wrong=True)
    if (settings.data_dir / DEMO_BEGAN).exists():
        # The demo's adverts are made up; real ones must not mix with them.
        return Done(say("web.errand.demo"), wrong=True)
    if not visit.state.errands.start(kind, site):
        return Done(say("web.errand.runs", what=say(f"web.errand.{kind}"), site=site), wrong=True)
    return Done(say("web.errand.begun", what=say(f"web.errand.{kind}"), site=site))


def _errand(errand: Errand) -> Values:
    """The state of a crawl or a probe, as text."""
    probed = (errand.data or {}).get("probes") if errand.kind == "probe" else None
    if errand.ended_at is None:
        state, colour, message = say("web.errand.since", at=fmt.moment(errand.began_at)), "", ""
    elif probed:
        from sale_sofia.crawl.probe import Reading  # noqa: PLC0415 - loads what fetches pages, 5 MB

        verdict = probed[0]["verdict"]
        colour = "good" if verdict == Reading.WELL else "bad"
        state, message = say(f"web.probe.{Reading(verdict).name.lower()}"), "; ".join(probed[0]["reasons"])
    else:
        succeeded = errand.code == 0
        state = say("web.errand.done" if succeeded else "web.errand.failed")
        colour = "good" if succeeded else "bad"
        message = "" if succeeded else errand.last_line
    return {
        "site": errand.site,
        "what": say(f"web.errand.{errand.kind}"),
        "state": state,
        "colour": colour,
        "said": plain(message, LONGEST_MESSAGE),
        "running": errand.ended_at is None,
    }


# Tasks.


def tasks(data: HealthData) -> Iterator[Task]:
    """The worst portals first, then other open incidents."""
    order = list(DataState)
    wrong = [row for row in data.portals if row.verdict.state not in {DataState.FRESH, DataState.NEVER}]
    yield from map(_task, sorted(wrong, key=lambda row: order.index(row.verdict.state)))
    covered = {(row.site, row.verdict.values.get("kind")) for row in wrong}
    covered |= {(row.site, IncidentKind.STUCK_JOB) for row in wrong if row.verdict.reason == "unmoved"}
    for incident in data.open:
        if (incident.site, incident.kind) not in covered:
            remedy, command = REMEDIES[incident.kind]
            yield Task(
                plain(incident.site),
                "●",
                "unsure",
                word_for("incident", incident.kind.value),
                plain(translate(incident.message), LONGEST_MESSAGE),
                say(f"web.do.{remedy}"),
                command.format(site=incident.site),
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
        name: fmt.number(value) if isinstance(value, float | int) else word_for("incident", value)
        for name, value in verdict.values.items()
    }
    return say(f"health.why.{verdict.reason}", **values) if values else say(f"health.why.{verdict.reason}")


# Rows of tables and lines of charts.


def _portal(row: PortalRow, now: float) -> Row:
    """What the last run of the portal found."""
    newest, (sign, _) = row.newest, SIGNS[row.verdict.state]
    adverts = newest.adverts if newest else None
    return {
        say("health.portal"): row.site,
        say("health.state"): f"{sign}{fmt.SPACE}{say(f'health.state.{row.verdict.state.value}')}",
        say("health.seen"): fmt.ago(row.last_listing_at, now),
        say("health.found"): f"{fmt.number(adverts)} / {fmt.number(row.expected)}",
        say("health.new"): fmt.number(newest.new if newest else None),
        say("health.changed"): fmt.number(newest.changed if newest else None),
        say("health.gone"): fmt.number(newest.gone if newest else None),
        say("health.stored"): fmt.number(row.adverts),
    }


def _traffic(row: PortalRow, live: "LiveState") -> Row:
    """Requests of the portal's last run, and the state of its gate now."""
    times = [row.metrics.response.quantile(share) for share in (0.5, 0.95)]
    limits = (
        [say("health.limiter.rate", n=fmt.number(live.rates[row.site]))] if row.site in live.rates else []
    )
    if wait := live.waits.get(row.site):
        limits.append(say("health.limiter.wait", n=fmt.number(wait, 1)))
    return {
        say("health.portal"): row.site,
        say("health.failed"): fmt.number(row.newest.failed if row.newest else None),
        say("health.doubted"): fmt.number(row.doubted),
        say("health.blocks"): fmt.percent(row.block_share, 1),
        say("health.latency"): " / ".join(fmt.number(seconds, 2) for seconds in times) + f"{fmt.SPACE}s",
        say("health.circuit"): _circuit(row, live),
        say("health.limiter"): " · ".join(
            [*limits, say("health.limiter.waited", n=fmt.number(row.metrics.waited_seconds))]
        ),
    }


def _circuit(row: PortalRow, live: "LiveState") -> str:
    """The state that all workers share; without Redis, how long it was open during the last run."""
    if status := live.circuits.get(row.site):
        blocked = f" ({plain(status.last_block)})" if status.last_block else ""
        return f"{word_for('circuit', status.state.value.lower())}{blocked}"
    if not row.newest:
        return fmt.UNKNOWN
    window = (row.newest.started_at, row.newest.finished_at or row.newest.started_at)
    seconds = row.metrics.circuit_open.seconds_within(*window)
    return say("health.circuit.open_for", n=fmt.number(seconds)) if seconds else say("health.circuit.never")


def _incident(incident: Incident, now: float) -> Row:
    closed = incident.closed_at
    return {
        say("health.state"): say("health.open") if closed is None else say("health.over"),
        say("health.portal"): plain(incident.site),
        say("health.what"): word_for("incident", incident.kind.value),
        say("health.why"): plain(translate(incident.message), LONGEST_MESSAGE),
        say("health.began"): fmt.moment(incident.opened_at),
        say("health.until"): fmt.ago(incident.seen_at, now) if closed is None else fmt.moment(closed),
    }


def _lines(rows: Sequence[PortalRow], name: str) -> list[charts.Line]:
    """A number of each run, as a line for each portal."""
    return [
        charts.Line(
            row.site, [charts.DataPoint(run.started_at, getattr(run, name)) for run in reversed(row.runs)]
        )
        for row in rows
        if row.runs
    ]


def _run(run: Run) -> Row:
    adverts = fmt.number(run.adverts)
    if run.announced not in {None, run.adverts}:
        adverts = f"{adverts} / {fmt.number(run.announced)}"
    return {
        say("health.portal"): run.site,
        say("health.began"): fmt.moment(run.started_at),
        say("health.ended"): word_for("job_state", run.state),
        say("health.sweep"): say("yes") if run.complete else plain(translate(run.reason or say("no"))),
        say("health.run_found"): adverts,
        say("health.new"): fmt.number(run.new),
        say("health.changed"): fmt.number(run.changed),
        say("health.gone"): fmt.number(run.gone),
        say("health.run_failed"): fmt.number(run.failed),
        say("health.requests"): fmt.number(run.requests),
    }


def _failed(failed: FailedPage) -> Values:
    return {
        "id": failed.row_id,
        "archived": failed.archived,
        "readable": failed.archived and failed.kind == "listing",
        "site": failed.site,
        "kind": word_for("page_kind", failed.kind),
        "why": plain(spoken(failed.code, failed.reason), LONGEST_MESSAGE),
        "tries": fmt.number(failed.attempts),
        "began": fmt.moment(failed.at),
        "url": plain(failed.url, LONGEST_MESSAGE),
    }


def _proxy(row: DomainStats) -> Row:
    """A proxy, its address masked."""
    return {
        say("health.proxy"): plain(row.address),
        say("health.tier"): row.tier,
        say("health.expected"): fmt.percent(row.expected),
        say("health.successes"): f"{row.successes} / {row.uses}",
        say("health.latency"): fmt.number(row.latency_seconds, 2),
        say("health.state"): say("health.quarantined") if row.quarantined else say("health.ready"),
        say("health.why"): plain(row.last_reason),
    }


def _data(visit: PageVisit, data: HealthData, live: "LiveState") -> dict[str, Any]:
    return {
        "errands": [
            {
                "kind": errand.kind,
                "site": errand.site,
                "began_at": errand.began_at,
                "ended_at": errand.ended_at,
                "exit_code": errand.code,
                "result": errand.data,
                "said": errand.last_line,
            }
            for errand in visit.state.errands.newest()
        ],
        "tasks": [{"site": task.site, "why": task.why, "command": task.command} for task in tasks(data)],
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
            for row in data.portals
        ],
        "incidents": [
            {
                "site": incident.site,
                "kind": incident.kind.value,
                "message": str(incident.message),
                "opened_at": incident.opened_at,
                "closed_at": incident.closed_at,
            }
            for incident in data.incidents
        ],
        "runs": [{**asdict(run), "reason": run.reason and str(run.reason)} for run in data.runs],
        "failed_pages": [asdict(failed) for failed in data.failed],
        "redis": live.redis,
        "workers": live.workers,
        "waiting": live.waiting,
    }
