"""New processes for tests, each forked from one that has only imported what they need: they start at once.

Nothing of the test process is in them: no thread, no open file, no lock, and none of its later environment.
"""

import multiprocessing as mp
from multiprocessing.context import ForkServerContext

_PRELOADED = [
    "sale_sofia.history.listings",
    "sale_sofia.storage.migrate",
    "sale_sofia.operations.services.redis",
]


def _context() -> ForkServerContext:
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


FORKED = _context()
