"""Finds regular expressions that may take more than linear time, before they see a text.

A pattern is slow where one text has many ways through it: where an unbounded repeat may begin at every place
of the text, where two repeats can share the text between them in any way, or where one is inside another.
Each is shown by a text that, repeated, adds a way each time.
"""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod
from re import _compiler, _parser  # type: ignore[attr-defined]  # the parsed pattern has no public name
from re import _constants as op  # type: ignore[attr-defined]
from typing import Any, Final

# The ways a regular expression may read a text, as a graph: its letters, and what may follow each. Python's
# engine tries one way after another, so the worst cost can be read off the graph: where one text has many
# ways through it. Letters are sets of a small alphabet, as bits: characters with a meaning in patterns, both
# alphabets of our pages, and those that the pattern itself names.

_ALPHABET: Final = "".join(map(chr, (*range(1, 128), *range(0x410, 0x450)))) + "\xa0²№€–ıſ\x85ё٣中"
_MOST_WAYS: Final = 4096
"""Ways between two letters without reading any; a pattern with more is too complex to judge."""
_EDGE: Final = 1
"""The bit for no letter at all: the beginning and the end of a text."""

Letters = int


class Tangled(ValueError):
    """A pattern with too many ways from a letter to the next to judge."""


@dataclass(frozen=True, slots=True)
class Way:
    """A move from one place to the next, and the letters around it that allow it."""

    source: int
    target: int
    behind: Letters
    ahead: Letters
    hard: bool = False
    """It repeats something without a bound, or with a very high one."""


@dataclass(slots=True)
class Graph:
    """The letters of a pattern by number, and the ways between them."""

    letters: dict[int, Letters]
    ways: dict[int, list[Way]]
    bounds: dict[int, int]
    """For letters inside bounded repeats, how often they may be read in a row."""
    accepting: set[int]
    """Letters after which the whole pattern has matched, whatever follows."""
    ending: set[int]
    """Letters after which it matches at the end of the text, having tried everything else before."""
    alphabet: str
    hollow: bool
    """Something that may be empty is repeated."""
    reach: dict[int, frozenset[int]] = field(default_factory=dict)

    def reachable(self, start: int) -> frozenset[int]:
        """Return the letters that may be read after this one."""
        if start not in self.reach:
            found: set[int] = set()
            waiting = [start]
            while waiting:
                fresh = {way.target for way in self.ways[waiting.pop()]} - found
                found |= fresh
                waiting += fresh
            self.reach[start] = frozenset(found)
        return self.reach[start]

    def between(self, first: int, last: int) -> set[int]:
        """Return the letters on the ways from one to the other, except those that already match."""
        on_the_way = {
            letter for letter in self.reachable(first) if letter == last or last in self.reachable(letter)
        }
        return on_the_way - self.accepting

    def loops(self) -> list[int]:
        """Return the letters that may be read repeatedly."""
        candidates = (letter for letter in (*self.bounds, BEFORE) if letter in self.letters)
        return [letter for letter in candidates if letter in self.reachable(letter)]

    def kinds(self, letters: Letters) -> list[str]:
        """Return one of these letters of each kind: digit, letter, space, other."""
        each = [sign for place, sign in enumerate(self.alphabet, 1) if letters >> place & 1]
        return list({(sign.isdecimal(), sign.isalpha(), sign.isspace()): sign for sign in each}.values())

    def example(self, letters: Letters) -> str:
        """Return one of these letters, alphanumeric if possible."""
        each = [sign for place, sign in enumerate(self.alphabet, 1) if letters >> place & 1]
        return next((sign for sign in each if sign.isalnum()), each[0] if each else "")


START: Final = 0
BEFORE: Final = 1
"""Before the first letter, and what a search passes over before it."""


def graph_of(pattern: str | bytes, flags: int = 0, how: str = "search") -> Graph:
    """Return the graph of a pattern used for search, match or fullmatch."""
    tree = _parser.parse(pattern, flags)
    return _Builder(tree, how).graph()


