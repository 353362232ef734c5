"""Which adverts are one flat: block, score and cluster, beside splink on the same blocks and weights.

Noisy adverts with known truth, as many to the quarter whatever their number. Each measurement runs in a
process of its own, for its peak of memory. What is read and written is timed apart from matching.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from numpy.typing import NDArray

import matching_world as world
import measure
from noisy_adverts import noisy_adverts
from sale_sofia.flats.matching.comparison import load_weights
from sale_sofia.flats.matching.files import match_file, read_adverts
from sale_sofia.flats.matching.fingerprint import Adverts, PropertyFingerprinter
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

SMALL, LARGE, NEW = 100_000, 1_000_000, 5_000
GOAL_SECONDS, GOAL_MB, GOAL_GROWTH, GOAL_NEW_SECONDS = 30, 2000, 15, 10
QUICK_SECONDS, QUICK_NEW_SECONDS = 18, 5
Result = dict[str, Any]
Groups = NDArray[np.int64]


def main() -> None:
    """Measure, print, and end with one JSON object."""
    options = measure.options(__doc__)
    sizes = (SMALL,) if options.quick else (SMALL, LARGE)
    with tempfile.TemporaryDirectory() as folder:
        found = {size: _measure_size(Path(folder), size) for size in sizes}
        splink = measure.apart(run_splink, Path(folder) / f"{SMALL}.parquet")
        show(f"splink, {SMALL}", splink)
        new = measure.apart(run_database, Path(folder), sizes[-1], NEW if not options.quick else NEW // 10)
        show(f"{new['new']} new into {sizes[-1]}", new)
    result = {"bench": "matching", "sizes": found, "splink": splink, "new": new}
    measure.finish(result, met=met(found, new, quick=options.quick), check=options.check)


def _measure_size(folder: Path, size: int) -> Result:
    path = folder / f"{size}.parquet"
    measure.apart(world.write_parquet, path, size)
    found: Result = measure.apart(run_ours, path)
    show(f"sale-sofia, {size}", found)
    return found


def met(found: Mapping[int, Result], new: Result, *, quick: bool) -> bool:
    """Whether the goal is reached; the quick one is a tenth of it, and more for what does not shrink."""
    if quick:
        return bool(found[SMALL]["matching_s"] <= QUICK_SECONDS and new["new_s"] <= QUICK_NEW_SECONDS)
    growth = found[LARGE]["matching_s"] / found[SMALL]["matching_s"]
    print(f"{LARGE} take {growth:.1f} times as long as {SMALL}")
    return bool(
        found[LARGE]["matching_s"] <= GOAL_SECONDS
        and found[LARGE]["peak_mb"] <= GOAL_MB
        and growth <= GOAL_GROWTH
        and new["new_s"] <= GOAL_NEW_SECONDS
    )


def run_ours(path: Path) -> Result:
    """`match --adverts --pairs`, as the command does it."""
    pairs = path.with_suffix(".csv")
    written = match_file(path, pairs, Settings())
    memory = _peak_mb()
    seconds = (written.input_seconds, written.matching_seconds, written.output_seconds)
    told = {
        name: round(value, 2)
        for name, value in zip(("input_s", "matching_s", "output_s"), seconds, strict=True)
    }
    return {**told, "peak_mb": memory, "pairs": written.pairs, **judge_pairs(path, pairs)}


def run_splink(path: Path) -> Result:
    """Splink on records made as ours are."""
    import matching_splink  # noqa: PLC0415 - only here

    started = time.perf_counter()
    adverts = Adverts.of(*_records(path))
    read = time.perf_counter() - started
    found = matching_splink.run(adverts, load_weights(), Settings().match_link_probability)
    groups = np.array([found["groups"][one] for one in adverts.ids.tolist()])
    _, numbers = np.unique(groups, return_inverse=True)
    seconds = found["score_seconds"] + found["cluster_seconds"]
    told = {"input_s": round(read, 2), "matching_s": round(seconds, 2), "peak_mb": _peak_mb()}
    return {**told, **judge(numbers, world.read_truth(path))}


def run_database(folder: Path, size: int, new: int) -> Result:
    """Everything once, then what is new, through the database."""
    rows = noisy_adverts(size + new, world.SEED).rows()
    database = Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=30, busy_retries=3)
    world.fill_database(database, rows[:size], 1)
    matching = PropertyMatching(Settings(data_dir=folder), database)
    full = matching.match_all()
    world.fill_database(database, rows[size:], size + 1)
    del rows
    added = matching.match_new()
    if added.adverts != new:
        raise SystemExit(f"{added.adverts} of {new} new adverts were matched")
    again = matching.match_all()
    return {
        "full_s": round(full.seconds, 2),
        "new": added.adverts,
        "new_s": round(added.seconds, 2),
        "looked_at": added.looked_at,
        "otherwise_in_full": again.moved,
        "peak_mb": _peak_mb(),
    }


def judge_pairs(path: Path, pairs: Path) -> Result:
    """The pairs of a file beside the truth."""
    truth = dict(
        zip(
            (f"{row['site']}|{row['external_id']}" for row in read_adverts(path)),
            world.read_truth(path),
            strict=True,
        )
    )
    lines = pairs.read_text("utf-8").splitlines()[1:]
    right = sum(truth[one] == truth[two] for one, two in (line.split(",") for line in lines))
    return _shares(right, len(lines), _pair_count(world.read_truth(path)))


def judge(groups: Groups, truth: Groups) -> Result:
    """Groups beside the truth."""
    both = np.unique(np.stack((groups, truth)), axis=1, return_inverse=True)[1].ravel()
    return _shares(_pair_count(both), _pair_count(groups), _pair_count(truth))


def _shares(right: int, found: int, true: int) -> Result:
    return {"precision": round(right / max(found, 1), 4), "recall": round(right / true, 4)}


def _pair_count(groups: Groups) -> int:
    sizes = np.unique(groups, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())


def _records(path: Path) -> tuple[range, Any]:
    records = PropertyFingerprinter(b"").fingerprints(read_adverts(path))
    return range(len(records)), records


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def show(name: str, found: Result) -> None:
    """One line."""
    print(f"{name}: {json.dumps(found)}", flush=True)


if __name__ == "__main__":
    main()
