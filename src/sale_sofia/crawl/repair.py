"""New selectors for fields that drifted, proposed from archived pages: no network, nothing is changed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sale_sofia.crawl.fetch.archive import ArchiveDamaged, PageArchive
from sale_sofia.history.drift.store import open_drift
from sale_sofia.history.pages import PageRecord, page_pairs, sound_until
from sale_sofia.listings.page import Page
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import Incident
from sale_sofia.telemetry.settings import REPAIR_LEAST_PAGES, REPAIR_PAGES, REPAIR_RIGHT_FOR_WRONG
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.repair import Facts, Proposal, Sample, known_facts, propose

_LISTING = "listing."


class NothingToRepair(ValueError):
    """Why nothing can be proposed, in one sentence."""


@dataclass(frozen=True, slots=True)
class Repair:
    """What is proposed for each field that broke, the best first; nothing where nothing gives its value."""

    site: str
    proposals: Mapping[str, Sequence[Proposal]]
    others: Sequence[str]
    """What drifted and is no field of an advert's page: a person must look."""


def propose_repair(database: Database, archive: PageArchive, site: str) -> Repair:
    """Proposals for a portal's open drift; `NothingToRepair` without one, or without pages to learn from."""
    incidents = database.run_read(partial(open_drift, site=site))
    if not incidents:
        raise NothingToRepair(
            f"{site}: nothing has drifted; `sale-sofia sites drift {site}` shows its fields"
        )
    drifted = sorted({one["field"] for incident in incidents for one in incident.details.get("findings", ())})
    scraper = get_scraper(site)
    names = [one.removeprefix(_LISTING) for one in drifted if one.startswith(_LISTING)]
    fields = [name for name in names if name in scraper.config.listing.fields]
    others = [one for one in drifted if one.removeprefix(_LISTING) not in fields]
    pages = _pages(database, archive, site, incidents) if fields else []
    known = [
        _Known(after, known_facts(scraper, before), known_facts(scraper, after)) for before, after in pages
    ]
    fields += [name for name in _lost(known) if name not in fields]
    return Repair(site, {name: propose(scraper, name, _samples(known, name)) for name in fields}, others)


class _Known(NamedTuple):
    """An advert's page as it is now, and what was read of it before and is now, by field."""

    page: Page
    before: Mapping[str, Facts]
    now: Mapping[str, Facts]


def _lost(known: Sequence[_Known]) -> list[str]:
    """Fields that too many adverts lost at once to have been edited, though too few to be alarmed of each."""
    had = Counter(name for one in known for name in one.before)
    lost = Counter(name for one in known for name in one.before.keys() - one.now.keys())
    return sorted(
        name
        for name, pages in lost.items()
        if pages >= max(REPAIR_LEAST_PAGES, had[name] / REPAIR_RIGHT_FOR_WRONG)
    )


def _samples(known: Sequence[_Known], name: str) -> list[Sample]:
    """The adverts of which the field was known before; first those that lost it, where its new place is."""
    had = sorted((one for one in known if name in one.before), key=lambda one: name in one.now)
    return [Sample(one.page, one.before[name]) for one in had]


def _pages(
    database: Database, archive: PageArchive, site: str, incidents: Sequence[Incident]
) -> list[tuple[Page, Page]]:
    opened = min(one.opened_at for one in incidents)
    since = database.run_read(partial(sound_until, site=site, before=opened)) or opened
    pairs = database.run_read(partial(page_pairs, site=site, since=since, most=REPAIR_PAGES))
    read = [(_read(archive, pair.before), _read(archive, pair.after)) for pair in pairs]
    both = [(before, after) for before, after in read if before and after]
    if not both:
        raise NothingToRepair(
            f"{site}: no advert has an archived page from before the change and one from after it; "
            "ARCHIVE_ENABLED keeps them"
        )
    return both


def _read(archive: PageArchive, record: PageRecord) -> Page | None:
    try:
        return Page(record.url, archive.get(record.digest), record.content_type)
    except (ArchiveDamaged, FileNotFoundError):
        return None
