"""What a run counts, per domain: pure counters, as small after a million pages as after ten."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from sale_sofia.monitoring.open_circuits import OpenCircuits, Stretch
from sale_sofia.monitoring.sketch import MICROSECONDS, TimeSketch, microseconds
from sale_sofia.monitoring.spans import TimeSpans
from sale_sofia.monitoring.verdicts import RequestVerdict

_COUNTERS: Final = (
    "bytes",
    "new",
    "changed",
    "unchanged",
    "failed",
    "retries",
    "waits",
    "waited_microseconds",
)


@dataclass(slots=True)
class DomainMetrics:
    """One domain's counters. Merging loses nothing, in whatever order it is done: all are whole numbers."""

    verdicts: dict[str, int] = field(default_factory=dict)
    """Requests by what came of each."""
    response: TimeSketch = field(default_factory=TimeSketch)
    circuit_open: TimeSpans = field(default_factory=TimeSpans)
    bytes: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    retries: int = 0
    waits: int = 0
    waited_microseconds: int = 0

    @property
    def requests(self) -> int:
        """All requests, answered or not."""
        return sum(self.verdicts.values())

    @property
    def waited_seconds(self) -> float:
        """Time spent waiting for the limiter, added up over all requests."""
        return self.waited_microseconds / MICROSECONDS

    def count(self, verdict: str, more: int = 1) -> None:
        """Count requests of one verdict."""
        self.verdicts[verdict] = self.verdicts.get(verdict, 0) + more

    def merge(self, other: Self) -> None:
        """Take in all that another one counted."""
        for verdict, count in other.verdicts.items():
            self.count(verdict, count)
        self.response.merge(other.response)
        self.circuit_open.merge(other.circuit_open)
        for name in _COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict[str, Any]:
        """The counters as JSON."""
        return {
            "verdicts": dict(sorted(self.verdicts.items())),
            "response": self.response.to_dict(),
            "circuit_open": self.circuit_open.to_list(),
            **{name: getattr(self, name) for name in _COUNTERS},
        }

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        return cls(
            verdicts=dict(known["verdicts"]),
            response=TimeSketch.from_dict(known["response"]),
            circuit_open=TimeSpans.from_list(known["circuit_open"]),
            **{name: known[name] for name in _COUNTERS},
        )


@dataclass(slots=True)
class MetricsCollector:
    """Counts for one run, per domain; a `Meter`. It belongs to one process, and is merged with others'."""

    run_id: str
    """The job: a crawl of several portals is several runs."""
    clock: Callable[[], float] = field(default=time.time, compare=False, repr=False)
    domains: dict[str, DomainMetrics] = field(default_factory=dict)
    _circuits: OpenCircuits = field(default_factory=OpenCircuits, compare=False, repr=False)

    def answered(self, domain: str, verdict: RequestVerdict, size: int, seconds: float) -> None:
        """A request got a whole answer, of `size` bytes after `seconds`."""
        counted = self._of(domain)
        counted.count(verdict)
        counted.bytes += size
        counted.response.add(seconds)

    def unanswered(self, domain: str, verdict: RequestVerdict = "no_answer") -> None:
        """A request got none: its time is that of our patience, and tells nothing of the portal."""
        self._of(domain).count(verdict)

    def stored(
        self, domain: str, *, new: int = 0, changed: int = 0, unchanged: int = 0, failed: int = 0
    ) -> None:
        """Adverts were committed, or given up."""
        counted = self._of(domain)
        counted.new += new
        counted.changed += changed
        counted.unchanged += unchanged
        counted.failed += failed

    def retried(self, domain: str) -> None:
        """A page was asked for again."""
        self._of(domain).retries += 1

    def waited(self, domain: str, seconds: float) -> None:
        """A request may go, after it waited for its turn; one that need not wait is no wait."""
        self._cover(self._circuits.let_through(domain, self.clock() - seconds))
        if seconds > 0:
            counted = self._of(domain)
            counted.waits += 1
            counted.waited_microseconds += microseconds(seconds)

    def circuit_open(self, domain: str, seconds: float) -> None:
        """The domain's circuit is open, and will be for `seconds`; whoever says so too adds nothing."""
        self._cover(self._circuits.refused(domain, self.clock(), seconds))

    def merge(self, other: Self) -> None:
        """Take in all that another one counted for the same run."""
        if other.run_id != self.run_id:
            raise ValueError(f"counters of run {other.run_id} are none of run {self.run_id}")
        for domain, counted in other.domains.items():
            self._of(domain).merge(counted)

    def take(self) -> dict[str, DomainMetrics]:
        """All that was counted since the last call; from now on it is the caller's."""
        self._cover(self._circuits.passed(self.clock()))
        taken, self.domains = self.domains, {}
        return taken

    def foretell(self) -> None:
        """Count what is foretold of open circuits too: nobody is left here to see it pass.

        A run's time ends now at the latest, so what has not passed yet is not heard of before it has.
        """
        self._cover(self._circuits.passed(math.inf))

    def to_dict(self) -> dict[str, Any]:
        """The counters as JSON."""
        domains = {domain: self.domains[domain].to_dict() for domain in sorted(self.domains)}
        return {"run_id": self.run_id, "domains": domains}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        domains = {domain: DomainMetrics.from_dict(one) for domain, one in known["domains"].items()}
        return cls(known["run_id"], domains=domains)

    def _cover(self, stretches: Iterable[Stretch]) -> None:
        for domain, since, seconds in stretches:
            self._of(domain).circuit_open.add(since, seconds)

    def _of(self, domain: str) -> DomainMetrics:
        if domain not in self.domains:
            self.domains[domain] = DomainMetrics()
        return self.domains[domain]
