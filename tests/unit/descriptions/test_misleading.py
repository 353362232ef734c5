"""Sentences that mislead a reader of words: how many values are read rightly, of each part by itself."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.fields import ATTRIBUTE_FIELDS
from sale_sofia.settings.files import read_yaml
from tables import each_row

SENTENCES = Path(__file__).parents[2] / "misleading_sentences.yaml"
SPELLINGS = {
    "south": "S", "east": "E", "west": "W", "north": "N", "ac": "air_conditioner",
    "outdoor": "outdoor_space", "underground": "underground_space",
}  # fmt: skip
"""How the half that is older than the rules calls some values."""


def spelt(field: str, value: object) -> object:
    """A value of the file as the program calls it."""
    if field == "year_range" and isinstance(value, list):
        return "-".join(map(str, value))
    return sorted(str(SPELLINGS.get(one, one)) for one in value) if isinstance(value, list) else value


def judge(text: str, says: dict[str, Any], left_open: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Each field that is said or read, and what became of it: right, wrong, missed or invented."""
    found = read_description(text)
    for field in ATTRIBUTE_FIELDS:
        if field in left_open:
            continue
        value = found[field].value if field in found else None
        if field not in says:
            if value is not None:
                yield field, "invented"
        elif value is None:
            yield field, "missed"
        else:
            yield field, "right" if spelt(field, value) == spelt(field, says[field]) else "wrong"


@cache
def sentences() -> Any:  # noqa: ANN401 - any YAML
    return read_yaml(SENTENCES.read_text("utf-8"))


def count(part: str, positions: slice) -> Counter[str]:
    rows = [row for rows in sentences()[part].values() for row in rows]
    return Counter(
        kind for row in rows[positions] for _, kind in judge(row["text"], row["says"], row.get("open", ()))
    )


ALL, EVEN, ODD = slice(None), slice(0, None, 2), slice(1, None, 2)


@each_row(
    ("part", "positions", "precision", "recall"),
    [
        ("before", ALL, 0.91, 0.93),
        ("after", ALL, 0.97, 0.95),
        ("fresh", EVEN, 0.99, 0.90),
        ("fresh", ODD, 0.86, 0.90),  # this half and the other odd ones were only scored before decision 054
        ("unseen", EVEN, 0.97, 0.84),
        ("unseen", ODD, 0.77, 0.68),
        ("later", ALL, 0.94, 0.86),
        ("hidden", EVEN, 0.96, 0.91),
        ("hidden", ODD, 0.90, 0.88),
        ("lots", ALL, 0.91, 0.78),
        ("agents", EVEN, 0.94, 0.82),
        ("agents", ODD, 0.75, 0.76),  # two of three say nothing of this flat
        ("plain", EVEN, 0.99, 0.97),
        ("plain", ODD, 0.98, 0.95),
        ("worked", ALL, 0.85, 0.89),
        ("kinds", EVEN, 0.98, 0.91),
        ("kinds", ODD, 0.94, 0.93),
        ("second_kinds", ALL, 0.98, 0.81),
        ("third_kinds", ALL, 0.55, 0.65),  # hardly one says anything of this flat
        ("fourth_kinds", ALL, 0.97, 0.95),
        ("sealed_kinds", ALL, 0.97, 0.97),
        ("fifth_kinds", ALL, 0.98, 0.90),
        ("voices", ALL, 0.98, 0.87),
        ("later_voices", ALL, 0.98, 0.91),
        ("last_voices", ALL, 0.98, 0.94),
        ("sealed_voices", ALL, 0.97, 0.95),
    ],
)
def test_what_is_said_of_this_flat_is_read_and_nothing_else(
    part: str, positions: slice, precision: float, recall: float
) -> None:
    kinds = count(part, positions)
    assert kinds["right"] / (kinds["right"] + kinds["wrong"] + kinds["invented"]) >= precision
    assert kinds["right"] / (kinds["right"] + kinds["wrong"] + kinds["missed"]) >= recall
