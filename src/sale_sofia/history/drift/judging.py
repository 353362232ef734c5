"""Whether the pages of a run are as usual: pure rules over what it and the sound runs before it counted."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import Any, Final, NamedTuple

from sale_sofia.history.drift.counts import (
    EURO_SCALE,
    LISTING,
    Example,
    FactCounts,
    FieldCounts,
    SectionCounts,
    Sections,
    Share,
    usual_share,
)
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.telemetry.metrics import TimeSketch
from sale_sofia.telemetry.settings import DRIFT_CERTAINTY, DRIFT_FEWEST_PAGES
from sale_sofia.websites.site_file import FieldTable, SiteConfig

# What is looked at to see whether a portal's pages changed: each check is drifted, as usual, or not sure.


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
    floors: Mapping[str, Floor] = dataclasses.field(default_factory=dict)
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


# Whether the prices of a run are prices: beside those known of the same adverts, and the usual median.

_FIELD = "price"
_MIDDLE = 0.5


def prices_are_doubtful(sections: Sections, settings: Settings) -> bool:
    """Whether what a run has seen so far is enough to hold its prices back; known prices alone decide."""
    return any(
        _per_sqm_verdict(counts, settings) is Verdict.DRIFTED
        or _ratio_verdict(counts.ratios, settings) is Verdict.DRIFTED
        for counts in sections.values()
    )


def price_checks(evidence: Evidence) -> Iterator[Check]:
    """Prices of a square metre; prices that all moved; a median that moved."""
    for section, counts in evidence.now.items():
        per_sqm = _per_sqm(evidence, section, counts)
        yield per_sqm
        if per_sqm.verdict is not Verdict.DRIFTED:  # what is another number has moved too
            yield _moved(evidence, section, counts)


def _per_sqm(evidence: Evidence, section: str, counts: SectionCounts) -> Check:
    share = Share(counts.per_sqm, counts.priced)
    return Check(
        kind=IncidentKind.DRIFT_PRICE_PER_SQM,
        section=section,
        field=_FIELD,
        selector=evidence.firsts.get(f"{section}.{_FIELD}"),
        usual=0.0,
        now=share.value,
        pages=share.whole,
        verdict=_per_sqm_verdict(counts, evidence.settings),
        sentence=f"{share.part} of {share.whole} prices ({section}.{_FIELD}) are those of a square metre",
        example=counts.odd,
    )


def _per_sqm_verdict(counts: SectionCounts, settings: Settings) -> Verdict:
    share = Share(counts.per_sqm, counts.priced)
    if share.least > settings.drift_fill_drop:
        return Verdict.DRIFTED
    enough = share.whole >= DRIFT_FEWEST_PAGES
    return Verdict.USUAL if share.value <= settings.drift_fill_drop and enough else Verdict.UNSURE


def _moved(evidence: Evidence, section: str, counts: SectionCounts) -> Check:
    """Of known adverts by themselves, which needs few; else by the median of all, which needs many."""
    settings, usual = evidence.settings, _usual_median(evidence, section)
    ratio, price = counts.ratios.quantile(_MIDDLE), counts.prices.quantile(_MIDDLE)
    by_ratio = _ratio_verdict(counts.ratios, settings)
    by_median = _median_verdict(counts.prices, usual, settings)
    verdicts = {by_ratio, by_median}
    certain = next((one for one in (Verdict.DRIFTED, Verdict.USUAL) if one in verdicts), Verdict.UNSURE)
    return Check(
        kind=IncidentKind.DRIFT_PRICE,
        section=section,
        field=_FIELD,
        selector=evidence.firsts.get(f"{section}.{_FIELD}"),
        usual=None if usual is None else round(usual * EURO_SCALE),
        now=None if price is None else round(price * EURO_SCALE),
        pages=counts.ratios.count,
        verdict=certain,
        sentence=_sentence(section, counts, ratio, usual),
        example=counts.odd,
    )


def _sentence(section: str, counts: SectionCounts, ratio: float | None, usual: float | None) -> str:
    price = counts.prices.quantile(_MIDDLE)
    now = "none" if price is None else f"{price * EURO_SCALE:.0f} €"
    told = "" if usual is None else f", where {usual * EURO_SCALE:.0f} € is usual"
    known = (
        "" if ratio is None else f"; {counts.ratios.count} known prices are {ratio:.2f} times what they were"
    )
    return f"the median of {section}.{_FIELD} is {now}{told}{known}"


def _ratio_verdict(ratios: TimeSketch, settings: Settings) -> Verdict:
    middle = ratios.quantile(_MIDDLE)
    if middle is None or ratios.count < DRIFT_FEWEST_PAGES:
        return Verdict.UNSURE
    if _is_within(middle, 1.0, settings.drift_price_shift):
        return Verdict.USUAL
    return Verdict.DRIFTED if ratios.count >= settings.drift_least_pages else Verdict.UNSURE


def _median_verdict(prices: TimeSketch, usual: float | None, settings: Settings) -> Verdict:
    """Only where the median is beyond doubt: the prices around it that chance may put there are off too."""
    if usual is None or not prices.count:
        return Verdict.UNSURE
    doubt = DRIFT_CERTAINTY / (2 * math.sqrt(prices.count))
    if doubt >= _MIDDLE:
        return Verdict.UNSURE
    low, high = prices.quantile(_MIDDLE - doubt) or 0.0, prices.quantile(_MIDDLE + doubt) or 0.0
    shift = settings.drift_price_shift
    off = low > usual * (1 + shift) or high < usual * (1 - shift)
    return Verdict.DRIFTED if off else Verdict.UNSURE


def _usual_median(evidence: Evidence, section: str) -> float | None:
    """Of cards, which are always all of them; which adverts a run opens is another choice each time."""
    if section == LISTING:
        return None
    settings = evidence.settings
    counted = [run.sections[section].prices for run in evidence.past if section in run.sections]
    medians = [one.quantile(_MIDDLE) or 0.0 for one in counted if one.count >= settings.drift_least_pages]
    return median(medians) if len(medians) >= settings.drift_least_runs else None


def _is_within(value: float, usual: float, shift: float) -> bool:
    return abs(value / usual - 1) <= shift


# What the adverts of a run must have, whatever is usual: shares that the site file asks for (`at_least`).

TYPE_PARSERS: Final = frozenset({"property_type", "offer", "offer_slug", "offer_code"})
_AREA: Final = "area_sqm"
_NOTHING: Final = SectionCounts()


def floors_of(config: SiteConfig) -> dict[str, Floor]:
    """What a site file asks of its portal's adverts, with the fields that tell each."""
    fields = config.listing.fields
    return {
        name: Floor(at_least, tuple(one for one, table in fields.items() if _tells(name, one, table)))
        for name, at_least in config.at_least
    }