class _Builder:
    def __init__(self, tree: Any, how: str) -> None:  # noqa: ANN401 - a parsed pattern
        own = {chr(code) for code in _codes(tree)} - set(_ALPHABET)
        self.alphabet = _ALPHABET + "".join(sorted(own))
        self.all = ((1 << len(self.alphabet) + 1) - 1) & ~_EDGE
        self.any = self.all | _EDGE
        self.letters: dict[int, Letters] = {START: _EDGE}
        self.steps: list[list[Way]] = [[], []]
        """The moves that read nothing, by the place they begin at."""
        self.bounds: dict[int, int] = {}
        self.inside: list[int] = []
        """The bounds of the repeats around this place."""
        self.lazy: set[int] = set()
        self.hollow = False
        self._closures: dict[int, list[Way]] = {}
        if how == "search":
            self.letters[BEFORE] = self.all
        end = self._sequence(tree, START, tree.state.flags)
        self.end = self._point()
        self._link(end, self.end, ahead=_EDGE if how == "fullmatch" else self.any)

    def graph(self) -> Graph:
        ways = {
            number: [way for way in self._closure(number) if way.target in self.letters]
            for number in self.letters
        }
        if BEFORE in self.letters:
            first = [Way(BEFORE, way.target, way.behind, way.ahead) for way in ways[START]]
            begin = [Way(number, BEFORE, self.any, self.any, hard=True) for number in (START, BEFORE)]
            ways |= {START: [*ways[START], begin[0]], BEFORE: [*first, begin[1]]}
        free = {source for source in self.letters if self._accepts(source, self.any)}
        ending = {source for source in self.letters if self._reads_on(source, ways[source])} - free
        free |= ending - self.lazy
        return Graph(self.letters, ways, self.bounds, free, ending & self.lazy, self.alphabet, self.hollow)

    def _accepts(self, source: int, followed_by: Letters) -> bool:
        """Whether the pattern has matched at this letter, if one of those follows."""
        return source != START and any(
            way.target == self.end and way.behind == self.any and way.ahead & followed_by == followed_by
            for way in self._closure(source)
        )

    def _reads_on(self, source: int, ways: list[Way]) -> bool:
        """Whether this letter can always be read to the end of the text, which matches."""
        again = Way(source, source, self.any, self.any, hard=True)
        return self.letters[source] == self.all and again in ways and self._accepts(source, _EDGE)

    def _closure(self, source: int) -> list[Way]:
        """Return the next letters, and the end, by every way that reads nothing."""
        if source not in self._closures:
            begin = Way(source, source, self.any, self.any)
            self._closures[source] = list(self._walk(begin, ()))
            if len(self._closures[source]) > _MOST_WAYS:
                raise Tangled("it has too many ways to go on from one place")
        return self._closures[source]

    def _walk(self, so_far: Way, passed: tuple[int, ...]) -> Iterator[Way]:
        for step in self.steps[so_far.target]:
            behind, ahead = so_far.behind & step.behind, so_far.ahead & step.ahead
            if step.target in passed or not behind or not ahead:
                continue
            now = Way(so_far.source, step.target, behind, ahead, so_far.hard or step.hard)
            if step.target in self.letters or step.target == self.end:
                yield now
            else:
                yield from self._walk(now, (*passed, step.target))

    def _point(self) -> int:
        self.steps.append([])
        return len(self.steps) - 1

    def _link(
        self, source: int, target: int, behind: Letters = -1, ahead: Letters = -1, *, hard: bool = False
    ) -> None:
        self.steps[source].append(Way(source, target, behind & self.any, ahead & self.any, hard))

    def _letter(self, source: int, letters: Letters) -> int:
        number = self._point()
        self.letters[number] = letters
        self._link(source, number)
        if self.inside:
            self.bounds[number] = prod(self.inside)
        return number

    def _sequence(self, nodes: Any, source: int, flags: int) -> int:  # noqa: ANN401 - a parsed pattern
        for kind, value in nodes:
            source = self._node(kind, value, source, flags)
        return source

    def _node(self, kind: Any, value: Any, source: int, flags: int) -> int:  # noqa: ANN401, PLR0911 - one line each
        if kind in _LETTERS:
            return self._letter(source, self._set((kind, value), flags))
        if kind in _REPEATS:
            return self._repeat(value, source, flags, lazy=kind is op.MIN_REPEAT)
        if kind is op.BRANCH:
            return self._branches(value[1], source, flags)
        if kind is op.SUBPATTERN:
            _, added, dropped, inner = value
            return self._sequence(inner, source, (flags | added) & ~dropped)
        if kind is op.ATOMIC_GROUP:
            return self._sequence(value, source, flags)
        if kind is op.AT:
            return self._at(value, source, flags)
        if kind in _ASSERTS:
            return self._look(value, source, flags, positive=kind is op.ASSERT)
        if kind is op.GROUPREF:  # may be as long as any text
            return self._repeat((0, op.MAXREPEAT, [(op.ANY, None)]), source, flags | re.DOTALL)
        if kind is op.GROUPREF_EXISTS:
            return self._branches([value[1], value[2] or []], source, flags)
        return source

    def _branches(self, branches: Sequence[Any], source: int, flags: int) -> int:
        end = self._point()
        for branch in branches:
            self._link(self._sequence(branch, source, flags), end)
        return end

    def _repeat(self, value: Any, source: int, flags: int, *, lazy: bool = False) -> int:  # noqa: ANN401
        least, most, body = value
        if most <= _WRITTEN_OUT and len(body) == 1 and body[0][0] in _LETTERS:
            end = self._point()
            for number in range(most):
                if number >= least:
                    self._link(source, end)
                source = self._sequence(body, source, flags)
            self._link(source, end)
            return end
        begin, end = self._point(), self._point()
        self._link(source, begin)
        again, hard = most > 1, most > REPEAT_COUNTS_TO
        if again:
            self.inside.append(1 if hard else int(most))
        before = len(self.steps)
        last = self._sequence(body, begin, flags)
        self.lazy |= set(range(before, len(self.steps))) if lazy else set()
        self._link(last, end)
        if again:
            self.inside.pop()
            self.hollow |= isinstance(body, _parser.SubPattern) and body.getwidth()[0] == 0
            self._link(last, begin, hard=hard)
        if least == 0:
            self._link(source, end)
        return end

    def _at(self, where: Any, source: int, flags: int) -> int:  # noqa: ANN401 - a place of the parser
        end = self._point()
        line = 1 << self.alphabet.index("\n") + 1 | _EDGE
        if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            several = flags & re.MULTILINE and where is op.AT_BEGINNING
            self._link(source, end, line if several else _EDGE)
        elif where in (op.AT_END, op.AT_END_STRING):
            self._link(source, end, ahead=line if where is op.AT_END else _EDGE)
        else:
            word = self._set((op.IN, [(op.CATEGORY, op.CATEGORY_WORD)]), flags)
            other = self.any & ~word
            after_word, after_other = (other, word) if where is op.AT_BOUNDARY else (word, other)
            self._link(source, end, word, after_word)
            self._link(source, end, other, after_other)
        return end

    def _look(self, value: Any, source: int, flags: int, *, positive: bool) -> int:  # noqa: ANN401 - parsed
        """Narrow what may follow by one letter ahead, or the last one behind; longer lookaheads cost time."""
        end = self._point()
        side, body = value
        bare = body
        while len(bare) == 1 and bare[0][0] is op.SUBPATTERN:
            bare = bare[0][1][3]
        last_counts = side < 0 and positive and len(bare)
        if (len(bare) == 1 or last_counts) and bare[-1][0] in _LETTERS:
            letters = self._set(bare[-1], flags)
            seen = letters if positive else self.any & ~letters
            self._link(source, end, seen if side < 0 else -1, seen if side > 0 else -1)
            return end
        if side > 0:
            self._sequence(body, source, flags)
        self._link(source, end)
        return end

    def _set(self, node: tuple[Any, Any], flags: int) -> Letters:
        """Return the letters that this part of a pattern matches, cached by its text."""
        key = repr(node), flags, self.alphabet
        if key not in _SETS:
            state = _parser.State()
            state.flags, state.str = flags, self.alphabet
            pattern = _compiler.compile(_parser.SubPattern(state, [node]), flags)
            if flags & re.UNICODE:
                signs = set(pattern.findall(self.alphabet))
            else:
                found = pattern.findall(self.alphabet.encode("latin-1", "replace"))
                signs = {sign.decode("latin-1") for sign in found}
            _SETS[key] = sum(1 << place for place, sign in enumerate(self.alphabet, 1) if sign in signs)
        return _SETS[key]


