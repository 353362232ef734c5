"""Splink on the same adverts, blocks and weights: scored in DuckDB, joined by connected components."""

import logging
import math
import time
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from splink import DuckDBAPI, Linker, SettingsCreator
from splink.blocking_rule_library import CustomRule

from sale_sofia.flats.matching.comparison import LEVELS, MatchWeights
from sale_sofia.flats.matching.fingerprint import UNKNOWN_FLOOR, Adverts

ALIKE = (
    "abs(l.price - r.price) <= 0.12 * greatest(l.price, r.price)"
    " and abs(l.area - r.area) <= 0.03 * greatest(l.area, r.area)"
    " and coalesce(l.floor = r.floor, true)"
)
BLOCKS = (
    f"l.quarter = r.quarter and l.floor = r.floor and {ALIKE}",
    f"l.phone = r.phone and {ALIKE}",
    *(f"l.w{one} = r.w{two} and {ALIKE}" for one in (1, 2, 3) for two in (1, 2, 3)),
)
U = 0.004
"""Splink wants two probabilities for a level and uses their ratio: one may be anything."""
CONDITIONS = {
    "place": ("quarter_l is null or quarter_r is null", "quarter_l = quarter_r", "false", "else"),
    "rooms": ("false", "rooms_l = rooms_r", "abs(rooms_l - rooms_r) = 1", "else"),
    "area": ("false", "abs(area_l - area_r) <= 0.05", "abs(area_l - area_r) <= 0.5", "else", ""),
    "price": (
        "false",
        "price_l = price_r",
        "false",
        "abs(price_l - price_r) <= 0.03 * greatest(price_l, price_r)",
        "else",
        "",
    ),
    "floor": ("floor_l is null or floor_r is null", "floor_l = floor_r", "else"),
    "floors": (
        "floors_l is null or floors_r is null",
        "floors_l = floors_r",
        "abs(floors_l - floors_r) = 1",
        "else",
    ),
    "contact": ("phone_l is null or phone_r is null", "phone_l = phone_r", "false", "else"),
    "text": (
        "false",
        "len(list_intersect(text_l, text_r)) >= 17",
        "len(list_intersect(text_l, text_r)) >= 10",
        "len(list_intersect(text_l, text_r)) >= 4",
        "len(list_intersect(text_l, text_r)) >= 1",
        "else",
    ),
}


def run(adverts: Adverts, weights: MatchWeights, threshold: float) -> dict[str, Any]:
    """Its groups (advert → cluster), and how long scoring and clustering took."""
    logging.getLogger("splink").setLevel(logging.ERROR)
    api = DuckDBAPI()
    settings = SettingsCreator(
        link_type="dedupe_only",
        unique_id_column_name="id",
        comparisons=[_comparison(field, weights) for field in CONDITIONS],
        blocking_rules_to_generate_predictions=[CustomRule(rule) for rule in BLOCKS],
        probability_two_random_records_match=1 / (1 + math.exp(-weights.prior)),
        retain_matching_columns=False,
    )
    linker = Linker(api.register(_table(adverts)), settings, log_level=logging.ERROR)
    started = time.perf_counter()
    scored = linker.inference.predict(threshold_match_probability=threshold)
    done = time.perf_counter()
    clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(
        scored, threshold_match_probability=threshold
    )
    ended = time.perf_counter()
    rows = clusters.as_record_list()
    return {
        "groups": {row["id"]: row["cluster_id"] for row in rows},
        "score_seconds": done - started,
        "cluster_seconds": ended - done,
    }


def _comparison(field: str, weights: MatchWeights) -> dict[str, Any]:
    by_level = zip(LEVELS[field], CONDITIONS[field], weights.levels[field].tolist(), strict=False)
    levels = [_level(*one) for one in by_level if one[1] not in {"", "false"}]
    return {"output_column_name": field, "comparison_levels": levels}


def _level(name: str, condition: str, weight: float) -> dict[str, Any]:
    level: dict[str, Any] = {"sql_condition": condition, "label_for_charts": name}
    if name == "unknown":
        return level | {"is_null_level": True}
    if condition == "else":
        level["sql_condition"] = "ELSE"
    return level | {"m_probability": U * math.exp(weight), "u_probability": U}


def _table(adverts: Adverts) -> pa.Table:
    floor, floors, text = adverts["floor"], adverts["floors"], adverts["text"]
    phone, quarter = adverts["phones"][:, 0], adverts["quarter"]
    return pa.table(
        {
            "id": adverts.ids,
            "quarter": pa.array(quarter, mask=quarter == 0),
            "floor": pa.array(floor, mask=floor == UNKNOWN_FLOOR),
            "floors": pa.array(floors, mask=floors == 0),
            "rooms": adverts["rooms"],
            "area": adverts["area"],
            "price": adverts["price"],
            "phone": pa.array(phone, mask=phone == 0),
            "text": pa.FixedSizeListArray.from_arrays(pa.array(text.ravel()), text.shape[1]).cast(
                pa.list_(pa.uint32())
            ),
            **{f"w{place + 1}": pa.array(text[:, place], mask=text[:, place] == 0) for place in range(3)},
        }
    )
