"""Make `flats/matching/weights.yaml` from real adverts: matching_fit.py ADVERTS.parquet WEIGHTS.yaml.

Labels come from evidence, never from EM (which finds "same agency" instead of "same flat"). All shares are
taken among pairs with nearly the same area and price, the only ones that are ever scored:

- different: both floors are known and differ. For what the floor itself says: far quarters, no common word.
- same: facts that nobody shares by chance (see `same`), each field judged by pairs chosen without it.
"""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from sale_sofia.flats.matching.candidates import expanded
from sale_sofia.flats.matching.comparison import LEVELS, PairComparison, weights_from
from sale_sofia.flats.matching.files import read_adverts
from sale_sofia.flats.matching.fingerprint import (
    ROUND_AREAS,
    ROUND_PRICES,
    Adverts,
    PropertyFingerprinter,
    area_roundness,
    is_chosen_price,
    price_roundness,
)
from sale_sofia.flats.settings import AREA_TOLERANCE, PRICE_TOLERANCE

Flags = NDArray[np.bool_]
FITTED = ("place", "rooms", "area", "price", "floor", "floors", "contact", "text")
BY_HAND = {
    "year": {"same": 1.6, "close": -1.2},
    "address": {"same": 3.0, "street": 1.0, "other_door": -3.0, "other": -0.5},
    "unit": {"same": 3.0, "entrance": 0.5},
    "photos": {"several": 5.0, "one": 2.5, "other": -0.5},
    "pictures": {"several": 6.5, "one": 2.5, "other": -0.7},
    "reference": {"same": 7.0, "other": -1.0},
}
"""What cards seldom show: a year as re-posts agree on it; doors, photos, references as what they are."""
HEADER = """\
# Log-odds that two adverts are one flat: where a pair with nearly the same area and price begins, and what
# each level of each field adds. Made by bench/matching_fit.py from labelled pairs of real search cards
# ({pairs} pairs, {same} of them surely one flat, {different} surely two); year, address, unit, photos,
# pictures and reference are set by hand, as cards seldom show them; what a rival's price says comes from how
# often floors agree. An equal area or price is worth less the rounder it is.
"""


