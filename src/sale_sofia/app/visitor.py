"""Who looks: one browser, known by a cookie that says nothing else; and what goes with it into every page."""

import re
from secrets import token_hex
from typing import Final

import streamlit as st

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
