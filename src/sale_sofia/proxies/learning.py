"""What a use teaches: about the proxy on that portal, about the proxy everywhere, and how long it rests."""

from dataclasses import dataclass

from sale_sofia.proxies.belief import Belief, cooldown
from sale_sofia.proxies.model import Use
from sale_sofia.proxies.rules import PoolRules


@dataclass(frozen=True, slots=True)
class Rest:
    """How long the proxy rests on the portal, and whether it has proven itself there (None: as before)."""

    seconds: float
    proven: bool | None = None


def learn(use: Use, here: Belief, everywhere: Belief, rules: PoolRules, chance: float) -> Rest:
    """Change both beliefs by the use; `chance` lengthens a rest.

    A block is the portal's word on this address and says nothing elsewhere; a transport error is the proxy's
    own; what the portal itself answers (404, 5xx, 429) costs the proxy nothing.
    """
    if use.kind != "neutral":
        here.uses += 1
        everywhere.uses += 1
    longer = 1 + rules.jitter * chance
    asked = min(use.retry_after_seconds, rules.retry_after_max_seconds)
    match use.kind:
        case "ok":
            here.succeeded(rules, use.seconds)
            everywhere.succeeded(rules, use.seconds)
            return Rest(rules.spacing_seconds, proven=True)
        case "blocked":
            here.failed(rules, use.why)
            rest = cooldown(here.failures, rules.block_seconds, rules.block_max_seconds)
            return Rest(max(asked, rest * longer), proven=False)
        case "transport":
            here.failed(rules, use.why)
            everywhere.failed(rules, use.why)
            rest = cooldown(everywhere.failures, rules.transport_seconds, rules.transport_max_seconds)
            return Rest(rest * longer, proven=False)
        case "rate_limited":
            return Rest(max(asked, rules.spacing_seconds))
        case _:
            return Rest(rules.spacing_seconds)
