"""Signs that a terminal obeys instead of showing them; no word of a portal may bring one there."""

from typing import Final

_CONTROLS: Final = (*range(9), *range(11, 32), *range(0x7F, 0xA0))
_TURNS: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Marks that turn the direction of writing: with them a word can be made to look like another."""
_HALVES: Final = tuple(range(0xD800, 0xE000))
"""Halves of a sign, which cannot be written at all."""
OBEYED: Final = (*_CONTROLS, *_TURNS, *_HALVES)
"""All of them but the tabulator and the end of a line."""
NOT_SHOWN: Final = dict.fromkeys(OBEYED, "?")
"""For `str.translate`: a question mark in place of each."""
WRITTEN_OUT: Final = {sign: f"\\u{sign:04x}" for sign in OBEYED}
"""For `str.translate`: each by its number, as JSON writes it."""

WIDEST_TABLE: Final = 160
"""Characters of a table's line in a file or a pipe, where nobody says how much room there is."""
