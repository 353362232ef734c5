"""Counts that describe the pages of a run: small, and independent of who counts."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple, Self

from sale_sofia.telemetry.metrics import TimeSketch
from sale_sofia.telemetry.settings import DRIFT_CERTAINTY

# Shares counted on few pages, their confidence bounds, and their usual values.


class Share(NamedTuple):
    """A part of a whole, both counted."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share itself; 0 of nothing."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def most(self) -> float:
        """Its upper confidence bound (Wilson)."""
        return self._bound(1.0) if self.whole else 1.0

    @property
    def least(self) -> float:
        """Its lower confidence bound."""
        return self._bound(-1.0) if self.whole else 0.0

    def _bound(self, side: float) -> float:
        spread = DRIFT_CERTAINTY**2 / self.whole
        variance = self.value * (1 - self.value) / self.whole + spread / (4 * self.whole)
        return (self.value + spread / 2 + side * DRIFT_CERTAINTY * math.sqrt(variance)) / (1 + spread)


def usual_share(runs: Iterable[Share], *, least_pages: int, least_runs: int) -> float | None:
    """The median of the runs' shares; small runs are pooled. None where there are too few."""
    shares, part, whole = [], 0, 0
    for run in runs:
        part, whole = part + run.part, whole + run.whole
        if whole >= least_pages:
            shares.append(part / whole)
            part = whole = 0
    return median(shares) if len(shares) >= least_runs else None


LISTING = "listing"
"""The section of adverts' own pages; all others are layouts of results."""
EURO_SCALE = 1000
"""Prices are counted in thousands of euros, ratios unscaled: both are within the resolution of a sketch."""


@dataclass(frozen=True, slots=True)
class Example:
    """An example page: its address, and its digest in the archive if it is stored."""

    url: str
    digest: str | None = None


@dataclass(slots=True)
class FieldCounts:
    """One field of the adverts of a section."""

    read: int = 0
    """On how many of them a value was read."""
    links: dict[int, int] = field(default_factory=dict)
    """How often each selector of the chain found the text."""
    missing: Example | None = None
    """A page where no value was read."""
    other: Example | None = None
    """A page where another selector than the first found the text."""

    @property
    def first(self) -> int:
        """How often the first selector found the text."""
        return self.links.get(0, 0)

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        links = {str(link): self.links[link] for link in sorted(self.links)}
        examples = {"missing": example_pair(self.missing), "other": example_pair(self.other)}
        return {"read": self.read, "links": links, **examples}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        links = {int(link): count for link, count in stored["links"].items()}  # JSON keys are texts
        return cls(stored["read"], links, example_of(stored["missing"]), example_of(stored["other"]))


@dataclass(slots=True)
class FactCounts:
    """How many opened adverts have what every advert should have; the names are those of `at_least`."""

    adverts: int = 0
    price: int = 0
    on_request: int = 0
    """Adverts whose page says that the price is on request, which counts as read."""
    area: int = 0
    place: int = 0
    type: int = 0
    both: int = 0
    """Adverts with a price in money and an area."""
    missing: dict[str, Example] = field(default_factory=dict)
    """For each fact an advert that lacks it."""

    def share(self, name: str) -> Share:
        """The share of adverts of which this was read."""
        read = self.price + self.on_request if name == "price" else getattr(self, name)
        return Share(read, self.adverts)

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        missing = {name: example_pair(self.missing[name]) for name in sorted(self.missing)}
        return {**{name: getattr(self, name) for name in _FACT_NUMBERS}, "missing": missing}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """What `to_dict` gave; zeros for an old run that did not count this."""
        missing = {name: Example(*pair) for name, pair in stored.get("missing", {}).items()}
        return cls(**{name: stored.get(name, 0) for name in _FACT_NUMBERS}, missing=missing)


_FACT_NUMBERS = ("adverts", "price", "on_request", "area", "place", "type", "both")


@dataclass(slots=True)
class SectionCounts:
    """Counts of adverts' pages, or of the cards of one layout of results, and of every field on them."""

    pages: int = 0
    """How many pages were read."""
    seen: int = 0
    """How many adverts were read on them: a page of results has many."""
    unreadable: dict[str, int] = field(default_factory=dict)
    """How many pages could not be read, by reason."""
    puzzle: Example | None = None
    """A page that could not be read."""
    full_pages: int = 0
    """Pages of results with a next page, which are therefore full."""
    full_cards: int = 0
    """The cards on them."""
    told: int = 0
    """The announced totals of the searches that were read to their end."""
    few: Example | None = None
    """The page of results with the fewest cards."""
    few_cards: int = 0
    prices: TimeSketch = field(default_factory=TimeSketch)
    """Prices without rents, in thousands of euros."""
    ratios: TimeSketch = field(default_factory=TimeSketch)
    """For adverts known before: the price now as a multiple of the stored one."""
    priced: int = 0
    per_sqm: int = 0
    """Those of `priced` whose price is, or can only be, that of a square metre."""
    odd: Example | None = None
    """An advert whose price changed in meaning."""
    facts: FactCounts = field(default_factory=FactCounts)
    """Facts of opened adverts."""
    fields: dict[str, FieldCounts] = field(default_factory=dict)

    def field(self, name: str) -> FieldCounts:
        """The counts of a field; empty ones if it was never found."""
        if name not in self.fields:
            self.fields[name] = FieldCounts()
        return self.fields[name]

    def note_few(self, cards: int, page: Example) -> None:
        """Keep the page as an example if none has had fewer cards."""
        if self.few is None or cards < self.few_cards:
            self.few, self.few_cards = page, cards

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        return {
            **{name: getattr(self, name) for name in (*_NUMBERS, "few_cards")},
            **{name: example_pair(getattr(self, name)) for name in _EXAMPLES},
            "unreadable": dict(sorted(self.unreadable.items())),
            "prices": self.prices.to_dict(),
            "ratios": self.ratios.to_dict(),
            "facts": self.facts.to_dict(),
            "fields": {name: self.fields[name].to_dict() for name in sorted(self.fields)},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        return cls(
            **{name: stored[name] for name in (*_NUMBERS, "few_cards")},
            puzzle=example_of(stored["puzzle"]),
            few=example_of(stored["few"]),
            odd=example_of(stored["odd"]),
            unreadable=dict(stored["unreadable"]),
            prices=TimeSketch.from_dict(stored["prices"]),
            ratios=TimeSketch.from_dict(stored["ratios"]),
            facts=FactCounts.from_dict(stored.get("facts", {})),
            fields={name: FieldCounts.from_dict(counts) for name, counts in stored["fields"].items()},
        )


_NUMBERS = ("pages", "seen", "full_pages", "full_cards", "told", "priced", "per_sqm")
_EXAMPLES = ("puzzle", "few", "odd")
Sections = dict[str, SectionCounts]


def sections_of(counters: Mapping[str, Any]) -> Sections:
    """The sections a run has stored."""
    return {name: SectionCounts.from_dict(counts) for name, counts in counters.items()}


def counters_of(sections: Mapping[str, SectionCounts]) -> dict[str, Any]:
    """The sections as a run stores them."""
    return {name: sections[name].to_dict() for name in sorted(sections)}


def example_pair(example: Example | None) -> list[str | None] | None:
    """An example as JSON."""
    return None if example is None else [example.url, example.digest]


def example_of(pair: list[str | None] | None) -> Example | None:
    """What `example_pair` gave."""
    return None if pair is None else Example(pair[0] or "", pair[1])
