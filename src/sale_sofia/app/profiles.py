"""The buyer's profiles, and the one that is chosen at the side of every page."""

from typing import Final

import streamlit as st

from sale_sofia.app import state
from sale_sofia.app.sentences import refusal
from sale_sofia.app.words import say
from sale_sofia.insights.profile import Profile
from sale_sofia.insights.profiles import load_profiles

PARAMETER: Final = "profile"
"""The key of the choice, in the session and in the address."""


def chosen_profile() -> tuple[str, Profile]:
    """The name of the chosen profile, and the profile; nothing further is drawn when there is none to use."""
    loaded = load_profiles(state.settings().data_dir)
    for mistake in loaded.mistakes.values():
        st.error(refusal(mistake))
    if not loaded.profiles:
        st.stop()
    with st.sidebar:
        names = sorted(loaded.profiles)
        name = st.selectbox(say("profile.choose"), names, key=PARAMETER, bind="query-params")
    return name, loaded.profiles[name]
