"""Whether the pages of a run are as usual: pure rules over its counts and those of earlier sound runs."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind
from sale_sofia.telemetry.metrics import TimeSketch
from sale_sofia.telemetry.settings import DRIFT_CERTAINTY, DRIFT_FEWEST_PAGES
from sale_sofia.websites.site_file import SiteConfig

CARDS: Final = "cards"
IDS: Final = "ids"
TYPE_PARSERS: Final = frozenset({"property_type", "offer", "offer_slug", "offer_code"})
_LAYOUT: Final = "layout_changed"
_NOTHING: Final = SectionCounts()
_NO_FIELD: Final = FieldCounts()


@dataclass(frozen=True, slots=True)
class PastRun:
    """A sound run, and its first selectors."""

    sections: Sections
    firsts: Mapping[str, str]


class Floor(NamedTuple):
    """The least share of adverts that must have a fact, by the site file, and the fields that provide it."""

    at_least: float
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a run is judged by."""

    now: Sections
    past: Sequence[PastRun]
    """Earlier sound runs, the newest first."""
    firsts: Mapping[str, str]
    """The first selector of each field, and of cards and ids, by section and name."""
    settings: Settings
    floors: Mapping[str, Floor] = field(default_factory=dict)
    """By fact, as named in `at_least`."""

    def usual(self, part: Callable[[PastRun], Share]) -> float | None:
        """The median of a share over the earlier runs; None where there are too few."""
        least_pages, least_runs = self.settings.drift_least_pages, self.settings.drift_least_runs
        return usual_share(map(part, self.past), least_pages=least_pages, least_runs=least_runs)


class DriftVerdict(StrEnum):
    """The result of a check."""

    DRIFTED = "drifted"
    USUAL = "usual"
    UNSURE = "unsure"
    """Too few pages or earlier runs to decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One property of a run that was checked."""

    kind: IncidentKind
    name: str
    """The section and field, as named in the site file."""
    selector: str | None
    usual: float | None
    now: float | None
    pages: int
    """The number of pages, cards or prices it is based on."""
    verdict: DriftVerdict
    sentence: Said
    """What was found, for people."""
    example: Example | None = None

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
            "code": self.sentence.code,
            "url": self.example.url if self.example else None,
            "page_digest": self.example.digest if self.example else None,
        }


def checks(evidence: Evidence) -> list[Check]:
    """Every check that the run's pages allow."""
    return [
        _check_readable(evidence, "search", CARDS),
        _check_readable(evidence, LISTING, IDS),
        *_check_cards(evidence),
        *_check_fields(evidence),
        *_check_prices(evidence),
        *_check_floors(evidence),
    ]


# Pages that cannot be read.


def _check_readable(evidence: Evidence, section: str, name: str) -> Check:
    """Pages that cannot be read: of results, which then have no cards, or of adverts."""
    share, usual = _unreadable_share(evidence.now, section), None
    if len(evidence.past) >= evidence.settings.drift_least_runs:
        usual = median(_unreadable_share(run.sections, section).value for run in evidence.past)
    counts = evidence.now.get(section, _NOTHING)
    reason = max(counts.unreadable, key=counts.unreadable.__getitem__, default=_LAYOUT)
    no_cards = section != LISTING and reason == _LAYOUT
    code = "drift.adverts" if section == LISTING else "drift.results"
    return Check(
        kind=IncidentKind.DRIFT_CARDS if no_cards else IncidentKind.DRIFT_UNREADABLE,
        name=f"{section}.{name}",
        selector=evidence.firsts.get(f"{section}.{name}"),
        usual=usual,
        now=share.value,
        pages=share.whole,
        verdict=_judge_unreadable(share, usual, evidence.settings),
        sentence=Said(code, part=share.part, whole=share.whole, reason=reason),
        example=counts.puzzle,
    )


def _unreadable_share(sections: Sections, section: str) -> Share:
    """The share of unreadable pages. Results have several layouts, an unreadable page has none."""
    read = sum(counts.pages for name, counts in sections.items() if (name == LISTING) == (section == LISTING))
    unreadable = sum(sections.get(section, _NOTHING).unreadable.values())
    return Share(unreadable, unreadable + read)


