"""Texts made for a pattern: what each of its repeats reads, written again and again."""

from collections.abc import Iterator
from functools import cache

from sale_sofia.config.pattern_costs import way_to
from sale_sofia.config.pattern_graph import BEFORE, START, graph_of

END = "\x01\n\x01"
"""What stands behind a text so that no pattern takes it whole."""


@cache
def pieces_for(pattern: str | bytes, flags: int = 0) -> tuple[tuple[str, str], ...]:
    """What a text begins with, and what is repeated after it: every way a repeat may be held up."""
    return tuple(dict.fromkeys(_pieces(pattern, flags)))


def text_of(piece: tuple[str, str], size: int) -> str:
    """A text of about so many characters."""
    before, again = piece
    return before + again * max(1, (size - len(before)) // len(again)) + END


def _pieces(pattern: str | bytes, flags: int) -> Iterator[tuple[str, str]]:
    graph = graph_of(pattern, flags)
    last = max(graph.letters)
    if last not in (START, BEFORE):
        yield "", way_to(graph, last) or " "
    for letter in graph.loops():
        if letter != BEFORE:
            before = way_to(graph, letter)
            for sign in graph.kinds(graph.letters[letter]):
                yield before, sign
                yield "", before + sign
