"""Control characters, which no text of a portal may bring to a terminal."""

from typing import Final

_CONTROLS: Final = (*range(9), *range(11, 32), *range(0x7F, 0xA0))
_TURNS: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that change the direction of writing, which can make a word look like another."""
_HALVES: Final = tuple(range(0xD800, 0xE000))
"""Surrogates, which cannot be encoded."""
OBEYED: Final = (*_CONTROLS, *_TURNS, *_HALVES)
"""All of them but tab and newline."""
NOT_SHOWN: Final = dict.fromkeys(OBEYED, "?")
"""For `str.translate`: a question mark in place of each."""
WRITTEN_OUT: Final = {sign: f"\\u{sign:04x}" for sign in OBEYED}
"""For `str.translate`: each as a JSON escape."""

WIDEST_TABLE: Final = 160
"""Width of a table in a file or a pipe, which have none of their own."""