def _judge_unreadable(share: Share, usual: float | None, settings: Settings) -> DriftVerdict:
    """A run none of whose pages can be read has drifted, however few they are.

    Without earlier runs the bound is the share of failures that is critical for any run.
    """
    if not share.whole:
        return DriftVerdict.UNSURE
    bound = settings.health_failure_critical if usual is None else usual + settings.drift_fill_drop
    if share.least > bound or (usual is not None and share.part == share.whole):
        return DriftVerdict.DRIFTED
    return DriftVerdict.USUAL if share.value <= bound else DriftVerdict.UNSURE


# Cards: pages with a next page are full, and a search shows about as many as the portal announces.


def _per_page(counts: SectionCounts) -> Share:
    return Share(counts.full_cards, counts.full_pages)


def _of_total(counts: SectionCounts) -> Share:
    return Share(counts.seen, counts.told)


_CARD_COUNTS: Final = (
    ("cards_per_page", _per_page),
    ("cards_of_total", _of_total),
)


def _check_cards(evidence: Evidence) -> Iterator[Check]:
    for section, counts in evidence.now.items():
        for name, count in _CARD_COUNTS:
            share = count(counts)
            shares = [count(run.sections.get(section, _NOTHING)) for run in evidence.past]
            usual_values = [past.value for past in shares if past.whole]
            if not share.whole or len(usual_values) < evidence.settings.drift_least_runs:
                continue
            usual = median(usual_values)
            few = share.value < usual * (1 - evidence.settings.drift_fill_drop)
            yield Check(
                kind=IncidentKind.DRIFT_CARDS,
                name=f"{section}.{name}",
                selector=evidence.firsts.get(f"{section}.{CARDS}"),
                usual=usual,
                now=share.value,
                pages=share.whole,
                verdict=DriftVerdict.DRIFTED if few else DriftVerdict.USUAL,
                sentence=Said(f"drift.{name}", part=share.part, whole=share.whole, usual=usual),
                example=counts.few,
            )


# Fields: on how many pages they are filled, and by their first selector.


def _check_fields(evidence: Evidence) -> Iterator[Check]:
    for section, counts in evidence.now.items():
        for name, counted in counts.fields.items():
            fill = _check_fill(evidence, section, name, counted)
            yield fill
            if fill.verdict is not DriftVerdict.DRIFTED:  # an empty field has no selector either
                yield _check_first(evidence, section, name, counted)


def _check_fill(evidence: Evidence, section: str, name: str, counted: FieldCounts) -> Check:
    share = Share(counted.read, evidence.now[section].seen)

    def past_share(run: PastRun) -> Share:
        counts = run.sections.get(section, _NOTHING)
        return Share(counts.fields.get(name, _NO_FIELD).read, counts.seen)

    usual = evidence.usual(past_share)
    texts = sum(counted.links.values())
    unread = Said("drift.text_found", found=texts) if texts > counted.read else None
    return Check(
        kind=IncidentKind.DRIFT_FILL,
        **_compare_share(evidence, f"{section}.{name}", share, usual),
        sentence=Said("drift.fill", key=f"{section}.{name}", **_described(share, usual), unread=unread),
        example=counted.missing,
    )


def _check_first(evidence: Evidence, section: str, name: str, counted: FieldCounts) -> Check:
    key = f"{section}.{name}"
    share = Share(counted.first, evidence.now[section].seen)

    def past_share(run: PastRun) -> Share:
        """Runs with another first selector do not count."""
        if run.firsts.get(key) != evidence.firsts.get(key):
            return Share(0, 0)
        counts = run.sections.get(section, _NOTHING)
        return Share(counts.fields.get(name, _NO_FIELD).first, counts.seen)

    usual = evidence.usual(past_share)
    return Check(
        kind=IncidentKind.DRIFT_SELECTOR,
        **_compare_share(evidence, key, share, usual),
        sentence=Said("drift.first", key=key, **_described(share, usual)),
        example=counted.other or counted.missing,
    )


