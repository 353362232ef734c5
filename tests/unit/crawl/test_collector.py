import gc

import pytest

from sale_sofia.crawl.runners.local import calm_collector
from sale_sofia.crawl.settings import COLLECTOR_THRESHOLDS


@pytest.mark.slow
def test_the_collector_is_calm_inside_and_as_before_outside() -> None:
    usual = gc.get_threshold()
    with calm_collector():
        assert gc.get_threshold() == COLLECTOR_THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() == 0