def main() -> None:
    """Read, label, count, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("adverts", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--half", type=int, choices=(0, 1), help="only every other neighbourhood")
    options = parser.parse_args()
    adverts = read_half(options.adverts, options.half)
    pairs = base_pairs(adverts)
    fitted = fit(pairs)
    counts = {
        "pairs": len(pairs.left),
        "same": int(same(pairs).sum()),
        "different": int(different(pairs).sum()),
    }
    options.weights.write_text(HEADER.format(**counts) + yaml.safe_dump(fitted, sort_keys=False), "utf-8")
    print(counts)


def read_half(path: Path, half: int | None) -> Adverts:
    """The adverts, or those of every other neighbourhood."""
    rows = list(read_adverts(path))
    if half is not None:
        names = sorted({row["neighbourhood"] or "" for row in rows})
        rows = [row for row in rows if names.index(row["neighbourhood"] or "") % 2 == half]
    return Adverts.of(range(len(rows)), PropertyFingerprinter(b"fit").fingerprints(rows))


def base_pairs(adverts: Adverts) -> PairComparison:
    """All pairs with nearly the same area and price, wherever they are."""
    known = np.flatnonzero(~np.isnan(adverts["area"] + adverts["price"]))
    order = known[np.argsort(adverts["area"][known], kind="stable")]
    areas = adverts["area"][order]
    reach = np.searchsorted(areas, areas / (1 - AREA_TOLERANCE), "right") - np.arange(len(areas)) - 1
    owners, steps = expanded(reach)
    pairs = PairComparison(adverts, order[owners], order[owners + steps + 1])
    near = (pairs.price_gap <= PRICE_TOLERANCE) & (pairs.area_gap <= AREA_TOLERANCE)
    return PairComparison(adverts, pairs.left[near], pairs.right[near])


def same(pairs: PairComparison, without: str = "") -> Flags:
    """Pairs that are one flat: all of these agree, but for the field that is to be judged."""
    rules = {
        "text": pairs.at("text", "same"),
        "area": pairs.at("area", "same"),
        "price": pairs.at("price", "same"),
        "floor": pairs.at("floor", "same"),
    }
    kept = [rule for name, rule in rules.items() if name != without]
    if without == "text":  # then the numbers must be odd ones, and the place the same
        odd = (area_roundness(pairs.both("area")[0]) > 1) & (price_roundness(pairs.both("price")[0]) > 1)
        kept += [odd, pairs.at("place", "same")]
    if without in {"area", "price", "floor"}:
        kept.append(pairs.at("place", "same"))
    floors = ~pairs.at("floors", "other")
    return np.logical_and.reduce([*kept, floors] if without != "floors" else kept)


def different(pairs: PairComparison, without: str = "") -> Flags:
    """Pairs that are two flats."""
    if without in {"floor", "floors"}:
        return (
            pairs.at("place", "other") & pairs.at("text", "other", "unknown") & ~pairs.at("contact", "phone")
        )
    return pairs.at("floor", "other")


def fit(pairs: PairComparison) -> dict[str, Any]:
    """The whole table of weights."""
    levels = {field: fit_field(pairs, field) for field in FITTED}
    levels["price"]["rival"] = round(levels["price"]["same"] + fit_rival(pairs), 3)
    weights: dict[str, Any] = {
        "levels": levels | BY_HAND,
        "same_area": by_roundness(pairs, "area", area_roundness, ROUND_AREAS),
        "same_price": by_roundness(pairs, "price", price_roundness, ROUND_PRICES),
    }
    return {"prior": calibrated_prior(pairs, weights), **weights}


def fit_field(pairs: PairComparison, field: str) -> dict[str, float]:
    """The log of how much likelier each level is among the same than among the different."""
    chosen = {True: same(pairs, field), False: different(pairs, field)}
    shares = {label: share_of_levels(pairs.levels(field)[rows], field) for label, rows in chosen.items()}
    weights = np.log(shares[True] / shares[False])
    return {name: round(float(weights[number]), 3) for number, name in enumerate(LEVELS[field]) if number}


def fit_rival(pairs: PairComparison) -> float:
    """What another seller's price, nearly the same, says less than an equal one, by how many floors agree.

    Pairs of the same words are no help: they are copies of one seller's advert, with its price.
    """
    strangers = pairs.at("contact", "unknown", "other") & pairs.at("text", "unknown", "touching", "other")
    alike = pairs.at("place", "same") & pairs.at("area", "same") & strangers & ~pairs.at("floors", "other")
    alike &= is_chosen_price(pairs.both("price")[0])
    return log_odds_by_floors(pairs, alike & pairs.at("price", "rival")) - log_odds_by_floors(
        pairs, alike & pairs.at("price", "same")
    )


def log_odds_by_floors(pairs: PairComparison, chosen: Flags) -> float:
    """Log-odds that these are one flat: floors agree oftener than those of flats far apart do by chance."""
    known = ~pairs.at("floor", "unknown")
    agree, by_chance, of_one = (
        float(pairs.at("floor", "same")[known & some].mean())
        for some in (chosen, different(pairs, "floor"), same(pairs, "floor"))
    )
    share = min(max((agree - by_chance) / (of_one - by_chance), 0.01), 0.99)
    return float(np.log(share / (1 - share)))


def share_of_levels(levels: NDArray[np.int8], field: str) -> NDArray[np.float64]:
    """The share of each known level; half a pair is added to each, so that none is impossible."""
    counts = np.bincount(levels, minlength=len(LEVELS[field])).astype(float)
    counts[0] = 0.0
    smoothed = counts + 0.5
    return smoothed / smoothed[1:].sum()


def by_roundness(
    pairs: PairComparison, field: str, roundness: Callable[[Any], NDArray[np.int64]], names: tuple[str, ...]
) -> Mapping[str, float]:
    """What an equal number is worth, by how round it is."""
    level = pairs.levels(field) == 1
    share_same = (level & same(pairs, field)).sum() / same(pairs, field).sum()
    rounds = roundness(pairs.both(field)[0])
    weights = {}
    for number, name in enumerate(names):
        others = different(pairs) & (rounds == number)
        weights[name] = round(
            float(np.log(share_same / (((level & others).sum() + 0.5) / (others.sum() + 1)))), 3
        )
    return weights


def calibrated_prior(pairs: PairComparison, weights: Mapping[str, Any]) -> float:
    """Where a pair begins, so that the scores without the floor foretell how many floors agree.

    Two different flats are on different floors in a known share of cases, so the pairs on different floors
    tell how many of all are different.
    """
    known = PairComparison(
        pairs.adverts, *(side[~pairs.at("floor", "unknown")] for side in (pairs.left, pairs.right))
    )
    far = different(known, "floor")
    differing = known.at("floor", "other").mean() / known.at("floor", "other")[far].mean()
    floorless = weights_from({**weights, "prior": 0.0, "levels": {**weights["levels"], "floor": {}}})
    scores = floorless.log_odds(known)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        too_many = (1 / (1 + np.exp(-scores - middle))).mean() > 1 - differing
        low, high = (low, middle) if too_many else (middle, high)
    return round(low, 3)


if __name__ == "__main__":
    main()
