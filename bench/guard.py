"""Before a release: have the short runs of what matters most become worse than the kept ones?

Runs parse, engine, limiter and kill9 with `--quick` (under three minutes) and compares each ratio to a peer
of the same run with that of the short run kept in `bench/results/`. Ratios hold on a busy machine as well,
but not to a few per cent: what is worse by more than a sixth is told, and the exit code is 1. Nothing is
written.
"""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from collecting import Bench, Record, load_all, run
from ratios import Compared, compared

HERE = Path(__file__).parent
GUARDED = ("parse", "engine", "limiter", "kill9")
TOLERANCE = 1 / 6
BY_CHANCE = {"pages fetched again"}
"""Where the kill struck decides it; that nothing is lost is the benchmark's own goal."""


def main() -> None:
    """Run, compare, and end with 1 where something is worse."""
    runs = (run(Bench(HERE / f"{name}.py"), quick=True) for name in GUARDED)
    found = list(found_worse(load_all(HERE / "results"), runs))
    print("\n".join(found) or f"{', '.join(GUARDED)}: no worse than kept")
    sys.exit(1 if found else 0)


def found_worse(kept: Iterable[Record], runs: Iterable[Record]) -> Iterator[str]:
    """A sentence for each figure that is worse than in the kept run of the same form, or if there is none."""
    before = {(record.bench, record.quick): record for record in kept}
    for now in runs:
        if old := before.get((now.bench, now.quick)):
            yield from worse(old, now)
        else:
            yield f"{now.bench}: no run of this form is kept; `make bench ONLY={now.bench}` keeps one"


def worse(kept: Record, now: Record) -> Iterator[str]:
    """A sentence for each figure of a run that is worse than the kept one; if it failed, that alone."""
    if now.failed:
        yield f"{now.bench}: {now.failed}"
        return
    if kept.verdict == "met" != now.verdict:
        yield f"{now.bench}: the goal was met on {kept.date}, and is missed"
    before = {(one.what, one.peer): one for one in compared(kept.bench, kept.result)}
    for one in compared(now.bench, now.result):
        old = before.get((one.what, one.peer))
        if old and one.what not in BY_CHANCE and _is_worse(old, one):
            told = f"{_share(one):.2f} of {one.peer}, {_share(old):.2f} on {kept.date}"
            yield f"{now.bench}: {one.what} {told}; {one.better} is better"


def _is_worse(old: Compared, new: Compared) -> bool:
    if new.better == "less":
        return _share(new) > _share(old) * (1 + TOLERANCE)
    return _share(new) < _share(old) / (1 + TOLERANCE)


def _share(one: Compared) -> float:
    """Ours as a part of the peer's; where the peer's is nought, ours itself."""
    return one.ours if one.ratio is None else one.ratio


if __name__ == "__main__":
    main()