def _tells(name: str, field: str, table: FieldTable) -> bool:
    parser = table.parser[0]
    if name == "type":
        return parser in TYPE_PARSERS
    return field == _AREA if name == "area" else parser == name


def are_missed(sections: Sections, floors: Mapping[str, Floor]) -> bool:
    """Whether what a run has seen so far is enough to say that its adverts are not read."""
    facts = sections.get(LISTING, _NOTHING).facts
    return any(_verdict(facts.share(name), one) is Verdict.DRIFTED for name, one in floors.items())


def are_met(facts: FactCounts, floors: Mapping[str, Floor]) -> bool:
    """Whether enough adverts were read, and have what is asked of them."""
    return all(_verdict(facts.share(name), one) is Verdict.USUAL for name, one in floors.items())


def floor_checks(evidence: Evidence) -> Iterator[Check]:
    """What adverts should have, beside what they have; it is the same from the first run on."""
    counts = evidence.now.get(LISTING, _NOTHING)
    for name, floor in evidence.floors.items():
        share = counts.facts.share(name)
        verdict = _verdict(share, floor)
        for field in _named(name, floor, counts, verdict):
            yield Check(
                kind=IncidentKind.DRIFT_FLOOR,
                section=LISTING,
                field=field,
                selector=evidence.firsts.get(f"{LISTING}.{field}"),
                usual=floor.at_least,
                now=share.value,
                pages=share.whole,
                verdict=verdict,
                sentence=_floor_sentence(name, share, floor),
                example=counts.facts.missing.get(name),
            )


