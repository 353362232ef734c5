"""The dashboard's entry: what all pages share, and which there are. `sale-sofia dashboard` runs it."""

import logging
from pathlib import Path

import streamlit as st

from sale_sofia.app.navigation import pages
from sale_sofia.app.state import greet
from sale_sofia.app.words import NAMES, PARAMETER, language, say
from sale_sofia.settings.words import LANGUAGES

log = logging.getLogger(__name__)
STYLE = Path(__file__).with_name("style.css")


def main() -> None:
    """Draw the frame, then the page that was asked for."""
    st.set_page_config(page_title=say("app.title"), page_icon="🏠", layout="wide")
    page = st.navigation(pages(), expanded=True)
    st.html(STYLE)
    _language_switch()
    greet(language())
    try:
        page.run()
    except MemoryError:
        log.warning("too little memory for the page %s", page.url_path)
        st.error(say("app.memory"))


def _language_switch() -> None:
    with st.sidebar:
        st.segmented_control(
            "Език / Language",
            LANGUAGES,
            default=LANGUAGES[0],
            format_func=NAMES.__getitem__,
            key=PARAMETER,
            required=True,
            bind="query-params",
        )


main()
