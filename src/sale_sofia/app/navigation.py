"""The pages of the dashboard, and links to them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.navigation.page import Page

from sale_sofia.app.words import say

_FOLDER: Final = Path(__file__).with_name("screens")
SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "buyer": {
        "today": ":material/today:",
        "search": ":material/search:",
        "map": ":material/map:",
        "compare": ":material/compare_arrows:",
        "property": ":material/home:",
        "criteria": ":material/tune:",
        "alerts": ":material/notifications:",
    },
    "analyst": {"market": ":material/trending_up:", "cross_site": ":material/content_copy:"},
    "operator": {"health": ":material/monitor_heart:"},
}
"""Section → page → its sign. The first page is the one that opens."""


def pages() -> dict[str, list[Page]]:
    """All pages by their sections, named in the session's language."""
    return {
        say(f"section.{section}"): [_page(name, icon) for name, icon in found.items()]
        for section, found in SECTIONS.items()
    }


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
    first = name == next(iter(SECTIONS["buyer"]))
    return st.Page(_file(name), title=say(f"page.{name}"), icon=icon, url_path=name, default=first)


def _file(name: str) -> Path:
    return _FOLDER / f"{name}.py"
