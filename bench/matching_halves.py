"""Matching on random halves of the neighbourhoods of real adverts: matching_halves.py ADVERTS.parquet.

Beside it a strict rule on the same adverts: one quarter and floor, area within half a metre, storeys within
one, price within 3 %. Both are judged by the construction year in the cards, which neither may use: two
adverts of one flat do not differ by 15 years. Only current adverts with price and area count.
"""

import argparse
import json
import re
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from numpy.typing import NDArray

from matching_fit import base_pairs, fit
from sale_sofia.flats.matching.clustering import Bands, Matcher
from sale_sofia.flats.matching.comparison import weights_from
from sale_sofia.flats.matching.files import pairs_of, read_adverts
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter
from sale_sofia.settings.model import Settings

HALVES, GOAL_SHARE = 200, 0.99
CURRENT_SINCE = date(2026, 1, 19)
YEARS_APART = 15
STRICT_AREA, STRICT_PRICE = 0.5, 0.03
YEAR = re.compile(r"((?:19|20)\d\d)(?: - (?:19|20)\d\d)? г")
Rows = NDArray[np.int64]
Pairs = tuple[Rows, Rows]
Flags = NDArray[np.bool_]


class Judged(NamedTuple):
    """Pairs of current adverts, and the share of those with two years whose years contradict."""

    pairs: int
    conflicts: float


class Cards(NamedTuple):
    """What the judge knows of each advert."""

    current: Flags
    quarter: NDArray[np.str_]
    year: NDArray[np.float64]


def main() -> None:
    """Match everything once, then half after half; end with one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("adverts", type=Path)
    parser.add_argument("--halves", type=int, default=HALVES)
    parser.add_argument("--crossed", action="store_true", help="with weights fitted on the other half")
    options = parser.parse_args()
    settings = Settings()
    matcher = Matcher.of(Bands(settings.match_link_probability, settings.match_review_probability))
    cards, strict = read_cards(options.adverts)
    records = PropertyFingerprinter(b"").fingerprints(read_adverts(options.adverts))
    adverts = Adverts.of(range(len(records)), records)
    print(f"all: ours {judge(cards, found_in(matcher, adverts))}, strict {judge(cards, strict)}", flush=True)
    names = np.unique(cards.quarter[cards.quarter != ""])
    told = []
    for seed in range(options.halves):
        inside = np.isin(cards.quarter, np.random.default_rng(seed).permutation(names)[: len(names) // 2])
        if options.crossed:
            learnt = fit(base_pairs(adverts.take(np.flatnonzero(~inside))))
            matcher = Matcher(matcher.bands, weights_from(learnt))
        ours = found_in(matcher, adverts.take(np.flatnonzero(inside)))
        theirs = (strict[0][inside[strict[0]]], strict[1][inside[strict[0]]])  # both are of one quarter
        told.append((judge(cards, ours), judge(cards, theirs)))
    print(json.dumps({"bench": "matching_halves", **summary(told)}))


def summary(told: list[tuple[Judged, Judged]]) -> dict[str, Any]:
    """How often ours finds as many, and the mean share of conflicts."""
    ratios = np.array([ours.pairs / max(strict.pairs, 1) for ours, strict in told])
    conflicts = np.array([(ours.conflicts, strict.conflicts) for ours, strict in told]).mean(axis=0)
    enough = int((ratios >= 1).sum())
    return {
        "halves": len(told),
        "as_many_pairs": enough,
        "times_as_many": {"mean": round(float(ratios.mean()), 3), "least": round(float(ratios.min()), 3)},
        "conflicts": {"ours": round(float(conflicts[0]), 5), "strict": round(float(conflicts[1]), 5)},
        "met": bool(enough >= GOAL_SHARE * len(told) and conflicts[0] <= conflicts[1]),
    }


def found_in(matcher: Matcher, adverts: Adverts) -> Pairs:
    """The pairs found among these, by the ids of the adverts."""
    found = np.array(list(pairs_of(matcher.match(adverts).groups)), np.int64).reshape(-1, 2)
    return adverts.ids[found[:, 0]], adverts.ids[found[:, 1]]


def judge(cards: Cards, pairs: Pairs) -> Judged:
    """The current ones among the pairs, and how many of them cannot be one flat."""
    one, two = (side[cards.current[pairs[0]] & cards.current[pairs[1]]] for side in pairs)
    apart = np.abs(cards.year[one] - cards.year[two])
    known = ~np.isnan(apart)
    return Judged(len(one), float((apart[known] >= YEARS_APART).mean()) if known.any() else 0.0)


def read_cards(path: Path) -> tuple[Cards, Pairs]:
    """The judge's view of the table, and the strict rule's pairs."""
    columns = pq.read_table(path).to_pydict()
    number = {name: np.array(columns[name], float) for name in ("price", "area", "floor", "total_floors")}
    seen = np.array([str(day) >= str(CURRENT_SINCE) for day in columns["last_seen"]])
    current = seen & ~np.isnan(number["price"] + number["area"])
    years = [YEAR.search(text or "") for text in columns["snippet"]]
    cards = Cards(
        current,
        np.array([name or "" for name in columns["neighbourhood"]]),
        np.array([float(match[1]) if match else np.nan for match in years]),
    )
    return cards, strict_pairs(cards, number)


def strict_pairs(cards: Cards, number: dict[str, NDArray[np.float64]]) -> Pairs:
    """All pairs that the strict rule takes for one flat."""
    floor = np.nan_to_num(number["floor"], nan=-99).astype(np.int64)
    there = cards.current & (floor != -99) & (cards.quarter != "")
    found: list[Pairs] = []
    for name in np.unique(cards.quarter[there]):
        rows = np.flatnonzero(there & (cards.quarter == name))
        one, two = (rows[side] for side in np.triu_indices(len(rows), 1))
        gap = {key: np.abs(values[one] - values[two]) for key, values in number.items()}
        dearer = np.maximum(number["price"][one], number["price"][two])
        alike = (gap["floor"] == 0) & (gap["area"] <= STRICT_AREA) & (gap["price"] <= STRICT_PRICE * dearer)
        alike &= ~(gap["total_floors"] > 1)
        found.append((one[alike], two[alike]))
    return tuple(np.concatenate(side) for side in zip(*found, strict=True))  # type: ignore[return-value]


if __name__ == "__main__":
    main()
