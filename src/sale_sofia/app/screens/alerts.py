"""Alerts: the channels with a test button, the rules, and the log of what was sent and why."""

from functools import partial

import streamlit as st

from sale_sofia.alerts.channels import channels_of
from sale_sofia.app import alerts, safe, state
from sale_sofia.app.words import say
from sale_sofia.config.alert_file import AlertsError, AlertsFile, load_alerts
from sale_sofia.config.alerts import ALERTS_FILE, SHOWN_MESSAGES
from sale_sofia.config.screens import LONGEST_CELL
from sale_sofia.data.alert_outbox import read_log
from sale_sofia.data.alerts import read_rules


def page() -> None:
    """Draw the page."""
    st.title(say("page.alerts"))
    st.caption(say("alerts.note", file=f"`DATA_DIR/{ALERTS_FILE}`"))
    try:
        file = load_alerts(state.settings().data_dir)
    except AlertsError as error:
        st.error(safe.markdown(error, LONGEST_CELL))
        return
    if file is None:
        st.info(say("alerts.no_file"))
    else:
        _channels(file)
        _rules(file)
    _log()


def _channels(file: AlertsFile) -> None:
    st.header(say("alerts.channels"))
    found = channels_of(file)
    if not found:
        st.markdown(say("alerts.no_channels"))
    for name, channel in found.items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(alerts.channel_line(channel, file))
            if st.button(say("alerts.test"), key=f"test:{name}", help=say("alerts.test_help", name=name)):
                _tell(alerts.try_channel(channel))


def _tell(error: str | None) -> None:
    if error:
        st.error(safe.markdown(error, LONGEST_CELL))
    else:
        st.success(say("alerts.taken"))


def _rules(file: AlertsFile) -> None:
    st.header(say("alerts.rules"))
    if quiet := file.quiet_hours:
        st.markdown(say("alerts.quiet", start=f"{quiet.from_:%H:%M}", end=f"{quiet.to:%H:%M}"))
    since = {name: one.since for name, one in state.database().run_read(read_rules).items()}
    rows = alerts.rule_rows(file, since)
    if rows:
        st.dataframe(rows, hide_index=True)
    else:
        st.markdown(say("alerts.no_rules"))


def _log() -> None:
    st.header(say("alerts.log"))
    entries = state.database().run_read(partial(read_log, limit=SHOWN_MESSAGES, state=None))
    if entries:
        st.dataframe(alerts.log_rows(entries), hide_index=True)
    else:
        st.markdown(say("alerts.nothing_sent"))


page()
