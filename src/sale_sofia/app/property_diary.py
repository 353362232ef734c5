"""What the buyer decides, notes and plans; two windows at once lose nothing."""

from collections.abc import Callable

import streamlit as st
from sqlalchemy import Connection

from sale_sofia.app import formatting as shown
from sale_sofia.app import safe, state
from sale_sofia.app.property_data import PropertyData
from sale_sofia.app.sentences import refusal
from sale_sofia.app.words import named, say
from sale_sofia.config.evaluation import LONGEST_LINE, LONGEST_NOTE
from sale_sofia.config.screens import LONGEST_CELL
from sale_sofia.data.calendar_file import calendar_bytes
from sale_sofia.data.evaluation_fields import STATUSES, WrongEvaluation
from sale_sofia.data.evaluations import evaluate, mark
from sale_sofia.data.notes import add_note
from sale_sofia.data.viewing_fields import STATES
from sale_sofia.data.viewing_moments import viewing_moment
from sale_sofia.data.viewings import Viewing, add_viewing, change_viewing
from sale_sofia.insights.viewing_calendar import viewing_events

_SAID = "diary.said"


def show_status(data: PropertyData) -> None:
    """The status, its reason, and what renovation would cost."""
    _say_what_happened()
    now = data.evaluation
    with st.form("status"):
        chosen = st.selectbox(
            say("diary.status"),
            STATUSES,
            index=STATUSES.index(now.status),
            format_func=lambda one: named("status", one),
        )
        reason = st.text_input(say("diary.reason"), now.reason or "", max_chars=LONGEST_LINE)
        renovation = st.number_input(
            say("diary.renovation"), value=_whole(now.renovation_eur), min_value=0, step=500, placeholder="?"
        )
        if st.form_submit_button(say("diary.keep")):
            _write(lambda connection: _keep(connection, data, chosen, reason, renovation))
    if now.changed_at is not None:
        st.caption(say("diary.changed", moment=shown.moment(now.changed_at)))


def show_notes(data: PropertyData) -> None:
    """The notes, the newest first, and a place for another."""
    number = data.flat.property_id
    with st.form("note", clear_on_submit=True):
        text = st.text_area(say("diary.note"), max_chars=LONGEST_NOTE)
        if st.form_submit_button(say("diary.add_note")):
            _write(lambda connection: add_note(connection, number, text, state.by()))
    for note in reversed(data.notes):
        written = f"<span class='ss-small'>{shown.moment(note.written_at)}</span>"
        st.html(f"<div class='ss-note-text'>{written}<br>{safe.html_paragraphs(note.text)}</div>")


def show_viewings(data: PropertyData) -> None:
    """The viewings, how they went, and a place to plan another."""
    _new_viewing(data.flat.property_id)
    for one in data.viewings:
        _show_viewing(one)
    if data.viewings:
        ids = {data.flat.property_id}
        st.download_button(
            say("viewing.calendar"),
            data=lambda: calendar_bytes(
                state.database().run_read(lambda connection: viewing_events(connection, ids))
            ),
            file_name=f"viewings-{data.flat.property_id}.ics",
            mime="text/calendar",
            on_click="ignore",
        )


def _new_viewing(property_id: int) -> None:
    with st.form("viewing", clear_on_submit=True):
        with st.container(horizontal=True):
            day = st.date_input(say("viewing.day"), format="DD.MM.YYYY")
            hour = st.time_input(say("viewing.hour"), value="17:30")
        agent = st.text_input(say("viewing.agent"), max_chars=LONGEST_LINE)
        phone = st.text_input(say("viewing.phone"), max_chars=LONGEST_LINE)
        remarks = st.text_input(say("viewing.remarks"), max_chars=LONGEST_LINE)
        if st.form_submit_button(say("viewing.add")):
            texts = {"agent": agent, "phone": phone, "remarks": remarks}
            given = {name: text for name, text in texts.items() if text.strip()}
            when = f"{day} {hour:%H:%M}"
            _write(
                lambda connection: add_viewing(
                    connection, property_id, {**given, "starts_at": viewing_moment(when)}, state.by()
                )
            )


def _show_viewing(one: Viewing) -> None:
    head = f"{shown.moment(one.starts_at)} · {say(f'viewing.state.{one.state}')}"
    with st.expander(head, expanded=one.state == "planned"):
        told = {"agent": one.agent, "phone": one.phone, "place": one.place, "remarks": one.remarks}
        lines = [
            f"{say(f'viewing.{name}')}: {safe.html(text, LONGEST_CELL)}"
            for name, text in told.items()
            if text
        ]
        lines += [
            f"<span class='ss-good'>＋ {safe.html(text, LONGEST_CELL)}</span>" for text in one.positives
        ]
        lines += [f"<span class='ss-bad'>－ {safe.html(text, LONGEST_CELL)}</span>" for text in one.negatives]
        st.html("<br>".join(lines) or say("viewing.nothing"))
        _change_viewing(one)


def _change_viewing(one: Viewing) -> None:
    with st.form(f"viewing-{one.id}", clear_on_submit=True):
        state_now = st.selectbox(
            say("viewing.state"),
            STATES,
            index=STATES.index(one.state),
            format_func=lambda value: say(f"viewing.state.{value}"),
        )
        positive = st.text_input(say("viewing.positive"), max_chars=LONGEST_LINE)
        negative = st.text_input(say("viewing.negative"), max_chars=LONGEST_LINE)
        if st.form_submit_button(say("viewing.keep")):
            lists = {"positives": positive, "negatives": negative}
            added = {name: [text] for name, text in lists.items() if text.strip()}
            fields = {"state": state_now, **added}
            _write(lambda connection: change_viewing(connection, one.id, fields, state.by()))


def _keep(
    connection: Connection, data: PropertyData, status: str, reason: str, renovation: int | None
) -> None:
    """Only what is other than it was shown: another window may have written the rest meanwhile."""
    now, by, number = data.evaluation, state.by(), data.flat.property_id
    if status != now.status:
        mark(connection, number, status, by, reason.strip() or None)
    elif reason.strip() != (now.reason or ""):
        evaluate(connection, number, "reason", reason.strip() or None, by)
    if renovation != _whole(now.renovation_eur):
        evaluate(connection, number, "renovation_eur", renovation, by)


def _write(work: Callable[[Connection], object]) -> None:
    """Do it and draw the page anew, or say in a sentence why not."""
    try:
        state.database().run_write(work)
    except WrongEvaluation as error:
        st.error(refusal(error))
    else:
        st.session_state[_SAID] = True
        st.rerun()


def _say_what_happened() -> None:
    if st.session_state.pop(_SAID, False):
        st.toast(say("diary.kept"), icon="✅")


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
