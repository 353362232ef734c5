"""The rules on real descriptions: labels made by hand, and what portals print beside the text."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sale_sofia.descriptions.dictionary import read_description
from shared import SHARED

DEV = SHARED / "descriptions" / "dev.jsonl"
SNIPPETS = SHARED / "descriptions" / "snippets.jsonl.gz"
needs_real_descriptions = pytest.mark.skipif(
    not SNIPPETS.exists(), reason="the real descriptions (../shared/descriptions) are not here"
)
POLAR = ("elevator", "heating", "condition")
AREA = re.compile(r"(\d+(?:[.,]\d+)?) кв\.м")
FLOOR = re.compile(r", (?:(\d+)-(?:ви|ри|ти|ми) ет\.|Партер)(?: от \d+)?,")
ROOMS = re.compile(r"(?:продава|наем)\s+(\d)-стаен", re.IGNORECASE)
EVERY = 18
"""Of the snippets this test reads one in so many; the benchmark reads them all."""


def same(one: object, other: object) -> bool:
    return sorted(one) == sorted(other) if isinstance(one, list) and isinstance(other, list) else one == other


def judged() -> Iterator[tuple[str, Any, Any]]:
    for line in DEV.read_text("utf-8").splitlines():
        row = json.loads(line)
        found = read_description(row["text"])
        for field, label in row["label"].items():
            if field not in row["ambiguous"]:
                value = found[field].value if field in found else None
                yield field, label or (None if label == [] else label), value


@needs_real_descriptions
def test_labels_made_by_hand() -> None:
    rows = list(judged())
    right = sum(label is not None and same(label, value) for _, label, value in rows)
    told = sum(value is not None for _, _, value in rows)
    stated = sum(label is not None for _, label, _ in rows)
    assert right / told >= 0.97
    assert right / stated >= 0.93
    assert [row for row in rows if row[0] in POLAR and None not in row[1:] and not same(*row[1:])] == []


@pytest.mark.slow
@needs_real_descriptions
def test_what_portals_print_beside_the_text() -> None:
    agreed: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    with gzip.open(SNIPPETS, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            if number % EVERY or row["site"] != "imotbg":
                continue
            found = read_description(row["text"])
            for field, printed in printed_values(row):
                value = found[field].value if field in found else None
                if field != "rooms" or value is not None:
                    seen[field] += 1
                    agreed[field] += value == printed
    assert min(seen[field] for field in ("area", "floor", "rooms")) > 330
    assert {field: agreed[field] / seen[field] >= bar for field, bar in BARS.items()} == dict.fromkeys(
        BARS, True
    )


BARS = {"area": 0.995, "floor": 0.995, "rooms": 0.96}


def printed_values(row: dict[str, str]) -> Iterator[tuple[str, float]]:
    if found := AREA.match(row["text"]):
        yield "area", float(found[1].replace(",", "."))
    if found := FLOOR.search(row["text"][:90]):
        yield "floor", int(found[1] or 0)
    if found := ROOMS.match(row["title"]):
        yield "rooms", int(found[1])
