"""What every page needs: settings, the database, the clock, and what the address asks for."""

import os
import time
from functools import lru_cache

import streamlit as st

from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.data.database import Database
from sale_sofia.data.evaluation_fields import By
from sale_sofia.scraping.store import open_ready

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
