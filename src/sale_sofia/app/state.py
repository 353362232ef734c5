"""What every page needs: settings, the database, the clock, and what the address asks for."""

import os
import re
import time
from functools import lru_cache
from secrets import token_hex
from typing import Final

import streamlit as st

from sale_sofia.advice.scoring.profile import Profile, load_profiles
from sale_sofia.app.formatting import refusal
from sale_sofia.app.words import say
from sale_sofia.buyer.evaluations import By
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.storage.database import Database

WRITER = "dashboard"
"""The name under which this program writes what the buyer says."""


def settings() -> Settings:
    """The settings of the environment, read once for as long as it is the same: pages ask often."""
    return _settings_of(tuple(os.environ.items()))


@lru_cache(maxsize=1)
def _settings_of(_environ: tuple[tuple[str, str], ...]) -> Settings:
    return load_settings()


def database() -> Database:
    """The database, current in its form, shared by all sessions of this server."""
    found = settings()
    return _opened(found.database_url.get_secret_value(), found)


@st.cache_resource(show_spinner=False)
def _opened(url: str, _settings: Settings) -> Database:  # noqa: ARG001 - the key of the cache
    return open_ready(_settings)


def now() -> float:
    """This moment, in seconds since 1970."""
    return time.time()


def by() -> By:
    """Who writes, now."""
    return By(WRITER, now())


def parameter(name: str) -> str | None:
    """What the page's address says under this name."""
    given: str | None = st.query_params.get(name)
    return given or None


def number_parameter(name: str) -> int | None:
    """The same, as a whole number; None for anything else."""
    text = parameter(name)
    return int(text) if text and text.isascii() and text.isdigit() else None


def remember(name: str, value: object) -> None:
    """Write it into the page's address, so that a reload or a friend sees the same; None takes it out."""
    if value is None or value == "":
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != str(value):
        st.query_params[name] = str(value)


# Who looks: one browser, known by a cookie that says nothing else; and what goes with it into every page.

COOKIE: Final = "sale_sofia_visitor"
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")
_YEAR_SECONDS: Final = 365 * 24 * 3600
# No word of a portal is in this script. It also keeps photos and links from telling where they were opened.
_SCRIPT: Final = """<script>
document.cookie = "{cookie}={token}; max-age={age}; path=/; SameSite=Strict";
if (!document.querySelector('meta[name="referrer"]')) {{
  const meta = document.createElement("meta");
  meta.name = "referrer"; meta.content = "no-referrer";
  document.head.appendChild(meta);
}}
document.documentElement.lang = "{language}";
</script>"""


def visitor() -> str:
    """The name of this browser; a new one until it sends its cookie."""
    given = str(st.context.cookies.get(COOKIE, ""))
    if _TOKEN.fullmatch(given):
        return given
    token: str = st.session_state.setdefault(COOKIE, token_hex(16))
    return token


def greet(language: str) -> None:
    """Leave the cookie, and tell the browser the page's language."""
    script = _SCRIPT.format(cookie=COOKIE, token=visitor(), age=_YEAR_SECONDS, language=language)
    st.html(script, unsafe_allow_javascript=True)


# The buyer's profiles, and the one that is chosen at the side of every page.

PARAMETER: Final = "profile"
"""The key of the choice, in the session and in the address."""


def chosen_profile() -> tuple[str, Profile]:
    """The name of the chosen profile, and the profile; nothing further is drawn when there is none to use."""
    loaded = load_profiles(settings().data_dir)
    for mistake in loaded.mistakes.values():
        st.error(refusal(mistake))
    if not loaded.profiles:
        st.stop()
    with st.sidebar:
        names = sorted(loaded.profiles)
        name = st.selectbox(say("profile.choose"), names, key=PARAMETER, bind="query-params")
    return name, loaded.profiles[name]
