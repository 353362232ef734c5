"""All flats with their scores, kept in memory by the server and never older than the database."""

from functools import partial
from pathlib import Path

import streamlit as st

from sale_sofia.advice.valuation.flats import why_not_valued
from sale_sofia.advice.valuation.model import Current, stored_model
from sale_sofia.advice.valuation.settings import MODEL_FILE
from sale_sofia.advice.valuation.valuation import Valuation, value_flat
from sale_sofia.app import state
from sale_sofia.flats.flat import Flat
from sale_sofia.history.settings import SECONDS_PER_HOUR
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.web.snapshot import Keeper, Snapshot


def current() -> Snapshot:
    """All flats as they are now."""
    return keeper().current()


def keeper() -> Keeper:
    """The one that all sessions of this server share."""
    database = state.database()
    return _keeper(database.url.render_as_string(hide_password=False), database, state.settings())


@st.cache_resource(show_spinner=False)
def _keeper(url: str, _database: Database, _settings: Settings) -> Keeper:  # noqa: ARG001 - the key of the cache
    return Keeper(_database, _settings)


# The fair-price model that is stored, kept in memory; fitting one is left to whoever asks for it.


def stored_valuation(flat: Flat) -> Valuation | None:
    """What the stored model says of the flat; None while there is no model, or it is too old."""
    if reason := why_not_valued(flat):
        return Valuation(flat, None, "unknown", reason)
    settings = state.settings()
    path = settings.data_dir / MODEL_FILE
    if not path.exists():
        return None
    current = _model(path, path.stat().st_mtime_ns, state.database(), settings.valuation_least_flats)
    since = state.now() - settings.valuation_model_hours * SECONDS_PER_HOUR
    if current is None or current.made_at < since:
        return None
    return value_flat(state.database(), flat, current)


@st.cache_resource(show_spinner=False, max_entries=2)
def _model(path: Path, written: int, _database: Database, least_flats: int) -> Current | None:  # noqa: ARG001 - a part of the key
    return _database.run_read(
        partial(stored_model, data_dir=path.parent, made_since=0.0, least_flats=least_flats)
    )
