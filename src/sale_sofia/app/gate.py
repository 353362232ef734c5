"""Who may look: a server that others can reach asks for a password."""

import hmac

import streamlit as st

from sale_sofia.app import state
from sale_sofia.app.words import say

_ADMITTED = "admitted"


def require_password() -> None:
    """Go on when no password is set or it was given; else ask for it and draw nothing further."""
    wanted = state.settings().dashboard_password
    if wanted is None or st.session_state.get(_ADMITTED):
        return
    with st.form("password"):
        given = st.text_input(say("gate.password"), type="password")
        sent = st.form_submit_button(say("gate.enter"))
    if sent and hmac.compare_digest(given.encode(), wanted.get_secret_value().encode()):
        st.session_state[_ADMITTED] = True
        st.rerun()
    if sent:
        st.error(say("gate.wrong"))
    st.stop()
