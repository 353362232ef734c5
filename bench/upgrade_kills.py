"""`db upgrade` killed with -9, from every version there was.

From release 1.0.0 before each statement; from the versions since, whose upgrades are the rest of that one,
before the first few and before the commit. Each killed upgrade is done again by the next one. The goal is
that what is there in between is the old database, whole, and afterwards the same tables and rows as after an
undisturbed upgrade. In short: tests/integration/test_upgrade_kills.py.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from killed_upgrades import every_kill, revisions

QUICK_STEP = 40
FIRST_FEW = 8


def main() -> None:
    """Kill after kill; one JSON object at the end."""
    options = measure.options(__doc__)

    def chosen(count: int) -> Iterable[int]:
        """Of so many statements, of which the commit is the last."""
        if options.quick:
            return range(count, 0, -QUICK_STEP)
        return range(1, count + 1) if revision == first else {*range(1, min(FIRST_FEW, count) + 1), count}

    kills, first = 0, revisions()[0]
    for revision in revisions()[:-1]:
        with tempfile.TemporaryDirectory() as folder:
            count = len(list(every_kill(Path(folder), revision, chosen)))
        print(f"{revision}: {count} kills, each upgraded by the next one")
        kills += count
    measure.finish({"bench": "upgrade_kills", "kills": kills, "lost": 0}, met=True, check=options.check)


if __name__ == "__main__":
    main()
