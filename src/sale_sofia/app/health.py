"""The operator's numbers as rows of tables and points of charts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sale_sofia.app import charts, formatting
from sale_sofia.app import formatting as shown
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.words import named, say, told
from sale_sofia.crawl.fetch.archive import ArchiveDamaged, PageArchive
from sale_sofia.crawl.runners.progress import LiveState
from sale_sofia.crawl.tables import spoken
from sale_sofia.history.pages import FailedPage, PageRecord
from sale_sofia.history.runs.health import DataState, PortalVerdict
from sale_sofia.listings.page import PageError, decode
from sale_sofia.operations.portals import FILLED, PortalRow, Run
from sale_sofia.proxies.model import DomainStats
from sale_sofia.telemetry.incidents import Incident
from sale_sofia.telemetry.settings import ARCHIVED_TEXT_MAX

SIGNS: Final[Mapping[DataState, tuple[str, str]]] = {
    DataState.FAILING: ("✗", "ss-bad"),
    DataState.STUCK: ("■", "ss-bad"),
    DataState.LATE: ("!", "ss-unsure"),
    DataState.FRESH: ("✓", "ss-good"),
    DataState.NEVER: ("–", "ss-small"),
}
"""A sign and a colour for each state; its word stands beside them."""
Row = dict[str, Any]


def verdict_line(row: PortalRow, now: float) -> str:
    """A portal's state in a line of HTML: sign, word, and why."""
    sign, colour = SIGNS[row.verdict.state]
    word = say(f"health.state.{row.verdict.state.value}")
    return (
        f'<div class="ss-state"><strong>{formatting.html(row.site)}</strong> '
        f'<span class="{colour}">{sign} {word}</span> · {formatting.html(why(row.verdict))} · '
        f"{say('health.last', ago=shown.ago(row.last_listing_at, now))}</div>"
    )


def why(verdict: PortalVerdict) -> str:
    """The reason in words."""
    values: Row = {
        name: shown.number(value) if isinstance(value, float | int) else named("incident", value)
        for name, value in verdict.values.items()
    }
    return say(f"health.why.{verdict.reason}", **values)


def portal_table(rows: Sequence[PortalRow], now: float) -> list[Row]:
    """What the last run of each portal that was ever crawled brought."""
    return [_portal(row, now) for row in _crawled(rows)]


def _crawled(rows: Sequence[PortalRow]) -> list[PortalRow]:
    return [row for row in rows if row.verdict.state is not DataState.NEVER]


def _portal(row: PortalRow, now: float) -> Row:
    newest = row.newest
    found = newest.adverts if newest else None
    return {
        say("health.portal"): row.site,
        say(
            "health.state"
        ): f"{SIGNS[row.verdict.state][0]} {say(f'health.state.{row.verdict.state.value}')}",
        say("health.seen"): shown.ago(row.last_listing_at, now),
        say("health.found"): f"{shown.number(found)} / {shown.number(row.expected)}",
        say("health.new"): shown.number(newest.new if newest else None),
        say("health.changed"): shown.number(newest.changed if newest else None),
        say("health.gone"): shown.number(newest.gone if newest else None),
        say("health.stored"): shown.number(row.adverts),
    }


def traffic_table(rows: Sequence[PortalRow], live: LiveState | None) -> list[Row]:
    """How the last run of each portal went, and how its gate is now."""
    return [
        {
            say("health.portal"): row.site,
            say("health.failed"): shown.number(row.newest.failed if row.newest else None),
            say("health.doubted"): shown.number(row.doubted),
            say("health.blocks"): shown.percent(row.block_share, 1),
            say("health.latency"): _latency(row),
            say("health.circuit"): _circuit(row, live),
            say("health.limiter"): _limiter(row, live, row.metrics.waited_seconds),
        }
        for row in _crawled(rows)
    ]


def _latency(row: PortalRow) -> str:
    times = [row.metrics.response.quantile(share) for share in (0.5, 0.95)]
    return " / ".join(shown.number(one, 2) for one in times) + f"{shown.SPACE}s"


def _circuit(row: PortalRow, live: LiveState | None) -> str:
    """As all workers share it; without Redis, how long it was open during the last run."""
    if live and (status := live.circuits.get(row.site)):
        blocked = f" ({formatting.plain(status.last_block)})" if status.last_block else ""
        return f"{named('circuit', status.state.value.lower())}{blocked}"
    if not row.newest:
        return shown.UNKNOWN
    window = (row.newest.started_at, row.newest.finished_at or row.newest.started_at)
    seconds = row.metrics.circuit_open.seconds_within(*window)
    return say("health.circuit.open_for", n=shown.number(seconds)) if seconds else say("health.circuit.never")