_WRITTEN_OUT: Final = 4
"""A letter repeated at most so often is expanded into that many letters."""
REPEAT_COUNTS_TO: Final = 400
"""A repeat with a higher bound counts as unbounded."""
_LETTERS: Final = (op.LITERAL, op.NOT_LITERAL, op.IN, op.ANY)
_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_ASSERTS: Final = (op.ASSERT, op.ASSERT_NOT)


_SETS: Final[dict[tuple[str, int, str], Letters]] = {}


def _codes(nodes: Any) -> Iterator[int]:  # noqa: ANN401 - a parsed pattern
    """Yield the letters that a pattern names."""
    if isinstance(nodes, tuple) and nodes and nodes[0] in (op.LITERAL, op.NOT_LITERAL):
        yield nodes[1]
    elif isinstance(nodes, tuple) and nodes and nodes[0] is op.RANGE:
        yield from nodes[1]
    elif isinstance(nodes, list | tuple | _parser.SubPattern):
        for node in nodes:
            yield from _codes(node)


MOST_WAYS: Final = 400
"""How many ways a place of a text may have through a pattern whose repeats all have bounds."""
ALLOWED: Final = (
    "allowed is a repeat with a bound such as {0,20}, one that begins after a sign it does not take itself, "
    "or a pattern that begins with ^"
)


