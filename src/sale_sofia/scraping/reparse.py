"""Everything extracted again from the archive: no network, the newest page of each advert."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from sqlalchemy import Connection

from sale_sofia.config.settings import get_settings
from sale_sofia.data.database import Database
from sale_sofia.data.incidents import IncidentKind, close_incident
from sale_sofia.data.listings import SaveResult, Sighting, save_listings
from sale_sofia.data.news import release_adverts
from sale_sofia.data.pages import PageRecord, latest_pages
from sale_sofia.fetching.archive import ArchiveDamaged, PageArchive
from sale_sofia.listings.model import Listing
from sale_sofia.listings.normalise import normalise_seen
from sale_sofia.listings.page import Page
from sale_sofia.listings.page_errors import PageError
from sale_sofia.listings.raw import FieldSeen
from sale_sofia.monitoring.drift_counts import Example, FactCounts
from sale_sofia.monitoring.drift_floors import are_met, floors_of
from sale_sofia.scraping.card_facts import fill_from_cards
from sale_sofia.scraping.observing import count_facts
from sale_sofia.scraping.reading_apart import ReadersApart, readers_apart
from sale_sofia.websites.base import Site
from sale_sofia.websites.registry import get_scraper

_Read = tuple[Listing, Mapping[str, FieldSeen]]


@dataclass(slots=True)
class Reparsed:
    """What a reparse did."""

    pages: int = 0
    changed: int = 0
    failed: int = 0
    missing: int = 0
    """Pages whose bytes were pruned or are damaged."""


@dataclass(slots=True)
class _ReadAgain:
    """What was read of one portal: whether its adverts have what they should, and which they are."""

    facts: FactCounts = field(default_factory=FactCounts)
    external_ids: set[str] = field(default_factory=set)


def reparse(
    database: Database, archive: PageArchive, *, site: str | None, batch: int, progress: Callable[[int], None]
) -> Reparsed:
    """Read the newest archived page of every advert again and store what it says now.

    Adverts that were held back for want of what the site file asks of them are new if they have it now.
    """
    records = list(database.run_read(lambda connection: list(latest_pages(connection, site=site))))
    return reparse_pages(database, archive, records, batch=batch, progress=progress)


def reparse_pages(
    database: Database,
    archive: PageArchive,
    records: Sequence[PageRecord],
    *,
    batch: int = 1,
    progress: Callable[[int], None] = lambda _count: None,
) -> Reparsed:
    """The same for these pages of adverts."""
    done, read = Reparsed(), defaultdict[str, _ReadAgain](_ReadAgain)
    with readers_apart(_listing, get_settings()) as readers:
        for records_batch in _batches(iter(records), batch):
            sightings = [
                one for record in records_batch if (one := _read(archive, record, done, read, readers))
            ]
            saved = database.run_write(partial(_save, sightings=sightings))
            done.pages += len(records_batch)
            done.changed += sum(result != "unchanged" for result in saved)
            progress(len(records_batch))
    for site, again in read.items():
        if are_met(again.facts, floors_of(get_scraper(site).config)):
            database.run_write(partial(_let_go, site=site, read=again.external_ids))
    return done


def _save(connection: Connection, sightings: Sequence[Sighting]) -> list[SaveResult]:
    """Each portal's adverts by its own rules."""
    saved: list[SaveResult] = []
    for site in {sighting.listing.site for sighting in sightings}:
        rules = get_scraper(site).config.history.rules(get_settings().odd_price_visits)
        own = [sighting for sighting in sightings if sighting.listing.site == site]
        saved += save_listings(connection, fill_from_cards(connection, site, own), rules)
    return saved


def _let_go(connection: Connection, site: str, read: set[str]) -> None:
    """The adverts are read as they should be: that they were not is over, and they are new."""
    now = time.time()
    close_incident(connection, IncidentKind.DRIFT_FLOOR, site, now=now)
    release_adverts(connection, site, read, now=now)


def _batches(records: Iterator[PageRecord], size: int) -> Iterator[list[PageRecord]]:
    while batch := list(islice(records, size)):
        yield batch


def _listing(site: Site, page: Page) -> _Read:
    return normalise_seen(site.listing(page))


def _read(
    archive: PageArchive,
    record: PageRecord,
    done: Reparsed,
    read: Mapping[str, _ReadAgain],
    readers: ReadersApart[_Read],
) -> Sighting | None:
    site = get_scraper(record.site)
    try:
        body = archive.get(record.digest)
        listing, seen = readers.read(site, Page(record.url, body, record.content_type))
    except (ArchiveDamaged, FileNotFoundError):
        done.missing += 1
        return None
    except PageError:
        done.failed += 1
        return None
    again = read[record.site]
    again.external_ids.add(listing.external_id)
    example = Example(record.url, record.digest)
    count_facts(again.facts, site.config.listing.fields, listing, seen, example)
    # The page is as old as it is: what a better reader finds in it was there at that moment.
    return Sighting(listing, seen_at=record.fetched_at, job_id=None, page_digest=record.digest)
