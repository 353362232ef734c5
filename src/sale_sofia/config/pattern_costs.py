"""Which patterns can take more than a time in proportion to a text: found out before they ever see one.

A pattern is slow where one text has many ways through it: where a repeat may begin at every place of the
text and reads on and on, where two repeats share what lies between them in any way they like, or where one
stands inside another. Each shows itself by a text that, written again and again, adds a way each time.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

from sale_sofia.config.pattern_graph import BEFORE, START, Graph, Tangled, Way, graph_of

MOST_WAYS: Final = 400
"""How many ways a place of a text may have through a pattern whose repeats all have bounds."""
ALLOWED: Final = (
    "allowed is a repeat with a bound such as {0,20}, one that begins after a sign it does not take itself, "
    "or a pattern that begins with ^"
)


@dataclass(frozen=True, slots=True)
class Slow:
    """What is wrong with a pattern, and a text that shows it when it is repeated."""

    reason: str
    text: str = ""
    before: str = ""
    """What stands before the text."""

    def __str__(self) -> str:
        before = f"{self.before!r} with " if self.before else ""
        shown = f"; try it on {before}{self.text!r} repeated" if self.text else ""
        return f"{self.reason}{shown}; {ALLOWED}"


@cache
def slowness(pattern: str | bytes, flags: int = 0, how: str = "search") -> Slow | None:
    """Why the pattern may be slower than in proportion to a text; None where it cannot be."""
    try:
        graph = graph_of(pattern, flags, how)
    except Tangled as error:
        return Slow(str(error))
    if graph.hollow:
        return Slow("a repeat repeats what may be empty, in more ways than can be tried")
    loops = [one for one in graph.loops() if one not in graph.accepting]
    return _doubled(graph, loops) or _shared(graph, loops)


def way_to(graph: Graph, loop: int) -> str:
    """A text that leads to this letter."""
    waiting, seen = [(START, "")], {START}
    for place, text in waiting:
        for way in graph.ways[place]:
            letters = way.ahead & graph.letters[way.target]
            if way.target == loop:
                return "" if loop == BEFORE else text + graph.shown(letters)
            if letters and way.target not in seen:
                seen.add(way.target)
                waiting.append((way.target, text + graph.shown(letters)))
    return ""


def _doubled(graph: Graph, loops: Iterable[int]) -> Slow | None:
    """A repeat that may go round in two ways on the same text: with each round twice as many."""
    for loop in loops:
        text = _twice_round(graph, loop)
        if text is not None:
            return Slow(
                "one repeat inside another reads the same text in ever more ways", text, way_to(graph, loop)
            )
    return None


def _shared(graph: Graph, loops: list[int]) -> Slow | None:
    """Two repeats, or the search and a repeat, that may share a text at any place of it."""
    bounded: dict[int, dict[int, str]] = {}
    for first, second in product(loops, loops):
        if first == second or second in graph.ending or second not in graph.reachable(first):
            continue
        text, hard = _moved_on(graph, first, second)
        if hard:
            return Slow(_SEARCH if first == BEFORE else _TWO, text or "", way_to(graph, first))
        if text is not None:
            bounded.setdefault(first, {})[second] = text
    return _too_many(graph, bounded)


_SEARCH: Final = "every place of a text may begin a repeat that has no bound and reads on"
_TWO: Final = "two repeats without a bound may share the same text at any place of it"


def _too_many(graph: Graph, bounded: dict[int, dict[int, str]]) -> Slow | None:
    """Repeats with bounds cost what their bounds come to where one may take over from another."""

    def most(first: int, passed: frozenset[int]) -> int:
        further = (
            graph.bounds.get(one, 1) * most(one, passed | {one})
            for one in bounded.get(first, ())
            if one not in passed
        )
        return max(further, default=1)

    for first, seconds in bounded.items():
        ways = graph.bounds.get(first, 1) * most(first, frozenset({first}))
        if ways > MOST_WAYS:
            reason = f"its repeats have {ways} ways to read one place of a text; {MOST_WAYS} are allowed"
            return Slow(reason, next(iter(seconds.values())))
    return None


def _moved_on(graph: Graph, first: int, second: int) -> tuple[str | None, bool]:
    """A text that both repeats read for themselves and that also leads from one to the other.

    Whether both need no bound to go on reading it; a text for bounded ones where there is none such.
    """
    bounded: str | None = None
    allowed = graph.between(first, first), graph.between(first, second), graph.between(second, second)
    for state, text in _paths(graph, (first, first, second, False, False), allowed):
        if state[:3] == (first, second, second):
            if state[3] and state[4]:
                return text, True
            bounded = bounded or text
    return bounded, False


def _paths(
    graph: Graph, start: tuple[int, int, int, bool, bool], allowed: tuple[Container[int], ...]
) -> Iterator[tuple[tuple[int, int, int, bool, bool], str]]:
    """All that three readers of one text may come to, and the text; the first and third mark their rounds."""
    seen, waiting = {start}, [(start, "")]
    for state, text in waiting:
        for (a, b, c), letters in _together(graph, state[:3], allowed):
            fresh = (a.target, b.target, c.target, state[3] or a.hard, state[4] or c.hard)
            if fresh not in seen:
                longer = text + graph.shown(letters)
                seen.add(fresh)
                waiting.append((fresh, longer))
                yield fresh, longer


def _together(
    graph: Graph, places: tuple[int, ...], allowed: tuple[Container[int], ...]
) -> Iterator[tuple[tuple[Way, ...], int]]:
    """The ways that readers at these places may go at once, and the letters on which they may."""
    held: list[tuple[tuple[Way, ...], int, int]] = [((), -1, -1)]
    for place, targets in zip(places, allowed, strict=True):
        held = [
            ((*ways, way), now, then)
            for ways, behind, ahead in held
            for way in graph.ways[place]
            if way.target in targets
            if (now := behind & way.behind & graph.letters[place])
            if (then := ahead & way.ahead & graph.letters[way.target])
        ]
    return ((ways, ahead) for ways, _, ahead in held)


def _twice_round(graph: Graph, loop: int) -> str | None:
    home = graph.between(loop, loop)
    start = (loop, loop, False)
    seen, waiting = {start}, [(start, "")]
    for (x, y, parted), text in waiting:
        for (first, second), letters in _together(graph, (x, y), (home, home)):
            apart = parted or first is not second
            fresh, longer = (first.target, second.target, apart), text + graph.shown(letters)
            if fresh == (loop, loop, True):
                return longer
            if fresh not in seen:
                seen.add(fresh)
                waiting.append((fresh, longer))
    return None
