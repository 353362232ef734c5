"""The drawing at the top of errors.py is what the classes do."""

import re

from sale_sofia.crawl.resilience import errors
from sale_sofia.crawl.resilience.errors import CrawlError, class_names

Row = tuple[object, ...]
LINE = re.compile(r"([│ ]*)[├└]── (\w+)( !)? +(\w+) +(\w+) +(\w+) +\w")


def drawn() -> dict[str, Row]:
    """Each class as drawn: its parent, what next, tries, then, and whether it counts by a mark of its own."""
    found: dict[str, Row] = {}
    path = ["CrawlError"]
    for line in str(errors.__doc__).splitlines():
        if match := LINE.match(line):
            bars, name, counts, *does = match.groups()
            depth = len(bars) // 4 + 1
            path[depth:] = [name]
            found[name] = (path[depth - 1], *does, bool(counts))
    return found


def as_it_is(kind: type[CrawlError]) -> Row:
    tries = "all" if kind.attempts is None else str(kind.attempts)
    marked = "counts_against_domain" in vars(kind)
    return (kind.__mro__[1].__name__, kind.action.value, tries, kind.at_last.value, marked)


def test_the_drawing_is_what_the_classes_do() -> None:
    named = [name for name in class_names() if name != "CrawlError"]
    assert drawn() == {name: as_it_is(getattr(errors, name)) for name in named}


def test_the_tries_are_those_that_were_asked_for() -> None:
    tries = {
        kind.__name__: kind.attempts
        for kind in (errors.NetworkTimeout, errors.HttpRateLimit, errors.HttpBlocked, errors.ParseJson)
    }
    assert tries == {"NetworkTimeout": 3, "HttpRateLimit": 5, "HttpBlocked": 3, "ParseJson": 0}