def _named(name: str, floor: Floor, counts: SectionCounts, verdict: Verdict) -> tuple[str, ...]:
    """Of the fields that tell it the one that is read least; where nothing is wrong, all of them."""
    if verdict is not Verdict.DRIFTED or not floor.fields:
        return floor.fields or (name,)
    return (min(floor.fields, key=lambda field: counts.fields[field].read if field in counts.fields else 0),)


def _floor_sentence(name: str, share: Share, floor: Floor) -> str:
    return f"{name} on {share.part} of {share.whole} opened adverts (at least {floor.at_least:.0%} expected)"


def _verdict(share: Share, floor: Floor) -> Verdict:
    """Few adverts say nothing by chance: the share must be too small even at the most it may be."""
    if share.whole and share.most < floor.at_least:
        return Verdict.DRIFTED
    enough = share.whole >= DRIFT_FEWEST_PAGES
    return Verdict.USUAL if enough and share.value >= floor.at_least else Verdict.UNSURE


CARDS: Final = "cards"
IDS: Final = "ids"
_SEARCH: Final = "search"
_LAYOUT: Final = "layout_changed"
_CARD_COUNTS: Final[Mapping[str, Callable[[SectionCounts], Share]]] = {
    "cards_per_page": lambda counts: Share(counts.full_cards, counts.full_pages),
    "cards_of_total": lambda counts: Share(counts.seen, counts.told),
}
_CARD_WORDS: Final = {"cards_per_page": "full pages", "cards_of_total": "adverts that the portal counts"}
_NO_FIELD: Final = FieldCounts()


def checks(evidence: Evidence) -> list[Check]:
    """Every check the run's pages allow."""
    readable = [_unreadable(evidence, _SEARCH, CARDS), _unreadable(evidence, LISTING, IDS)]
    found = [*_cards(evidence), *_fields(evidence), *price_checks(evidence)]
    return [*readable, *found, *floor_checks(evidence)]


def _unreadable(evidence: Evidence, section: str, field: str) -> Check:
    """Pages that cannot be read: of results, which then have no cards, or of adverts."""
    share, usual = _unreadable_share(evidence.now, section), _usual_unreadable(evidence, section)
    counts = evidence.now.get(section, _NOTHING)
    reason = max(counts.unreadable, key=lambda one: counts.unreadable[one], default=_LAYOUT)
    no_cards = section != LISTING and reason == _LAYOUT
    what = "adverts" if section == LISTING else "results"
    return Check(
        kind=IncidentKind.DRIFT_CARDS if no_cards else IncidentKind.DRIFT_UNREADABLE,
        section=section,
        field=field,
        selector=evidence.firsts.get(f"{section}.{field}"),
        usual=usual,
        now=share.value,
        pages=share.whole,
        verdict=_risen(evidence, share, usual),
        sentence=f"{share.part} of {share.whole} pages of {what} cannot be read ({reason})",
        example=counts.puzzle,
    )


def _unreadable_share(sections: Sections, section: str) -> Share:
    """Results come in several layouts; what cannot be read has none."""
    read = sum(one.pages for name, one in sections.items() if (name == LISTING) == (section == LISTING))
    unreadable = sum(sections.get(section, _NOTHING).unreadable.values())
    return Share(unreadable, unreadable + read)


def _usual_unreadable(evidence: Evidence, section: str) -> float | None:
    if len(evidence.past) < evidence.settings.drift_least_runs:
        return None
    return median(_unreadable_share(run.sections, section).value for run in evidence.past)


def _risen(evidence: Evidence, share: Share, usual: float | None) -> Verdict:
    """A run none of whose pages can be read has drifted, however few they are.

    Before anything is usual, one of which more cannot be read than a run may fail of at all.
    """
    if not share.whole:
        return Verdict.UNSURE
    settings = evidence.settings
    bound = settings.health_failure_critical if usual is None else usual + settings.drift_fill_drop
    if share.least > bound or (usual is not None and share.part == share.whole):
        return Verdict.DRIFTED
    return Verdict.USUAL if share.value <= bound else Verdict.UNSURE


def _cards(evidence: Evidence) -> Iterator[Check]:
    """Pages that are followed by another are full, and a search shows about as many as the portal says."""
    for section, counts in evidence.now.items():
        for field, part in _CARD_COUNTS.items():
            usual = _usual_cards(evidence, section, part)
            share = part(counts)
            if usual is not None and share.whole:
                yield _cards_check(evidence, f"{section}.{field}", counts, share, usual)


