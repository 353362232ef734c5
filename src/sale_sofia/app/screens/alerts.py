"""Alerts: channels with a test button, rules to switch and change, and what was sent and why."""

from functools import partial

import streamlit as st

from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.outbox import read_log
from sale_sofia.alerts.rules import RULE_KINDS, AlertsError, AlertsFile, load_alerts
from sale_sofia.alerts.settings import ALERTS_FILE, SHOWN_MESSAGES
from sale_sofia.alerts.store import read_rules
from sale_sofia.app import alerts, formatting, state
from sale_sofia.app import alerts as alert_rules
from sale_sofia.app.formatting import refusal
from sale_sofia.app.words import say


def page() -> None:
    """Draw the page."""
    st.title(say("page.alerts"))
    st.caption(say("alerts.note", file=f"`DATA_DIR/{ALERTS_FILE}`"))
    alert_rules.tell_what_happened()
    try:
        file = load_alerts(state.settings().data_dir)
    except AlertsError as error:
        st.error(refusal(error))
        return
    if file is None:
        st.info(say("alerts.no_file"))
        st.button(say("alerts.begin"), on_click=alert_rules.begin, key="alerts-begin")
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
        st.error(refusal(error))
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
    _change(file)


def _change(file: AlertsFile) -> None:
    """One rule at a time: what it is now, or a new one."""
    if not file.channels:
        st.info(say("alerts.channel_first"))
        return
    written = alert_rules.rule_file().written()
    choices = {(kind, one["name"]): one for kind in RULE_KINDS for one in written[kind]}
    new = [(kind, "") for kind in RULE_KINDS]
    kind, name = st.selectbox(
        say("alerts.change"),
        [*choices, *new],
        format_func=lambda one: formatting.plain(one[1]) or say(f"alerts.new.{one[0]}"),
        key="rule",
    )
    before = choices.get((kind, name))
    if before:
        alert_rules.draw_switches(before)
    alert_rules.draw(alert_rules.Form(file, kind, before))


def _log() -> None:
    st.header(say("alerts.log"))
    entries = state.database().run_read(partial(read_log, limit=SHOWN_MESSAGES, state=None))
    if entries:
        st.dataframe(alerts.log_rows(entries), hide_index=True)
    else:
        st.markdown(say("alerts.nothing_sent"))


page()
