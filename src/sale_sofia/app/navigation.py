"""The pages of the dashboard, and links to them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.navigation.page import Page

from sale_sofia.app.words import say

_FOLDER: Final = Path(__file__).with_name("screens")
SIGNS: Final[Mapping[str, str]] = {
    "today": ":material/today:",
    "search": ":material/search:",
    "map": ":material/map:",
    "compare": ":material/compare_arrows:",
    "property": ":material/home:",
    "criteria": ":material/tune:",
    "alerts": ":material/notifications:",
    "market": ":material/trending_up:",
    "cross_site": ":material/content_copy:",
    "health": ":material/monitor_heart:",
}
"""Page → its sign. The first page is the one that opens.

They are one list: headings between its items, as Streamlit writes them, confuse screen readers.
"""
_FIRST: Final = next(iter(SIGNS))
_ROOT: Final = "home"
"""What Streamlit calls the page at `/`, which is not found under this name."""


def pages() -> list[Page]:
    """All pages, named in the session's language; the first is at `/` and under its name."""
    return [*(_page(name, icon) for name, icon in SIGNS.items()), _first_by_name()]


def link(page: str, label: str, **parameters: object) -> None:
    """A link to a page with these parameters in its address; the label is Markdown and must be safe."""
    given = {name: _texts(value) for name, value in parameters.items() if value is not None}
    st.page_link(_file(page), label=label, query_params=given or None)


def go(page: str, **parameters: object) -> None:
    """Open a page at once."""
    st.switch_page(_file(page), query_params={name: str(value) for name, value in parameters.items()})


def _texts(value: object) -> str | list[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(value)


def _page(name: str, icon: str) -> Page:
    first = name == _FIRST
    path = _ROOT if first else name
    return st.Page(_file(name), title=say(f"page.{name}"), icon=icon, url_path=path, default=first)


def _first_by_name() -> Page:
    """Streamlit serves the first page at `/` alone."""
    return st.Page(_file(_FIRST), title=say(f"page.{_FIRST}"), url_path=_FIRST, visibility="hidden")


def _file(name: str) -> Path:
    return _FOLDER / f"{name}.py"