@dataclass(frozen=True, slots=True)
class Slow:
    """Why a pattern is slow, and a text that shows it when repeated."""

    reason: str
    text: str = ""
    before: str = ""
    """What stands before the text."""

    def __str__(self) -> str:
        before = f"{self.before!r} with " if self.before else ""
        example = f"; try it on {before}{self.text!r} repeated" if self.text else ""
        return f"{self.reason}{example}; {ALLOWED}"


@cache
def slowness(pattern: str | bytes, flags: int = 0, how: str = "search") -> Slow | None:
    """Return why the pattern may take more than linear time; None where it cannot."""
    try:
        graph = graph_of(pattern, flags, how)
    except Tangled as error:
        return Slow(str(error))
    if graph.hollow:
        return Slow("a repeat repeats what may be empty, in more ways than can be tried")
    loops = [letter for letter in graph.loops() if letter not in graph.accepting]
    for loop in loops:
        # Two ways around on the same text double with each round.
        if (text := _twice_round(graph, loop)) is not None:
            reason = "one repeat inside another reads the same text in ever more ways"
            return Slow(reason, text, way_to(graph, loop))
    return _shared(graph, loops)


def way_to(graph: Graph, loop: int) -> str:
    """Return a text that leads to this letter."""
    waiting, seen = [(START, "")], {START}
    for place, text in waiting:
        for way in graph.ways[place]:
            letters = way.ahead & graph.letters[way.target]
            if way.target == loop:
                return "" if loop == BEFORE else text + graph.example(letters)
            if letters and way.target not in seen:
                seen.add(way.target)
                waiting.append((way.target, text + graph.example(letters)))
    return ""


def _shared(graph: Graph, loops: list[int]) -> Slow | None:
    """Find two repeats, or the search and a repeat, that may share a text at any place of it."""
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
    """Find bounded repeats that may take over from each other, where the product of bounds is too high."""

    def most(first: int, passed: frozenset[int]) -> int:
        further = (
            graph.bounds.get(loop, 1) * most(loop, passed | {loop})
            for loop in bounded.get(first, ())
            if loop not in passed
        )
        return max(further, default=1)

    for first, seconds in bounded.items():
        ways = graph.bounds.get(first, 1) * most(first, frozenset({first}))
        if ways > MOST_WAYS:
            reason = f"its repeats have {ways} ways to read one place of a text; {MOST_WAYS} are allowed"
            return Slow(reason, next(iter(seconds.values())))
    return None


