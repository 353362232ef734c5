"""Patterns of site files: checked when the file is loaded, and compiled in one place."""

import re
from functools import cache

from sale_sofia.config.pattern_costs import slowness

_FLAGS = re.DOTALL


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a site file, ready to search with; its dot takes line breaks too."""
    return re.compile(pattern, _FLAGS)


@cache
def checked(pattern: str) -> str:
    """The pattern, which takes no more time on any text than in proportion to its length.

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
    """The pattern, where it has a group.

    Raises:
        ValueError: it has none.
    """
    if not compiled(pattern).groups:
        raise ValueError("the pattern needs a group (…): what it finds is the text")
    return pattern
