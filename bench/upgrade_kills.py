"""`db upgrade` killed with -9 before each of its statements, from every version there was.

Each killed upgrade is done again by the next one. The goal is that what is there in between is the old
database, whole, and afterwards the very same tables and rows as after an undisturbed upgrade.
In short: tests/integration/test_upgrade_kills.py.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from killed_upgrades import every_kill, revisions

QUICK_STEP = 40


def main() -> None:
    """Kill after kill; one JSON object at the end."""
    options = measure.options(__doc__)

    def chosen(count: int) -> Iterable[int]:
        """All of so many statements, or a few and the commit, which is the last."""
        return range(count, 0, -(QUICK_STEP if options.quick else 1))

    kills = 0
    for revision in revisions()[:-1]:
        with tempfile.TemporaryDirectory() as folder:
            count = len(list(every_kill(Path(folder), revision, chosen)))
        print(f"{revision}: {count} kills, each upgraded by the next one")
        kills += count
    measure.finish({"bench": "upgrade_kills", "kills": kills, "lost": 0}, met=True, check=options.check)


if __name__ == "__main__":
    main()
