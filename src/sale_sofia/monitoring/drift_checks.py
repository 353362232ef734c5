"""What is looked at to see whether a portal's pages changed: each check is drifted, as usual, or not sure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from sale_sofia.config.settings import Settings
from sale_sofia.data.incidents import IncidentKind
from sale_sofia.monitoring.drift_counts import Example, Sections
from sale_sofia.monitoring.shares import Share, usual_share


@dataclass(frozen=True, slots=True)
class PastRun:
    """A sound run, and the first selectors of its time."""

    sections: Sections
    firsts: Mapping[str, str]


class Floor(NamedTuple):
    """What a site file asks of its portal's adverts."""

    at_least: float
    """So great a share of them has it."""
    fields: tuple[str, ...]
    """The fields of an advert's page that tell it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a run is judged by."""

    now: Sections
    past: Sequence[PastRun]
    """The sound runs before it, the newest first."""
    firsts: Mapping[str, str]
    """The first selector of each field, and of cards and ids, by section and name."""
    settings: Settings
    floors: Mapping[str, Floor] = field(default_factory=dict)
    """By what they are about, as `at_least` names it."""

    def usual(self, part: Callable[[PastRun], Share]) -> float | None:
        """The median of a share over the runs before; None where there are too few."""
        settings = self.settings
        return usual_share(
            [part(run) for run in self.past],
            least_pages=settings.drift_least_pages,
            least_runs=settings.drift_least_runs,
        )


class Verdict(StrEnum):
    """What a check says."""

    DRIFTED = "drifted"
    USUAL = "usual"
    UNSURE = "unsure"
    """Too few pages, or runs before, to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    kind: IncidentKind
    section: str
    field: str
    selector: str | None
    usual: float | None
    now: float | None
    pages: int
    """On how many pages, cards or prices it was counted."""
    verdict: Verdict
    sentence: str
    """What was found, for people."""
    example: Example | None = None

    @property
    def name(self) -> str:
        """The field as the site file has it."""
        return f"{self.section}.{self.field}"

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same check in another run."""
        return self.kind.value, self.name

    def details(self) -> dict[str, Any]:
        """The check as JSON."""
        return {
            "kind": self.kind.value,
            "field": self.name,
            "selector": self.selector,
            "usual": self.usual,
            "now": self.now,
            "pages": self.pages,
            "found": self.sentence,
            "url": self.example.url if self.example else None,
            "page_digest": self.example.digest if self.example else None,
        }
