"""Every adapter and every parser under texts, JSON and pages made to break them, for as long as asked.

    bench/fuzz.py --minutes 10
    bench/fuzz.py --shapes          # every reader, pattern and loader on inputs that double up to 2 MB

Whatever comes must be data, nothing, or an error with a name; an exception, and a page that takes longer than
`SLOW_SECONDS` of CPU, ends the run with what caused it. In short: tests/unit/websites/test_fuzzing.py.

With --shapes: twice as much of any known bad shape may take at most 2.5 times as long, and a megabyte two
seconds of CPU, for every shipped site file, parser, rule, loader and pattern. In short:
tests/unit/operations/test_growth.py.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from fuzzing import PIECES, parse_any, read_any, seeds, spoiled
from hostile_readers import all_site_trials, own_pattern_trials, reader_trials
from sale_sofia.listings.page import Page
from sale_sofia.listings.parsers import PARSERS
from sale_sofia.operations.hostile import measure_trials
from sale_sofia.telemetry.settings import GROWTH_SIZES
from sale_sofia.websites.registry import AVAILABLE_SITES

SLOW_SECONDS = 2.0
STATES = ("window.__PRELOADED_STATE__ = {}", "window.__PRERENDERED_STATE__= {}", '<a id="ng-state">{}')
KEYS = (
    "id",
    "url",
    "type",
    "price",
    "value",
    "ad",
    "data",
    "offer",
    "body",
    "adverts",
    "result",
    "title",
    "0",
)


def main() -> None:
    """Rounds until the time is up; one JSON object at the end."""
    numbers = {"minutes": "how long, 1 unless told", "seed": "of an earlier run"}
    options = measure.options(__doc__, numbers, shapes="inputs that double in size instead of random ones")
    if options.shapes:
        try_shapes(GROWTH_SIZES[:3] if options.quick else GROWTH_SIZES, check=options.check)
    seed = int(options.seed or random.SystemRandom().randrange(10**9))
    rng, end = random.Random(seed), time.monotonic() + 60 * (options.minutes or 1.0)
    counts: Counter[str] = Counter()
    slowest = 0.0
    print(f"seed {seed}")
    while time.monotonic() < end:
        for what, seconds in one_round(rng):
            counts[what] += 1
            slowest = max(slowest, seconds)
            if seconds > SLOW_SECONDS:
                raise SystemExit(f"{what} took {seconds:.1f} s; seed {seed}")
    result = {"bench": "fuzz", "seed": seed, "slowest_seconds": round(slowest, 3), **counts}
    measure.finish(result, met=True, check=options.check)


def try_shapes(sizes: Sequence[int], *, check: bool) -> NoReturn:
    """Every reader on every shape; those that grow too fast are named."""
    found = list(measure_trials([*reader_trials(), *own_pattern_trials(), *all_site_trials()], sizes))
    slow = {growth.name: growth.fault for growth in found if growth.fault}
    for name, fault in slow.items():
        print(f"{name}: {fault}")
    slowest = max(second for growth in found for second in growth.seconds.values())
    result = {"bench": "fuzz", "shapes": len(found), "slow": len(slow), "slowest_seconds": round(slowest, 3)}
    measure.finish(result, met=not slow, check=check)


def one_round(rng: random.Random) -> Iterator[tuple[str, float]]:
    """Each parser on a text, each adapter on pages, JSON and noise; what it was, and its CPU time."""
    for name in PARSERS:
        texts = tuple(text(rng) for _ in range(rng.randint(1, 3)))
        yield "texts", timed(parse_any, name, texts)
    for site in AVAILABLE_SITES:
        page = rng.choice(seeds(site))
        for what, body in bodies(page.body, rng):
            yield what, timed(read_any, site, Page(page.url, body))


def bodies(sound: bytes, rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """What a portal might send on its worst day."""
    yield "spoiled pages", spoiled(sound, rng, rng.randint(1, 6))
    data = json.dumps(value(rng, 5))
    state = rng.choice(STATES).replace("{}", data if rng.random() < 0.5 else json.dumps(data))
    yield "states", f"<html>имот <script>{state}</script></html>".encode("utf-8", "replace")
    yield "answers", data.encode("utf-8", "replace")
    yield "noise", rng.randbytes(rng.randint(0, 300)) + rng.choice((b"", "я</html>".encode()))
    start = rng.randrange(len(sound))
    yield "cuts", sound[:start] + sound[start + rng.randint(1, 4000) :]


def text(rng: random.Random) -> str:
    """Pieces of adverts and any letters, sometimes very many."""
    pieces = [
        rng.choice(PIECES) if rng.random() < 0.8 else chr(rng.randrange(1, 0xD7FF))
        for _ in range(rng.randint(1, 9))
    ]
    return "".join(pieces) * (rng.randint(100, 3000) if rng.random() < 0.05 else 1)


def value(rng: random.Random, depth: int) -> Any:  # noqa: ANN401 - any JSON
    """Any JSON, of keys that portals use."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice((None, True, 0, -1, 10**20, 1.5, text(rng)))
    if rng.random() < 0.4:
        return [value(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    return {rng.choice(KEYS): value(rng, depth - 1) for _ in range(rng.randint(0, 5))}


def timed(work: Any, *arguments: Any) -> float:  # noqa: ANN401 - one of the readers
    """CPU seconds."""
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


if __name__ == "__main__":
    main()
