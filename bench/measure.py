"""What every benchmark here shares: its options, its interleaved rounds, and its last line."""

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

Work = Callable[[], object]


def options(
    description: str | None, numbers: Mapping[str, str] | None = None, **switches: str
) -> argparse.Namespace:
    """`--quick` for a short run with a goal of its own, `--check` to fail when the goal is missed.

    A benchmark's own switches come as name=help, and options that take a number in `numbers`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="under a minute, with a wider goal")
    parser.add_argument("--check", action="store_true", help="exit 1 when the goal is missed")
    for name, sentence in switches.items():
        parser.add_argument(f"--{name}", action="store_true", help=sentence)
    for name, sentence in (numbers or {}).items():
        parser.add_argument(f"--{name}", type=float, help=sentence)
    return parser.parse_args()


def best_cpu_seconds(works: Mapping[str, Work], rounds: Mapping[str, int]) -> dict[str, float]:
    """The least CPU time of each work. Rounds are interleaved, so that a busy machine is busy for all."""
    best = {name: float("inf") for name in works}
    for turn in range(max(rounds.values())):
        for name, work in works.items():
            if turn < rounds[name]:
                best[name] = min(best[name], _cpu_seconds(work))
    return best


def _cpu_seconds(work: Work) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def apart(work: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - whatever the work gives
    """The work in a new process, so that its peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def finish(result: Mapping[str, Any], *, met: bool, check: bool) -> NoReturn:
    """Print the last line, one JSON object; with `check` a missed goal is a failure."""
    print(json.dumps({**result, "met": met}))
    sys.exit(1 if check and not met else 0)
