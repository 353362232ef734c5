"""What is believed of one proxy on one portal, or everywhere. Pure: no clock, no storage."""

from dataclasses import dataclass

from sale_sofia.proxies.rules import PoolRules

NO_LATENCY = -1.0


@dataclass(slots=True)
class Belief:
    """Decayed counts of successes and failures, beside what people want to see."""

    good: float = 0.0
    bad: float = 0.0
    failures: int = 0
    """In a row."""
    score: float = 1.0
    latency: float = NO_LATENCY
    uses: int = 0
    successes: int = 0
    why: str = ""
    """Of its last failure."""
    token: str = ""
    """Of the lease, on a portal."""
    rests_until: float = 0.0
    """Everywhere; on a portal the pool's own order says it."""
    missed: int = 0
    """Checks in a row in which it was dead."""

    def succeeded(self, rules: PoolRules, seconds: float | None) -> None:
        """A page came."""
        self._decay(rules)
        self.good += 1
        self.failures = 0
        self.successes += 1
        self.score = min(rules.score_most, self.score * rules.score_up)
        self.rests_until = 0.0
        if seconds is not None:
            weight = 1.0 if self.latency == NO_LATENCY else rules.latency_weight
            self.latency += weight * (seconds - self.latency)

    def failed(self, rules: PoolRules, why: str) -> None:
        """None came, by the proxy's fault or because the portal keeps it out."""
        self._decay(rules)
        self.good *= rules.failure_decay
        self.bad += 1
        self.failures += 1
        self.score = max(rules.score_least, self.score * rules.score_down)
        self.why = why

    def alive(self, rules: PoolRules) -> None:
        """A check found it alive: it may work again, whatever it did before."""
        self._decay(rules)
        self.good += 1
        self.failures = self.missed = 0
        self.rests_until = 0.0
        self.why = ""

    def _decay(self, rules: PoolRules) -> None:
        self.good *= rules.decay
        self.bad *= rules.decay


def weights(here: Belief, everywhere: Belief, rules: PoolRules) -> tuple[float, float]:
    """The two numbers of the Beta distribution that a portal's belief stands for."""
    return (
        1 + here.good + rules.elsewhere * everywhere.good,
        1 + here.bad + rules.elsewhere * everywhere.bad,
    )


def expected(here: Belief, everywhere: Belief, rules: PoolRules) -> float:
    """The chance of success that is believed in."""
    good, bad = weights(here, everywhere, rules)
    return good / (good + bad)


def cooldown(failures: int, first: float, most: float) -> float:
    """How long to rest after so many failures in a row."""
    return min(most, first * 2.0 ** min(failures - 1, 60))
