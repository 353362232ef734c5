"""All benchmarks, one after the other; what they say becomes the tables of docs/benchmarks.md.

    bench/all.py                    every benchmark's short run
    bench/all.py --full             the whole ones; a good two hours, on a machine that does nothing else
    bench/all.py --full --go-on     those of them that were not yet run with the code as it is
    bench/all.py --only parse       one, the tables of the others stay as they are
    bench/all.py --page-only        nothing is run, the page is written again

A benchmark that fails is named, and the others are run. The last short and the last whole run of each are
kept in `bench/results/`, but none that began at a load over 1.0 although the machine was given time to come
to rest. The page shows the whole one, where there is one.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from collecting import (
    Bench,
    Record,
    find_benches,
    is_of_this_code,
    load_all,
    load_shown,
    run,
    save,
    settle,
)
from results_page import renewed

HERE = Path(__file__).parent
MOST_LOAD = 1.0
"""A figure taken while others work says more about them."""
SETTLE_SECONDS = 300.0
"""How long a benchmark waits for the load of the one before it to fade."""


def main() -> None:
    """Run, keep, write the page, and say how it went."""
    options = _options()
    benches = _chosen(find_benches(options.folder), options.only)
    if options.go_on:
        done = {one.bench for one in load_all(options.results) if _is_done(one, quick=not options.full)}
        benches = [bench for bench in benches if bench.name not in done]
    if options.list:
        print("\n".join(bench.name for bench in benches))
        return
    records = [] if options.page_only else [_run(bench, options) for bench in benches]
    page = renewed(options.page.read_text("utf-8"), load_shown(options.results), options.folder)
    options.page.write_text(page, "utf-8")
    for record in records:
        print(f"{record.bench:20}{record.verdict:8}{record.seconds:9.1f} s  {record.failed or ''}")
    sys.exit(_exit_code(records, check=options.check))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="this one; may be repeated"
    )
    parser.add_argument("--full", action="store_true", help="whole runs instead of short ones")
    parser.add_argument(
        "--go-on", action="store_true", help="leave out those whose kept run is of the code as it is"
    )
    parser.add_argument("--most-load", type=float, default=MOST_LOAD, help="a run begun above it is not kept")
    parser.add_argument(
        "--settle", type=float, default=SETTLE_SECONDS, help="seconds to wait for the load to fall below it"
    )
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    parser.add_argument("--list", action="store_true", help="only name them")
    parser.add_argument("--page-only", action="store_true", help="only write the page again")
    parser.add_argument("--folder", type=Path, default=HERE, help="where the benchmarks are")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where runs are kept")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "benchmarks.md")
    return parser.parse_args()


def _chosen(benches: Sequence[Bench], names: Sequence[str]) -> list[Bench]:
    """Those named, all ways of a file by its name alone; all when none is named."""
    known = {bench.name for bench in benches} | {bench.path.stem for bench in benches}
    if unknown := set(names) - known:
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    return [bench for bench in benches if not names or {bench.name, bench.path.stem} & set(names)]


def _is_done(record: Record, *, quick: bool) -> bool:
    return record.quick is quick and not record.failed and is_of_this_code(record)


def _run(bench: Bench, options: argparse.Namespace) -> Record:
    """Run it when the machine is quiet; a run that began on a busy one is told, and not kept."""
    print(f"== {bench.name}", flush=True)
    settle(options.most_load, options.settle)
    record = run(bench, quick=not options.full)
    if record.load > options.most_load:
        print(f"begun at load {record.load}: not kept, the last record stays")
    else:
        save(record, options.results)
    return record


def _exit_code(records: Sequence[Record], *, check: bool) -> int:
    """A failed benchmark is a failure always, a missed goal only where it is asked for."""
    bad = {"failed", "missed"} if check else {"failed"}
    return int(any(record.verdict in bad for record in records))


if __name__ == "__main__":
    main()
