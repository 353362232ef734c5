"""Pages of the dashboard without a browser: the whole app, one page of it, on a DATA_DIR of the test."""

import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

import sale_sofia
from ready_files import put_ready_file
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

APP = Path(sale_sofia.__file__).parent / "app"
PATIENCE = 300
_components = cache(manifest_scanner.scan_component_manifests)
"""Streamlit would look through all installed packages for them whenever a page is run."""


def open_screen(name: str, data: Path, monkeypatch: pytest.MonkeyPatch, **session: object) -> AppTest:
    """The page as it is drawn first, with this in the session; nothing is kept from other tests."""
    monkeypatch.setenv("DATA_DIR", str(data))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", _components)
    put_ready_file(data / "sale_sofia.db")
    st.cache_resource.clear()
    screen = AppTest.from_file(str(APP / "main.py"), default_timeout=PATIENCE)
    screen.switch_page(f"screens/{name}.py")
    for key, value in session.items():
        screen.session_state[key] = value
    screen.run()
    assert not screen.exception, screen.exception[0].message
    return screen


def words(screen: AppTest) -> str:
    """All texts of a page in one, spaces of numbers as plain ones."""
    plain = [
        element.value
        for kind in (
            "title",
            "header",
            "subheader",
            "markdown",
            "caption",
            "info",
            "warning",
            "error",
            "success",
        )
        for element in getattr(screen, kind)
    ]
    html = [element.proto.body for element in screen.get("html")]
    return spaced("\n".join(map(str, (*plain, *html))))


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def table(screen: AppTest, number: int = 0) -> list[dict[str, Any]]:
    """A table of the page, row by row."""
    rows: list[dict[str, Any]] = screen.dataframe[number].value.to_dict("records")
    return [
        {key: spaced(value) if isinstance(value, str) else value for key, value in row.items()}
        for row in rows
    ]


def store(data: Path) -> Database:
    """The database of a DATA_DIR, with all tables."""
    put_ready_file(data / "sale_sofia.db")
    database = Database(f"sqlite:///{data / 'sale_sofia.db'}", busy_timeout_seconds=30, busy_retries=5)
    initialize_database(database)
    return database


def put_adverts(data: Path, *adverts: dict[str, Any]) -> None:
    """Adverts as a crawl stores them, seen now; what a field does not say is unknown."""
    database = store(data)
    with database.write() as connection:
        for number, advert in enumerate(adverts, start=1):
            url = f"https://www.imot.bg/obiava-1b{number}"
            own = {"site": "imot.bg", "kind": "listing", "external_id": f"1b{number}", "url": url}
            save_listings(connection, [Sighting(Listing.model_validate(own | advert), time.time())])
    database.dispose()
