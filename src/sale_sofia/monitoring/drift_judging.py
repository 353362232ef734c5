"""Whether the pages of a run are as usual: pure rules over what it and the sound runs before it counted."""

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, Final

from sale_sofia.config.monitoring import DRIFT_FEWEST_PAGES
from sale_sofia.data.incidents import IncidentKind
from sale_sofia.monitoring.drift_checks import Check, Evidence, PastRun, Verdict
from sale_sofia.monitoring.drift_counts import LISTING, FieldCounts, SectionCounts, Sections
from sale_sofia.monitoring.drift_floors import floor_checks
from sale_sofia.monitoring.drift_prices import price_checks
from sale_sofia.monitoring.shares import Share

CARDS: Final = "cards"
IDS: Final = "ids"
_SEARCH: Final = "search"
_LAYOUT: Final = "layout_changed"
_CARD_COUNTS: Final[Mapping[str, Callable[[SectionCounts], Share]]] = {
    "cards_per_page": lambda counts: Share(counts.full_cards, counts.full_pages),
    "cards_of_total": lambda counts: Share(counts.seen, counts.told),
}
_CARD_WORDS: Final = {"cards_per_page": "full pages", "cards_of_total": "adverts that the portal counts"}
_NOTHING: Final = SectionCounts()
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
