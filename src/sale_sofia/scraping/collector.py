"""Python's garbage collector during a crawl: a page makes thousands of objects and no cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from sale_sofia.config.runtime import COLLECTOR_THRESHOLDS


@contextmanager
def calm_collector() -> Iterator[None]:
    """Inside, what start-up made is never looked through again, and the rest less often."""
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
