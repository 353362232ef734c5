"""Whether the prices of a run are prices: beside those known of the same adverts, and the usual median."""

import math
from collections.abc import Iterator
from statistics import median

from sale_sofia.config.monitoring import DRIFT_CERTAINTY, DRIFT_FEWEST_PAGES
from sale_sofia.config.settings import Settings
from sale_sofia.data.incidents import IncidentKind
from sale_sofia.monitoring.drift_checks import Check, Evidence, Verdict
from sale_sofia.monitoring.drift_counts import EURO_SCALE, LISTING, SectionCounts, Sections
from sale_sofia.monitoring.shares import Share
from sale_sofia.monitoring.sketch import TimeSketch

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
