"""Matching a table of adverts from one file into pairs in another, without a database."""

import csv
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sale_sofia.config.settings import Settings
from sale_sofia.config.whole_files import whole_or_not_at_all
from sale_sofia.properties.adverts_file import read_adverts
from sale_sofia.properties.fingerprint import PropertyFingerprinter
from sale_sofia.properties.links import Bands
from sale_sofia.properties.matcher import Matched, Matcher
from sale_sofia.properties.records import Adverts


class PairsWritten(NamedTuple):
    """What was done, and how long each part took."""

    adverts: int
    pairs: int
    input_seconds: float
    matching_seconds: float
    output_seconds: float


def match_file(adverts_path: Path, pairs_path: Path, settings: Settings) -> PairsWritten:
    """Write every two adverts of one property as `site|listing_key`, header a,b; whole or not at all."""
    started = time.perf_counter()
    names: list[str] = []
    records = PropertyFingerprinter(b"").fingerprints(_named(read_adverts(adverts_path), names))
    adverts = Adverts.of(range(len(names)), records)
    read = time.perf_counter()
    bands = Bands(settings.match_link_probability, settings.match_review_probability)
    matched = Matcher.of(bands).match(adverts)
    done = time.perf_counter()
    count = _write(pairs_path, names, matched)
    return PairsWritten(len(names), count, read - started, done - read, time.perf_counter() - done)


def pairs_of(matched: Matched) -> Iterator[tuple[int, int]]:
    """Every two adverts of one group, by their places."""
    order = np.argsort(matched.groups, kind="stable")
    borders = np.flatnonzero(np.diff(matched.groups[order])) + 1
    for members in np.split(order, borders):
        yield from combinations(members.tolist(), 2)


def _named(rows: Iterable[dict[str, Any]], names: list[str]) -> Iterator[dict[str, Any]]:
    """The rows as they come, and their names in the list."""
    for row in rows:
        names.append(f"{row['site']}|{row['external_id']}")
        yield row


def _write(path: Path, names: Sequence[str], matched: Matched) -> int:
    with whole_or_not_at_all(path) as unfinished, unfinished.open("x", encoding="utf-8", newline="") as file:
        return _write_rows(csv.writer(file), names, matched)


def _write_rows(writer: Any, names: Sequence[str], matched: Matched) -> int:  # noqa: ANN401 - csv has no name for it
    writer.writerow(("a", "b"))
    count = 0
    for count, (one, two) in enumerate(pairs_of(matched), 1):  # noqa: B007 - counted
        writer.writerow((names[one], names[two]))
    return count
