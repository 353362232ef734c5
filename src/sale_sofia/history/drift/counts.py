"""What the pages of a run are like, counted: small, and the same whoever counts."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple, Self

from sale_sofia.telemetry.metrics import TimeSketch
from sale_sofia.telemetry.settings import DRIFT_CERTAINTY

# Shares counted on few pages: what they may truly be, and what is usual of them.


class Share(NamedTuple):
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        """The share itself; none of nothing."""
        return self.part / self.whole if self.whole else 0.0

    @property
    def most(self) -> float:
        """What it may be at most, given on how few it was counted (Wilson's bound)."""
        return self._bound(1.0) if self.whole else 1.0

    @property
    def least(self) -> float:
        """What it is at least."""
        return self._bound(-1.0) if self.whole else 0.0

    def _bound(self, side: float) -> float:
        spread = DRIFT_CERTAINTY**2 / self.whole
        variance = self.value * (1 - self.value) / self.whole + spread / (4 * self.whole)
        return (self.value + spread / 2 + side * DRIFT_CERTAINTY * math.sqrt(variance)) / (1 + spread)


def usual_share(runs: Iterable[Share], *, least_pages: int, least_runs: int) -> float | None:
    """The median of the runs' shares; small runs count together. None where there are too few to say."""
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
"""Prices are counted in thousands of euros, ratios as they are: both lie within what a sketch tells apart."""


@dataclass(frozen=True, slots=True)
class Example:
    """A page to look at: its address, and its bytes in the archive where they are kept."""

    url: str
    digest: str | None = None


@dataclass(slots=True)
class FieldCounts:
    """One field of the adverts of a section."""

    read: int = 0
    """On how many a value was read."""
    links: dict[int, int] = field(default_factory=dict)
    """How often each link of the chain was the one that found a text."""
    missing: Example | None = None
    """One where no value was read."""
    other: Example | None = None
    """One where another link than the first found the text."""

    @property
    def first(self) -> int:
        """How often the first link found the text."""
        return self.links.get(0, 0)

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        links = {str(link): self.links[link] for link in sorted(self.links)}
        examples = {"missing": example_pair(self.missing), "other": example_pair(self.other)}
        return {"read": self.read, "links": links, **examples}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        links = {int(link): count for link, count in known["links"].items()}
        return cls(known["read"], links, example_of(known["missing"]), example_of(known["other"]))


@dataclass(slots=True)
class FactCounts:
    """How many opened adverts have what every advert should have; the names are those of `at_least`."""

    adverts: int = 0
    price: int = 0
    on_request: int = 0
    """Adverts whose page says that there is no price to be told: that was read too."""
    area: int = 0
    place: int = 0
    type: int = 0
    both: int = 0
    """A price, a sum of money, and an area."""
    missing: dict[str, Example] = field(default_factory=dict)
    """For each of them an advert that lacks it."""

    def share(self, name: str) -> Share:
        """The share of adverts of which this was read."""
        read = self.price + self.on_request if name == "price" else getattr(self, name)
        return Share(read, self.adverts)

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON."""
        missing = {name: example_pair(self.missing[name]) for name in sorted(self.missing)}
        return {**{name: getattr(self, name) for name in _FACT_NUMBERS}, "missing": missing}

    @classmethod
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """What `to_dict` gave; nothing for a run of a time when this was not counted."""
        missing = {name: Example(*pair) for name, pair in known.get("missing", {}).items()}
        return cls(**{name: known.get(name, 0) for name in _FACT_NUMBERS}, missing=missing)


_FACT_NUMBERS = ("adverts", "price", "on_request", "area", "place", "type", "both")


@dataclass(slots=True)
class SectionCounts:
    """The pages of adverts, or the cards of one layout of results, and every field on them."""

    pages: int = 0
    """How many pages were read."""
    seen: int = 0
    """How many adverts were read on them: a page of results has many."""
    unreadable: dict[str, int] = field(default_factory=dict)
    """How many pages could not be read, by the reason."""
    puzzle: Example | None = None
    """One that could not be read."""
    full_pages: int = 0
    """Pages of results that are followed by another, and so are full."""
    full_cards: int = 0
    """The cards on them."""
    told: int = 0
    """How many adverts the portal says the searches have that were read to their end."""
    few: Example | None = None
    """The page of results with the fewest cards."""
    few_cards: int = 0
    prices: TimeSketch = field(default_factory=TimeSketch)
    """Prices, but rents, in thousands of euros."""
    ratios: TimeSketch = field(default_factory=TimeSketch)
    """Of adverts known before: the price now as a multiple of the known one."""
    priced: int = 0
    per_sqm: int = 0
    """Of `priced`, those whose price is, or can only be, that of a square metre."""
    odd: Example | None = None
    """One whose price is not what it was."""
    facts: FactCounts = field(default_factory=FactCounts)
    """Of adverts that were opened."""
    fields: dict[str, FieldCounts] = field(default_factory=dict)

    def field(self, name: str) -> FieldCounts:
        """The counts of a field; one that was never found has none."""
        if name not in self.fields:
            self.fields[name] = FieldCounts()
        return self.fields[name]

    def note_few(self, cards: int, page: Example) -> None:
        """Remember the page if none has had fewer cards."""
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
    def from_dict(cls, known: Mapping[str, Any]) -> Self:
        """What `to_dict` gave."""
        return cls(
            **{name: known[name] for name in (*_NUMBERS, "few_cards")},
            puzzle=example_of(known["puzzle"]),
            few=example_of(known["few"]),
            odd=example_of(known["odd"]),
            unreadable=dict(known["unreadable"]),
            prices=TimeSketch.from_dict(known["prices"]),
            ratios=TimeSketch.from_dict(known["ratios"]),
            facts=FactCounts.from_dict(known.get("facts", {})),
            fields={name: FieldCounts.from_dict(one) for name, one in known["fields"].items()},
        )


_NUMBERS = ("pages", "seen", "full_pages", "full_cards", "told", "priced", "per_sqm")
_EXAMPLES = ("puzzle", "few", "odd")
Sections = dict[str, SectionCounts]


def sections_of(counters: Mapping[str, Any]) -> Sections:
    """The sections a run has stored."""
    return {name: SectionCounts.from_dict(one) for name, one in counters.items()}


def counters_of(sections: Mapping[str, SectionCounts]) -> dict[str, Any]:
    """The sections as a run stores them."""
    return {name: sections[name].to_dict() for name in sorted(sections)}


def example_pair(example: Example | None) -> list[str | None] | None:
    """An example as JSON."""
    return None if example is None else [example.url, example.digest]


def example_of(pair: list[str | None] | None) -> Example | None:
    """What `example_pair` gave."""
    return None if pair is None else Example(pair[0] or "", pair[1])
