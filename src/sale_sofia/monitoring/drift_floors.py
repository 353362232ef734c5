"""What the adverts of a run must have, whatever is usual: shares that the site file asks for (`at_least`)."""

from collections.abc import Iterator, Mapping
from typing import Final

from sale_sofia.config.monitoring import DRIFT_FEWEST_PAGES
from sale_sofia.config.site_config import SiteConfig
from sale_sofia.config.site_links import FieldTable
from sale_sofia.data.incidents import IncidentKind
from sale_sofia.monitoring.drift_checks import Check, Evidence, Floor, Verdict
from sale_sofia.monitoring.drift_counts import LISTING, FactCounts, SectionCounts, Sections
from sale_sofia.monitoring.shares import Share

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
                sentence=_sentence(name, share, floor),
                example=counts.facts.missing.get(name),
            )


def _named(name: str, floor: Floor, counts: SectionCounts, verdict: Verdict) -> tuple[str, ...]:
    """Of the fields that tell it the one that is read least; where nothing is wrong, all of them."""
    if verdict is not Verdict.DRIFTED or not floor.fields:
        return floor.fields or (name,)
    return (min(floor.fields, key=lambda field: counts.fields[field].read if field in counts.fields else 0),)


def _sentence(name: str, share: Share, floor: Floor) -> str:
    return f"{name} on {share.part} of {share.whole} opened adverts (at least {floor.at_least:.0%} expected)"


def _verdict(share: Share, floor: Floor) -> Verdict:
    """Few adverts say nothing by chance: the share must be too small even at the most it may be."""
    if share.whole and share.most < floor.at_least:
        return Verdict.DRIFTED
    enough = share.whole >= DRIFT_FEWEST_PAGES
    return Verdict.USUAL if enough and share.value >= floor.at_least else Verdict.UNSURE
