"""What `scale.py` must show, each goal a sentence."""

from collections.abc import Mapping
from typing import Any

from sale_sofia.crawl.settings import LANE_SECONDS

OF_BOUND, OF_POLITE_BOUND, MOST_WASTED = 1.35, 1.02, 1 / 3
GATE = "gate: admit, still, report"


def missed(found: Mapping[str, Any]) -> list[str]:
    """Every goal that was missed, in a sentence."""
    many, own, down = found["many"], found["own_worker"], found["outage"]
    goals = {
        "a portal was asked above its rate": not (
            many["over_the_rate"] or own["over_the_rate"] or down["with"]["over_the_rate"]
        ),
        "a page was not fetched exactly once": many["fetched_once"] and own["fetched_once"],
        "a portal waited longer than its queue and a lane": many["longest_wait"]
        <= many["slots_bound"] + LANE_SECONDS,
        f"makespan above {OF_BOUND} of its bound": many["of_bound"] <= OF_BOUND,
        f"makespan above {OF_POLITE_BOUND} of the politeness bound": own["of_bound"] <= OF_POLITE_BOUND,
        "too many requests into an outage": down["wasted_of_without"] <= MOST_WASTED,
        "a page was lost in an outage": not down["with"]["lost_pages"],
        "a portal's keys are torn apart, or the gate does not run on a cluster": not (
            found["cluster"]["torn"] or found["cluster"]["refused"][GATE]
        ),
    }
    return [sentence for sentence, met in goals.items() if not met]