def _limiter(row: PortalRow, live: LiveState | None, waited: float) -> str:
    rate = live.rates.get(row.site) if live else None
    told = [say("health.limiter.rate", n=shown.number(rate))] if rate is not None else []
    wait = live.waits.get(row.site) if live else None
    if wait:
        told.append(say("health.limiter.wait", n=shown.number(wait, 1)))
    return " · ".join([*told, say("health.limiter.waited", n=shown.number(waited))])


def fill_points(rows: Sequence[PortalRow]) -> list[Row]:
    """Portal × field, with the share of adverts that have it."""
    return [
        {"portal": row.site, "field": say(f"field.{name}"), "share": row.fill[name]}
        for row in rows
        for name in FILLED
        if row.fill
    ]


def run_table(runs: Sequence[Run]) -> list[Row]:
    """Runs that ended, the newest first."""
    return [
        {
            say("health.portal"): run.site,
            say("health.began"): shown.moment(run.started_at),
            say("health.ended"): named("job_state", run.state),
            say("health.sweep"): say("yes")
            if run.complete
            else formatting.plain(told(run.reason or say("no"))),
            say("health.run_found"): _found(run),
            say("health.new"): shown.number(run.new),
            say("health.changed"): shown.number(run.changed),
            say("health.gone"): shown.number(run.gone),
            say("health.run_failed"): shown.number(run.failed),
            say("health.requests"): shown.number(run.requests),
        }
        for run in runs
    ]


def _found(run: Run) -> str:
    """The adverts a run saw, beside what the portal said there are."""
    seen = shown.number(run.adverts)
    return seen if run.announced in {None, run.adverts} else f"{seen} / {shown.number(run.announced)}"


def trend_points(rows: Sequence[PortalRow], name: str) -> list[Row]:
    """One number of each run, for a line over time."""
    return [
        {"at": charts.moment(run.started_at), "value": getattr(run, name), "portal": row.site}
        for row in rows
        for run in reversed(row.runs)
    ]


def incident_table(incidents: Sequence[Incident], now: float) -> list[Row]:
    """Incidents, the open ones first."""
    return [
        {
            say("health.state"): say("health.open") if one.closed_at is None else say("health.over"),
            say("health.portal"): formatting.plain(one.site),
            say("health.what"): named("incident", one.kind.value),
            say("health.why"): formatting.plain(told(one.message), LONGEST_MESSAGE),
            say("health.began"): shown.moment(one.opened_at),
            say("health.until"): shown.moment(one.closed_at)
            if one.closed_at
            else shown.ago(one.seen_at, now),
        }
        for one in incidents
    ]


def failed_table(pages: Sequence[FailedPage]) -> list[Row]:
    """Pages that could not be read."""
    return [
        {
            say("health.portal"): page.site,
            say("health.kind"): named("page_kind", page.kind),
            say("health.why"): formatting.plain(spoken(page.code, page.reason), LONGEST_MESSAGE),
            say("health.tries"): page.attempts,
            say("health.began"): shown.moment(page.at),
            say("health.address"): formatting.plain(page.url, LONGEST_MESSAGE),
        }
        for page in pages
    ]


def archived_text(archive: PageArchive, record: PageRecord) -> str | None:
    """The page as it came, to be shown as text; None where its bytes are gone."""
    try:
        body = archive.get(record.digest)
    except (ArchiveDamaged, FileNotFoundError, ValueError):
        return None
    return _decoded(body, record.content_type)[:ARCHIVED_TEXT_MAX]


def _decoded(body: bytes, content_type: str | None) -> str:
    try:
        return decode(body, content_type)
    except PageError:  # what cannot be read as text is why it is here
        return body.decode("utf-8", errors="replace")


def proxy_table(rows: Sequence[DomainStats]) -> list[Row]:
    """Proxies, their addresses masked."""
    return [
        {
            say("health.proxy"): formatting.plain(row.address),
            say("health.tier"): row.tier,
            say("health.expected"): shown.percent(row.expected),
            say("health.successes"): f"{row.successes} / {row.uses}",
            say("health.latency"): shown.number(row.latency_seconds, 2),
            say("health.state"): say("health.quarantined") if row.quarantined else say("health.ready"),
            say("health.why"): formatting.plain(row.last_reason),
        }
        for row in rows
    ]
