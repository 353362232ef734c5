"""Everything extracted again from the archive: no network, the newest page of each advert."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection

from sale_sofia.crawl.fetch.archive import ArchiveDamaged, PageArchive
from sale_sofia.crawl.frontier.searches import fill_from_cards
from sale_sofia.crawl.visit.apart import Apart, EndedApart, page_bounds
from sale_sofia.crawl.visit.writer import count_facts
from sale_sofia.history.drift.counts import Example, FactCounts
from sale_sofia.history.drift.judging import are_met, floors_of
from sale_sofia.history.drift.store import open_drift
from sale_sofia.history.listings import SaveResult, Sighting, save_listings
from sale_sofia.history.news import release_adverts
from sale_sofia.history.pages import PageRecord, latest_pages, page_pairs, sound_until
from sale_sofia.listings.model import FieldSeen, Listing
from sale_sofia.listings.normalise import normalise_seen
from sale_sofia.listings.page import HostilePage, Page, PageError
from sale_sofia.settings.model import Settings, get_settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import Incident, IncidentKind, close_incident
from sale_sofia.telemetry.settings import REPAIR_LEAST_PAGES, REPAIR_PAGES, REPAIR_RIGHT_FOR_WRONG
from sale_sofia.websites.base import Site
from sale_sofia.websites.reading import Answer, error_answer, read_page
from sale_sofia.websites.registry import UnknownSite, get_scraper
from sale_sofia.websites.repair import Facts, Proposal, Sample, known_facts, propose

# Saved pages, one by one or by a manifest, as answers.

_KEYS = ("site", "file", "url")
BAD_LINE = "bad_line"
"""The error of a line of a manifest that leads to no page."""


class ManifestError(ValueError):
    """A manifest that cannot be read at all."""


class _BadLine(ValueError):
    """What is wrong with a line, and what is allowed."""


def read_file(site: Site, file: Path, url: str) -> Answer:
    """The answer for one saved page; a file that cannot be read is an answer too."""
    try:
        body = file.read_bytes()
    except OSError as error:
        return error_answer(site.name, url, "unreadable_file", f"{file}: {error.strerror}")
    return read_page(site, Page(url, body))


def read_manifest(path: Path) -> Iterator[Answer]:
    """One answer for each line, also for a bad one; `ManifestError` if the file cannot be read."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ManifestError(f"{path}: not UTF-8 text") from None
    return (_answer(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _answer(path: Path, number: int, line: str) -> Answer:
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    try:
        site = _site_of(given)
        file = Path(given["file"])
        # A relative path counts from where the command runs, or else from beside the manifest.
        body = (file if file.exists() or file.is_absolute() else path.parent / file).read_bytes()
    except (_BadLine, UnknownSite) as error:
        wrong = str(error)
    except OSError as error:
        wrong = f"{given['file']}: {error.strerror}"
    else:
        return read_page(site, Page(given["url"], body))
    named = given if isinstance(given, dict) else {}
    return error_answer(named.get("site"), named.get("url"), BAD_LINE, f"{path}, line {number}: {wrong}")


def _site_of(given: Any) -> Site:  # noqa: ANN401 - whatever the line holds
    if given is None:
        raise _BadLine("not JSON; a line is {'site': …, 'file': …, 'url': …}")
    if not isinstance(given, dict) or not all(isinstance(given.get(key), str) for key in _KEYS):
        raise _BadLine(f"must have the texts {', '.join(_KEYS)}")
    return get_scraper(given["site"])


# Saved pages read one after the other, each portal's in a process of its own that can be ended.

_Read = tuple[Listing, Mapping[str, FieldSeen]]


@contextmanager
def _readers_apart(settings: Settings) -> Iterator[Callable[[Site, Page], _Read]]:
    """Inside, adverts are read; a page that takes too long, or too much memory, is a `HostilePage`."""
    readers: dict[str, Apart] = {}

    def read(site: Site, page: Page) -> _Read:
        if len(page.body) > settings.max_page_bytes:
            return normalise_seen(site.listing(page))  # refused for its size, unread
        if site.name not in readers:
            readers[site.name] = Apart(partial(_read_apart, site), page_bounds(settings))
        try:
            found: _Read = readers[site.name].do_now((page.url, page.content_type), page.body)
        except EndedApart as why:
            raise HostilePage(f"reading the page was ended: {why}") from None
        return found

    try:
        yield read
    finally:
        for reader in readers.values():
            reader.close()


def _read_apart(site: Site, task: tuple[str, str | None], body: bytes) -> _Read:
    url, content_type = task
    return normalise_seen(site.listing(Page(url, body, content_type)))


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
    with _readers_apart(get_settings()) as reader:
        for first in range(0, len(records), batch):
            some = records[first : first + batch]
            seen = [_read_again(archive, record, done, read, reader) for record in some]
            sightings = [sighting for sighting in seen if sighting]
            saved = database.run_write(partial(_save, sightings=sightings))
            done.pages += len(some)
            done.changed += sum(result != "unchanged" for result in saved)
            progress(len(some))
    for site, again in read.items():
        if are_met(again.facts, floors_of(get_scraper(site).config)):
            database.run_write(partial(_let_go, site=site, read=again.external_ids))
    return done


def _save(connection: Connection, sightings: Sequence[Sighting]) -> list[SaveResult]:
    """Each portal's adverts by its own rules."""
    saved: list[SaveResult] = []
    for site in {sighting.listing.site for sighting in sightings}:
        rules = get_scraper(site).config.history.rules(get_settings())
        own = [sighting for sighting in sightings if sighting.listing.site == site]
        saved += save_listings(connection, fill_from_cards(connection, site, own), rules)
    return saved


def _let_go(connection: Connection, site: str, read: set[str]) -> None:
    """The adverts are read as they should be: that they were not is over, and they are new."""
    now = time.time()
    close_incident(connection, IncidentKind.DRIFT_FLOOR, site, now=now)
    release_adverts(connection, site, read, now=now)


def _read_again(
    archive: PageArchive,
    record: PageRecord,
    done: Reparsed,
    read: Mapping[str, _ReadAgain],
    reader: Callable[[Site, Page], _Read],
) -> Sighting | None:
    site = get_scraper(record.site)
    try:
        body = archive.get(record.digest)
        listing, seen = reader(site, Page(record.url, body, record.content_type))
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


# New selectors for fields that drifted, proposed from archived pages: no network, nothing is changed.

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
    read = [(_archived(archive, pair.before), _archived(archive, pair.after)) for pair in pairs]
    both = [(before, after) for before, after in read if before and after]
    if not both:
        raise NothingToRepair(
            f"{site}: no advert has an archived page from before the change and one from after it; "
            "ARCHIVE_ENABLED keeps them"
        )
    return both


def _archived(archive: PageArchive, record: PageRecord) -> Page | None:
    try:
        return Page(record.url, archive.get(record.digest), record.content_type)
    except (ArchiveDamaged, FileNotFoundError):
        return None
