"""A child process never touches a connection of its parent."""

import os
from functools import cache
from weakref import WeakSet

from sqlalchemy import Engine, Pool

_engines: WeakSet[Engine] = WeakSet()
# Even closing an inherited SQLite connection is unsafe: the child keeps it, unused, until it ends.
_inherited: list[Pool] = []


def guard_forks(engine: Engine) -> None:
    """From now on every forked child starts with an empty pool of its own."""
    _watch()
    _engines.add(engine)


@cache
def _watch() -> None:
    os.register_at_fork(after_in_child=_start_empty)


def _start_empty() -> None:
    for engine in list(_engines):
        _inherited.append(engine.pool)
        engine.dispose(close=False)
