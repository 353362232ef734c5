"""How long circuits were seen open: foretold time counts when it has passed and nobody got through."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Stretch = tuple[str, float, float]
"""A domain, the moment its circuit was open from, and for how many seconds."""


@dataclass(slots=True)
class OpenCircuits:
    """The circuits that one process believes to be open, and since when nobody counted that."""

    _open: dict[str, tuple[float, float]] = field(default_factory=dict)
    """From when, and until when it was said to last."""

    def refused(self, domain: str, now: float, seconds: float) -> list[Stretch]:
        """The circuit is open, and will be for `seconds`; gives what has passed of an earlier word on it."""
        _, until = self._open.get(domain, (now, now))
        passed = self._take(domain, now)
        self._open[domain] = (now, max(until, now + seconds))
        return passed

    def let_through(self, domain: str, when: float) -> list[Stretch]:
        """A request could go: the circuit was open until then, at most; whatever was foretold is void."""
        passed = self._take(domain, when)
        self._open.pop(domain, None)
        return passed

    def passed(self, now: float) -> Iterable[Stretch]:
        """What has passed until now; the rest is counted later."""
        return [stretch for domain in list(self._open) for stretch in self._take(domain, now)]

    def _take(self, domain: str, now: float) -> list[Stretch]:
        if domain not in self._open:
            return []
        since, until = self._open.pop(domain)
        if until > now:
            self._open[domain] = (max(since, now), until)
        end = min(now, until)
        return [(domain, since, end - since)] if end > since else []
