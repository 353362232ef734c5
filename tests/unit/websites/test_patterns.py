"""No regular expression runs away: each is given long texts built to make it try everything.

A pattern that is linear or quadratic needs thousandths of a second for them, an exponential one does not end.
Counted is this process's own time, so that a busy machine fails nothing.
"""

import re
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sale_sofia
from sale_sofia.config.site_config import available_sites, load_site_config
from sale_sofia.listings.elsewhere import told_elsewhere

ROOT = Path(sale_sofia.__file__).parent
LONG = 2_000
MOST_SECONDS = 2.0
UNITS = (
    "a", "1", " ", ",", "/", "-", ".", "<", '"', "я", "1 ", "1,", "1.", "a-", "/a", "<link ", "ет. ", "от ",
    "в ", "\n", "Цена:", " РЗП", "кв.м", "1 000 ", "2-стаен ", "ул. ", ", ", "12.", "/obiava/1", "тел.:",
    "q=1.", "1 януари, ", "10:00 ",
)  # fmt: skip


def module_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for room in ("listings", "websites"):
        for path in sorted((ROOT / room).glob("*.py")):
            module = import_module(f"sale_sofia.{room}.{path.stem}")
            for name, value in vars(module).items():
                for place, one in enumerate(value if isinstance(value, tuple) else (value,)):
                    if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                        yield f"{room}.{path.stem}.{name}.{place}", one


def site_patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for site in available_sites():
        for where, pattern in _patterns_in(load_site_config(site).model_dump()):
            yield f"{site}:{where}", re.compile(pattern, re.DOTALL)


def _patterns_in(section: Any, where: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401 - any part of a file
    if isinstance(section, dict):
        for key, value in section.items():
            is_pattern = isinstance(value, str) and (key in {"match", "after"} or where == ".urls")
            if is_pattern and key != "digits":
                yield f"{where}.{key}", value
            else:
                yield from _patterns_in(value, f"{where}.{key}")
    elif isinstance(section, list | tuple):
        for place, value in enumerate(section):
            yield from _patterns_in(value, f"{where}.{place}")


def adversaries(pattern: str) -> Iterator[str]:
    """Long runs of what the pattern is made of and of what adverts are, each with an end it does not like."""
    own = {piece for piece in re.split(r"[\\\[\](){}?*+|^$]+", pattern) if 0 < len(piece) < 40}
    for unit in (*UNITS, *sorted(own)):
        for begin in ("", "1"):
            yield begin + unit * (LONG // len(unit)) + "\x01"


PATTERNS = dict([*module_patterns(), *site_patterns()])


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_does_not_run_away(name: str) -> None:
    pattern = PATTERNS[name]
    for text in adversaries(pattern.pattern):
        started = time.process_time()
        pattern.search(text), pattern.fullmatch(text)
        assert time.process_time() - started < MOST_SECONDS, f"{pattern.pattern!r} on {text[:60]!r}…"


def test_every_pattern_is_among_them() -> None:
    assert len(PATTERNS) > 100
    assert {"money", "dates", "measures", "place_names", "addresses"} <= {
        one.split(".")[1] for one in PATTERNS
    }


def test_long_words_do_not_hold_up_the_search_for_other_towns() -> None:
    for unit in ("гр. ", "в Бургас", "на ", ", "):
        started = time.process_time()
        told_elsewhere("София", unit * 20_000, unit * 20_000)
        assert time.process_time() - started < MOST_SECONDS