def _moved_on(graph: Graph, first: int, second: int) -> tuple[str | None, bool]:
    """Return a text that both repeats can read and that also leads from one to the other.

    Also whether both are unbounded; else the text of bounded ones, if any.
    """
    bounded: str | None = None
    allowed = graph.between(first, first), graph.between(first, second), graph.between(second, second)
    # All states of three readers of one text; the first and the third record unbounded rounds.
    start = (first, first, second, False, False)
    seen, waiting = {start}, [(start, "")]
    for state, text in waiting:
        for (a, b, c), letters in _together(graph, state[:3], allowed):
            fresh = (a.target, b.target, c.target, state[3] or a.hard, state[4] or c.hard)
            if fresh in seen:
                continue
            longer = text + graph.example(letters)
            seen.add(fresh)
            waiting.append((fresh, longer))
            if fresh[:3] == (first, second, second):
                if fresh[3] and fresh[4]:
                    return longer, True
                bounded = bounded or longer
    return bounded, False


def _together(
    graph: Graph, places: tuple[int, ...], allowed: tuple[Container[int], ...]
) -> Iterator[tuple[tuple[Way, ...], int]]:
    """Yield the moves that readers at these places can make together, and on which letters."""
    joint: list[tuple[tuple[Way, ...], int, int]] = [((), -1, -1)]
    for place, targets in zip(places, allowed, strict=True):
        joint = [
            ((*ways, way), now, then)
            for ways, behind, ahead in joint
            for way in graph.ways[place]
            if way.target in targets
            if (now := behind & way.behind & graph.letters[place])
            if (then := ahead & way.ahead & graph.letters[way.target])
        ]
    return ((ways, ahead) for ways, _, ahead in joint)


def _twice_round(graph: Graph, loop: int) -> str | None:
    home = graph.between(loop, loop)
    start = (loop, loop, False)
    seen, waiting = {start}, [(start, "")]
    for (x, y, parted), text in waiting:
        for (first, second), letters in _together(graph, (x, y), (home, home)):
            apart = parted or first is not second
            fresh, longer = (first.target, second.target, apart), text + graph.example(letters)
            if fresh == (loop, loop, True):
                return longer
            if fresh not in seen:
                seen.add(fresh)
                waiting.append((fresh, longer))
    return None


# Patterns of site files: checked when the file is loaded, and compiled in one place.

_FLAGS = re.DOTALL


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of a site file; its dot matches line breaks too."""
    return re.compile(pattern, _FLAGS)


@cache
def checked(pattern: str) -> str:
    """Return the pattern, which takes linear time on any text.

    Raises:
        ValueError: it is no regular expression, or may be slower.
    """
    try:
        compiled(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if slow := slowness(pattern, _FLAGS):
        raise ValueError(f"the pattern {pattern!r} may be too slow: {slow}")
    return pattern


def with_a_group(pattern: str) -> str:
    """Return the pattern, if it has a group.

    Raises:
        ValueError: it has none.
    """
    if not compiled(pattern).groups:
        raise ValueError("the pattern needs a group (…): what it finds is the text")
    return pattern


# Test texts for a pattern: what each of its repeats reads, repeated.

END = "\x01\n\x01"
"""Put after a text so that no pattern matches it whole."""


@cache
def pieces_for(pattern: str | bytes, flags: int = 0) -> tuple[tuple[str, str], ...]:
    """Return the beginning of a text and what is repeated after it, for each repeat of a pattern."""
    return tuple(dict.fromkeys(_pieces(pattern, flags)))


def text_of(piece: tuple[str, str], size: int) -> str:
    """Return a text of about so many characters."""
    before, unit = piece
    return before + unit * max(1, (size - len(before)) // len(unit)) + END


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
