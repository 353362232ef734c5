"""Nothing from a portal is trusted: what of its texts and addresses may be shown, and in what form."""

import re
from html import escape
from typing import Final

from sale_sofia.config.screens import LONGEST_CELL, LONGEST_TEXT, LONGEST_TITLE
from sale_sofia.data.export import FORMULA_SIGNS
from sale_sofia.listings.safe_text import CUT, address, html, html_address, plain, visible

__all__ = ["address", "cell", "html", "html_address", "html_paragraphs", "markdown", "paragraphs", "plain"]

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:^=&@/])")


def paragraphs(text: object, most: int = LONGEST_TEXT) -> str:
    """A long text of visible characters, its line ends kept, cut where it gets too long."""
    lines = [" ".join(visible(line).split()) for line in str(text)[: 2 * most].splitlines()]
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return whole if len(whole) <= most else whole[: most - 1].rstrip() + CUT


def html_paragraphs(text: object, most: int = LONGEST_TEXT) -> str:
    """The same for a long text, its line ends as breaks."""
    return escape(paragraphs(text, most), quote=True).replace("\n", "<br>")


def markdown(text: object, most: int = LONGEST_TITLE) -> str:
    """The text inside Markdown, as labels of Streamlit are: no mark in it means anything."""
    return _MARKDOWN.sub(r"\\\1", plain(text, most))


def cell(value: object, most: int = LONGEST_CELL) -> object:
    """A value of an exported table: a text that a spreadsheet would take for a formula begins with `'`."""
    if not isinstance(value, str):
        return value
    text = plain(value, most)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text
