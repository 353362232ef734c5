"""Scraper health: one row for each portal, its state by the data; runs, incidents, failed pages, workers."""

from functools import partial

import streamlit as st

from sale_sofia.app import charts, health, state
from sale_sofia.app.words import say
from sale_sofia.crawl.reparse import reparse_pages
from sale_sofia.crawl.runners.progress import LiveState, proxy_rows, read_live_state
from sale_sofia.history.pages import FailedPage, PageRecord, archived_page, failed_pages
from sale_sofia.history.runs.health import DataState
from sale_sofia.installation import open_archive
from sale_sofia.operations.portals import PortalRow, read_portals, read_runs
from sale_sofia.operations.settings import FLOWER_HOST
from sale_sofia.telemetry.incidents import newest_incidents
from sale_sofia.telemetry.settings import FAILED_PAGES_SHOWN, HEALTH_RUNS, INCIDENTS_SHOWN
from sale_sofia.websites.registry import AVAILABLE_SITES

TRENDS = ("adverts", "new", "changed", "gone", "failed")


def page() -> None:
    """Draw the page."""
    st.title(say("page.health"))
    now = state.now()
    rows = state.database().run_read(
        partial(read_portals, sites=AVAILABLE_SITES, settings=state.settings(), now=now)
    )
    st.html("".join(health.verdict_line(row, now) for row in rows))
    st.caption(say("health.note"))
    if all(row.verdict.state is DataState.NEVER for row in rows):
        st.info(say("nothing.yet"))
        return
    st.dataframe(health.portal_table(rows, now), hide_index=True)
    traffic = st.empty()
    traffic.dataframe(health.traffic_table(rows, None), hide_index=True)
    _fill(rows)
    _incidents(now)
    _trends(rows)
    _failed()
    live = read_live_state(state.settings(), [row.site for row in rows])
    traffic.dataframe(health.traffic_table(rows, live), hide_index=True)
    _workers(live)


def _fill(rows: list[PortalRow]) -> None:
    st.header(say("health.fill"))
    points = health.fill_points(rows)
    if points:
        charts.heat_map(
            points,
            ("field", say("health.field")),
            ("portal", say("health.portal")),
            ("share", say("health.fill")),
        )


def _incidents(now: float) -> None:
    st.header(say("health.incidents"))
    found = state.database().run_read(partial(newest_incidents, limit=INCIDENTS_SHOWN))
    if found:
        st.dataframe(health.incident_table(found, now), hide_index=True)
    else:
        st.markdown(say("health.no_incidents"))


def _trends(rows: list[PortalRow]) -> None:
    st.header(say("health.runs"))
    chosen = st.segmented_control(
        say("health.trend"),
        TRENDS,
        default=TRENDS[0],
        format_func=lambda name: say(f"health.trend.{name}"),
        key="trend",
        required=True,
        bind="query-params",
    )
    if points := health.trend_points(rows, str(chosen)):
        axes = ("at", say("health.began")), ("value", say(f"health.trend.{chosen}"))
        charts.lines(points, *axes, ("portal", say("health.portal")))
    runs = state.database().run_read(partial(read_runs, limit=HEALTH_RUNS))
    st.dataframe(health.run_table(runs), hide_index=True)


def _failed() -> None:
    st.header(say("health.failed_pages"))
    pages = state.database().run_read(partial(failed_pages, limit=FAILED_PAGES_SHOWN))
    if not pages:
        st.markdown(say("health.no_failed"))
        return
    st.caption(say("health.choose_page"))
    chosen = st.dataframe(
        health.failed_table(pages),
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key="failed",
    )
    for place in chosen["selection"]["rows"]:
        _failed_page(pages[place])


def _failed_page(failed: FailedPage) -> None:
    record = state.database().run_read(partial(archived_page, page=failed))
    text = health.archived_text(open_archive(state.settings()), record) if record else None
    if record is None or text is None:
        st.warning(say("health.not_archived"))
        return
    st.button(say("health.reparse"), on_click=_reparse, args=(record,), key="reparse")
    st.code(text, language=None, height=400, wrap_lines=True)


def _reparse(record: PageRecord) -> None:
    done = reparse_pages(state.database(), open_archive(state.settings()), [record])
    read = done.pages - done.failed - done.missing
    st.toast(say("health.reparsed" if read else "health.still_unreadable"))


def _workers(live: LiveState) -> None:
    st.header(say("health.workers"))
    if live.redis:
        st.markdown(
            say(
                "health.at_work",
                workers="?" if live.workers is None else len(live.workers),
                names=", ".join(live.workers or ()),
                waiting=live.waiting,
            )
        )
    else:
        st.markdown(say("health.no_redis"))
    st.markdown(say("health.flower", url=f"http://{FLOWER_HOST}:{state.settings().flower_port}"))
    st.header(say("health.proxies"))
    rows = proxy_rows(state.settings())
    if rows:
        st.dataframe(health.proxy_table(rows), hide_index=True)
    else:
        st.markdown(say("health.no_proxies"))


page()
