"""What a portal's crawl hears when no proxy helps."""

from sale_sofia.resilience.actions import Action
from sale_sofia.resilience.errors import ServiceProxy


class NoProxyReady(ServiceProxy):
    """None is ready now, and nothing went out; a few of these open the circuit, so that pages just wait."""

    counts_against_domain = True


class NoWayOut(ServiceProxy):
    """Every step of the ladder was taken: the domain's breaker hears of it, and opens."""

    action = Action.OPEN_CIRCUIT
    counts_against_domain = True