def _compare_share(evidence: Evidence, key: str, share: Share, usual: float | None) -> dict[str, Any]:
    verdict = DriftVerdict.UNSURE
    if usual is not None and share.whole:
        bound = usual - evidence.settings.drift_fill_drop
        if share.most < bound:
            verdict = DriftVerdict.DRIFTED
        elif share.value >= bound and share.whole >= DRIFT_FEWEST_PAGES:
            verdict = DriftVerdict.USUAL
    selector = evidence.firsts.get(key)
    compared = {"usual": usual, "now": share.value, "pages": share.whole}
    return {"name": key, "selector": selector, "verdict": verdict, **compared}


def _described(share: Share, usual: float | None) -> dict[str, Any]:
    usual_text = None if usual is None else Said("drift.usual_share", usual=usual)
    return {"share": share.value, "whole": share.whole, "usual": usual_text}


# Whether the prices of a run are plausible: compared with stored ones of the same adverts and the median.

_MIDDLE: Final = 0.5


def prices_are_doubtful(sections: Sections, settings: Settings) -> bool:
    """Whether the run so far justifies holding its prices back, judged by stored prices alone."""
    return any(
        _judge_per_sqm(Share(counts.per_sqm, counts.priced), settings) is DriftVerdict.DRIFTED
        or _judge_ratios(counts.ratios, settings) is DriftVerdict.DRIFTED
        for counts in sections.values()
    )


def _check_prices(evidence: Evidence) -> Iterator[Check]:
    """Check for prices per square metre, for prices that all moved, and for a median that moved."""
    for section, counts in evidence.now.items():
        share, name = Share(counts.per_sqm, counts.priced), f"{section}.price"
        verdict = _judge_per_sqm(share, evidence.settings)
        yield Check(
            kind=IncidentKind.DRIFT_PRICE_PER_SQM,
            name=name,
            selector=evidence.firsts.get(name),
            usual=0.0,
            now=share.value,
            pages=share.whole,
            verdict=verdict,
            sentence=Said("drift.per_sqm", part=share.part, whole=share.whole, key=name),
            example=counts.odd,
        )
        if verdict is not DriftVerdict.DRIFTED:  # prices of another meaning have moved anyway
            yield _check_moved(evidence, section, counts)


def _judge_per_sqm(share: Share, settings: Settings) -> DriftVerdict:
    if share.least > settings.drift_fill_drop:
        return DriftVerdict.DRIFTED
    enough = share.whole >= DRIFT_FEWEST_PAGES
    return DriftVerdict.USUAL if share.value <= settings.drift_fill_drop and enough else DriftVerdict.UNSURE


def _check_moved(evidence: Evidence, section: str, counts: SectionCounts) -> Check:
    """Compare adverts with their stored prices, where few are enough, and the median, which needs many."""
    settings, name = evidence.settings, f"{section}.price"
    usual = _usual_median(evidence, section)
    ratio, price = counts.ratios.quantile(_MIDDLE), counts.prices.quantile(_MIDDLE)
    by_ratio = _judge_ratios(counts.ratios, settings)
    by_median = usual is not None and _median_is_off(counts.prices, usual, settings.drift_price_shift)
    now = "none" if price is None else f"{price * EURO_SCALE:.0f} €"
    usual_text = None if usual is None else Said("drift.usual_eur", usual=usual * EURO_SCALE)
    ratio_text = None if ratio is None else Said("drift.known", count=counts.ratios.count, ratio=ratio)
    return Check(
        kind=IncidentKind.DRIFT_PRICE,
        name=name,
        selector=evidence.firsts.get(name),
        usual=None if usual is None else round(usual * EURO_SCALE),
        now=None if price is None else round(price * EURO_SCALE),
        pages=counts.ratios.count,
        verdict=DriftVerdict.DRIFTED if by_median else by_ratio,
        sentence=Said("drift.median", key=name, now=now, usual=usual_text, known=ratio_text),
        example=counts.odd,
    )