def _cards_check(evidence: Evidence, key: str, counts: SectionCounts, share: Share, usual: float) -> Check:
    section, _, field = key.rpartition(".")
    few = share.value < usual * (1 - evidence.settings.drift_fill_drop)
    return Check(
        kind=IncidentKind.DRIFT_CARDS,
        section=section,
        field=field,
        selector=evidence.firsts.get(f"{section}.{CARDS}"),
        usual=usual,
        now=share.value,
        pages=share.whole,
        verdict=Verdict.DRIFTED if few else Verdict.USUAL,
        sentence=f"{share.part} cards on {share.whole} {_CARD_WORDS[field]}, where {usual:.2f} is usual",
        example=counts.few,
    )


def _usual_cards(evidence: Evidence, section: str, part: Callable[[SectionCounts], Share]) -> float | None:
    shares = [part(run.sections.get(section, _NOTHING)) for run in evidence.past]
    known = [one.value for one in shares if one.whole]
    return median(known) if len(known) >= evidence.settings.drift_least_runs else None


def _fields(evidence: Evidence) -> Iterator[Check]:
    for section, counts in evidence.now.items():
        for name, field in counts.fields.items():
            fill = _fill(evidence, f"{section}.{name}", field, counts.seen)
            yield fill
            if fill.verdict is not Verdict.DRIFTED:  # what is not filled has no selector either
                yield _first(evidence, f"{section}.{name}", field, counts.seen)


def _fill(evidence: Evidence, key: str, field: FieldCounts, seen: int) -> Check:
    share, usual = Share(field.read, seen), evidence.usual(lambda run: _read_share(run, key))
    found = sum(field.links.values())
    unread = f"; a text was found on {found}" if found > field.read else ""
    return Check(
        kind=IncidentKind.DRIFT_FILL,
        **_about(evidence, key, share, usual),
        sentence=f"{key} is filled on {_of(share, usual)}{unread}",
        example=field.missing,
    )


def _first(evidence: Evidence, key: str, field: FieldCounts, seen: int) -> Check:
    share, selector = Share(field.first, seen), evidence.firsts.get(key)
    usual = evidence.usual(lambda run: _first_share(run, key, selector))
    return Check(
        kind=IncidentKind.DRIFT_SELECTOR,
        **_about(evidence, key, share, usual),
        sentence=f"the first selector of {key} finds a text on {_of(share, usual)}",
        example=field.other or field.missing,
    )


def _about(evidence: Evidence, key: str, share: Share, usual: float | None) -> dict[str, Any]:
    section, _, field = key.rpartition(".")
    return {
        "section": section,
        "field": field,
        "selector": evidence.firsts.get(key),
        "usual": usual,
        "now": share.value,
        "pages": share.whole,
        "verdict": _fallen(evidence, share, usual),
    }


def _fallen(evidence: Evidence, share: Share, usual: float | None) -> Verdict:
    if usual is None or not share.whole:
        return Verdict.UNSURE
    bound = usual - evidence.settings.drift_fill_drop
    if share.most < bound:
        return Verdict.DRIFTED
    enough = share.whole >= DRIFT_FEWEST_PAGES
    return Verdict.USUAL if share.value >= bound and enough else Verdict.UNSURE


def _of(share: Share, usual: float | None) -> str:
    known = "" if usual is None else f", where {usual:.0%} is usual"
    return f"{share.value:.0%} of {share.whole}{known}"


def _read_share(run: PastRun, key: str) -> Share:
    section, _, field = key.rpartition(".")
    counts = run.sections.get(section, _NOTHING)
    return Share(counts.fields.get(field, _NO_FIELD).read, counts.seen)


def _first_share(run: PastRun, key: str, selector: str | None) -> Share:
    """Of a time when another selector was the first, nothing is known of this one."""
    if run.firsts.get(key) != selector:
        return Share(0, 0)
    section, _, field = key.rpartition(".")
    counts = run.sections.get(section, _NOTHING)
    return Share(counts.fields.get(field, _NO_FIELD).first, counts.seen)
