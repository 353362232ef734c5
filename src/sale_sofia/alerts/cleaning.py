"""What a portal wrote, made harmless: one short line that no mail program, chat or terminal obeys."""

import re
from typing import Final
from unicodedata import category
from urllib.parse import urlsplit

from sale_sofia.config.alerts import LONGEST_URL, LONGEST_WORD

_ALLOWED_IN_URL: Final = re.compile(r"https?://[A-Za-z0-9\-._~:/?#@!$&'*+,;=%]+")
_OBEYED: Final = str.maketrans(
    {"@": "＠", "<": "‹", ">": "›", "`": "'", "*": "∗", "[": "(", "]": ")", "|": "/"}
)
"""Signs by which chats call people, make links or change their letters; look-alikes say the same."""


def one_line(text: object, longest: int = LONGEST_WORD) -> str:
    """The text in one line, without signs that change what stands around it; a longer one is cut."""
    plain = "".join(" " if category(sign)[0] in "CZ" else sign for sign in str(text))
    joined = " ".join(plain.split())
    return joined if len(joined) <= longest else f"{joined[: longest - 1]}…"


def harmless(text: object, longest: int = LONGEST_WORD) -> str:
    """As `one_line`, and without what chats obey."""
    return one_line(text, longest).translate(_OBEYED)


def safe_url(url: object) -> str | None:
    """The address of an advert, if it is a plain one of the web; anything else is left out."""
    text = str(url)
    if len(text) > LONGEST_URL or not _ALLOWED_IN_URL.fullmatch(text):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.hostname and parts.username is None else None
