import gc

from sale_sofia.config.runtime import COLLECTOR_THRESHOLDS
from sale_sofia.scraping.collector import calm_collector


def test_the_collector_is_calm_inside_and_as_before_outside() -> None:
    usual = gc.get_threshold()
    with calm_collector():
        assert gc.get_threshold() == COLLECTOR_THRESHOLDS
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() == 0