def _judge_ratios(ratios: TimeSketch, settings: Settings) -> DriftVerdict:
    middle = ratios.quantile(_MIDDLE)
    if middle is None or ratios.count < DRIFT_FEWEST_PAGES:
        return DriftVerdict.UNSURE
    if abs(middle - 1) <= settings.drift_price_shift:
        return DriftVerdict.USUAL
    return DriftVerdict.DRIFTED if ratios.count >= settings.drift_least_pages else DriftVerdict.UNSURE


def _median_is_off(prices: TimeSketch, usual: float, shift: float) -> bool:
    """Whether the median is off with certainty: its whole confidence interval is off."""
    doubt = DRIFT_CERTAINTY / (2 * math.sqrt(prices.count)) if prices.count else _MIDDLE
    if doubt >= _MIDDLE:
        return False
    low, high = prices.quantile(_MIDDLE - doubt) or 0.0, prices.quantile(_MIDDLE + doubt) or 0.0
    return low > usual * (1 + shift) or high < usual * (1 - shift)


def _usual_median(evidence: Evidence, section: str) -> float | None:
    """Only for cards, which are always complete; the adverts that a run opens differ each time."""
    if section == LISTING:
        return None
    settings = evidence.settings
    sketches = [run.sections[section].prices for run in evidence.past if section in run.sections]
    medians = [
        sketch.quantile(_MIDDLE) or 0.0 for sketch in sketches if sketch.count >= settings.drift_least_pages
    ]
    return median(medians) if len(medians) >= settings.drift_least_runs else None


# What the adverts of a run must have, whatever is usual: shares required by the site file (`at_least`).


def floors_of(config: SiteConfig) -> dict[str, Floor]:
    """What a site file requires of its portal's adverts, with the fields that provide each fact."""

    def tells(name: str, column: str, parser: str) -> bool:
        if name == "type":
            return parser in TYPE_PARSERS
        return column == "area_sqm" if name == "area" else parser == name

    parsers = {column: table.parser[0] for column, table in config.listing.fields.items()}
    return {
        name: Floor(
            at_least, tuple(column for column, parser in parsers.items() if tells(name, column, parser))
        )
        for name, at_least in config.at_least
    }


def are_missed(sections: Sections, floors: Mapping[str, Floor]) -> bool:
    """Whether the run so far shows that its adverts are not read as required."""
    facts = sections.get(LISTING, _NOTHING).facts
    return any(
        _judge_floor(facts.share(name), floor) is DriftVerdict.DRIFTED for name, floor in floors.items()
    )


def are_met(facts: FactCounts, floors: Mapping[str, Floor]) -> bool:
    """Whether enough adverts were read, and have what is required."""
    return all(_judge_floor(facts.share(name), floor) is DriftVerdict.USUAL for name, floor in floors.items())


def _check_floors(evidence: Evidence) -> Iterator[Check]:
    """Compare adverts with the required shares, from the first run on.

    A drifted fact is reported for the field that is read least, any other for all its fields.
    """
    counts = evidence.now.get(LISTING, _NOTHING)
    for name, floor in evidence.floors.items():
        share = counts.facts.share(name)
        verdict = _judge_floor(share, floor)
        columns = floor.fields or (name,)
        if verdict is DriftVerdict.DRIFTED:
            columns = (min(columns, key=lambda column: counts.fields.get(column, _NO_FIELD).read),)
        for column in columns:
            yield Check(
                kind=IncidentKind.DRIFT_FLOOR,
                name=f"{LISTING}.{column}",
                selector=evidence.firsts.get(f"{LISTING}.{column}"),
                usual=floor.at_least,
                now=share.value,
                pages=share.whole,
                verdict=verdict,
                sentence=Said(
                    "drift.floor",
                    fact=Said(f"drift.fact.{name}"),
                    part=share.part,
                    whole=share.whole,
                    least=floor.at_least,
                ),
                example=counts.facts.missing.get(name),
            )


def _judge_floor(share: Share, floor: Floor) -> DriftVerdict:
    """Drifted only if even the upper confidence bound is too small: few adverts prove nothing."""
    if share.whole and share.most < floor.at_least:
        return DriftVerdict.DRIFTED
    enough = share.whole >= DRIFT_FEWEST_PAGES
    return DriftVerdict.USUAL if enough and share.value >= floor.at_least else DriftVerdict.UNSURE
