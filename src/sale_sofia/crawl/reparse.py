"""Parses archived pages again, without network: the newest page of each advert."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
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
from sale_sofia.telemetry.settings import REPAIR_PAGES
from sale_sofia.websites.base import Site
from sale_sofia.websites.reading import Answer, error_answer, read_page
from sale_sofia.websites.registry import AVAILABLE_SITES, UnknownSite, get_scraper
from sale_sofia.websites.repair import Facts, Proposal, Sample, known_facts, propose
from sale_sofia.websites.settings import REPAIR_LEAST_PAGES, REPAIR_RIGHT_FOR_WRONG

# Saved pages, single or listed in a manifest, as answers.

_KEYS = ("site", "file", "url")
BAD_LINE = "bad_line"
"""The error code for an invalid line of a manifest."""


class ManifestError(ValueError):
    """A manifest that cannot be read at all."""


class _BadLine(ValueError):
    """An invalid line; the message says what is wrong and what is allowed."""


def read_file(site: Site, file: Path, url: str) -> Answer:
    """The answer for one saved page; a file that cannot be read is an answer too."""
    try:
        body = file.read_bytes()
    except OSError as error:
        return error_answer(site.name, url, "unreadable_file", f"{file}: {error.strerror}")
    return read_page(site, Page(url, body))


def read_manifest(path: Path) -> Iterator[Answer]:
    """One answer for each line, even an invalid one; `ManifestError` if the file cannot be read."""
    try:
        lines = path.read_text("utf-8").split("\n")  # other line ends may stand inside a text
    except OSError as error:
        raise ManifestError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ManifestError(f"{path}: not UTF-8 text") from None
    return (_answer(path, number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _answer(path: Path, number: int, line: str) -> Answer:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        entry = None
    try:
        site = _site_of(entry)
        file = Path(entry["file"])
        # A relative path is resolved from the working directory, or else from the manifest's folder.
        body = (file if file.exists() or file.is_absolute() else path.parent / file).read_bytes()
    except (_BadLine, UnknownSite) as error:
        wrong = str(error)
    except OSError as error:
        wrong = f"{entry['file']}: {error.strerror}"
    except ValueError as error:  # a sign that no file's name can have
        wrong = f"{entry['file']!r}: {error}"
    else:
        return read_page(site, Page(entry["url"], body))
    fields = entry if isinstance(entry, dict) else {}
    return error_answer(fields.get("site"), fields.get("url"), BAD_LINE, f"{path}, line {number}: {wrong}")


def _site_of(entry: Any) -> Site:  # noqa: ANN401 - whatever the line holds
    if entry is None:
        raise _BadLine("not JSON; a line is {'site': …, 'file': …, 'url': …}")
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _KEYS):
        raise _BadLine(f"must have the texts {', '.join(_KEYS)}")
    return get_scraper(entry["site"])


# Saved pages are read one after the other, each portal's in a process of its own that can be ended.

_Read = tuple[Listing, Mapping[str, FieldSeen]]


@contextmanager
def _readers_apart(settings: Settings) -> Iterator[Callable[[Site, Page], _Read]]:
    """Gives a function that reads adverts; it raises `HostilePage` for too much time or memory."""
    readers: dict[str, Apart] = {}

    def read(site: Site, page: Page) -> _Read:
        if len(page.body) > settings.max_page_bytes:
            return normalise_seen(site.listing(page))  # refused for its size, unread
        if site.name not in readers:
            readers[site.name] = Apart(partial(_read_apart, site), page_bounds(settings))
        try:
            result: _Read = readers[site.name].do_now((page.url, page.content_type), page.body)
        except EndedApart as why:
            raise HostilePage(f"reading the page was ended: {why}") from None
        return result

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
    """What was read of one portal: the facts its adverts have, and their ids."""

    facts: FactCounts = field(default_factory=FactCounts)
    external_ids: set[str] = field(default_factory=set)


def reparse(
    database: Database, archive: PageArchive, *, site: str | None, batch: int, progress: Callable[[int], None]
) -> Reparsed:
    """Parse the newest archived page of every advert again and store the result.

    Adverts held back because they lacked what the site file requires count as new if they have it now. Pages
    of a portal that has no site file any more are counted as failed.

    Raises:
        UnknownSite: `site` has no site file.
    """
    if site is not None:
        get_scraper(site)
    records = database.run_read(lambda connection: list(latest_pages(connection, site=site)))
    known = [record for record in records if record.site in AVAILABLE_SITES]
    done = reparse_pages(database, archive, known, batch=batch, progress=progress)
    others = len(records) - len(known)
    return replace(done, pages=done.pages + others, failed=done.failed + others)


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
            chunk = records[first : first + batch]
            seen = [_read_again(archive, record, done, read, reader) for record in chunk]
            sightings = [sighting for sighting in seen if sighting]
            saved = database.run_write(partial(_save, sightings=sightings))
            done.pages += len(chunk)
            done.changed += sum(result != "unchanged" for result in saved)
            progress(len(chunk))
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
    """Close the incident of a portal whose adverts are complete again, and release them as new."""
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
    # Dated when it was fetched: what a better parser finds was there at that moment.
    return Sighting(listing, seen_at=record.fetched_at, job_id=None, page_digest=record.digest)


# Proposals of new selectors for drifted fields, from archived pages: no network, nothing is changed.

_LISTING = "listing."


class NothingToRepair(ValueError):
    """Why nothing can be proposed, in one sentence."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The proposals for each field that broke, the best first; none where nothing gives its value."""

    site: str
    proposals: Mapping[str, Sequence[Proposal]]
    others: Sequence[str]
    """What drifted but is not a field of an advert's page: a person must look."""


def propose_repair(database: Database, archive: PageArchive, site: str) -> Repair:
    """Proposals for a portal's open drift; `NothingToRepair` without one, or without pages to learn from."""
    incidents = database.run_read(partial(open_drift, site=site))
    if not incidents:
        raise NothingToRepair(
            f"{site}: nothing has drifted; `sale-sofia sites drift {site}` shows its fields"
        )
    findings = (finding for incident in incidents for finding in incident.details.get("findings", ()))
    drifted = sorted({finding["field"] for finding in findings})
    scraper = get_scraper(site)
    names = [name.removeprefix(_LISTING) for name in drifted if name.startswith(_LISTING)]
    fields = [name for name in names if name in scraper.config.listing.fields]
    others = [name for name in drifted if name.removeprefix(_LISTING) not in fields]
    pages = _pages(database, archive, site, incidents) if fields else []
    adverts = [
        _Reread(after, known_facts(scraper, before), known_facts(scraper, after)) for before, after in pages
    ]
    fields += [name for name in _lost(adverts) if name not in fields]
    return Repair(site, {name: propose(scraper, name, _samples(adverts, name)) for name in fields}, others)


class _Reread(NamedTuple):
    """An advert's current page, and its facts by field, before and now."""

    page: Page
    before: Mapping[str, Facts]
    now: Mapping[str, Facts]


def _lost(adverts: Sequence[_Reread]) -> list[str]:
    """Fields that too many adverts lost at once for edits, though too few to raise an alarm for each."""
    had = Counter(name for advert in adverts for name in advert.before)
    lost = Counter(name for advert in adverts for name in advert.before.keys() - advert.now.keys())
    return sorted(
        name
        for name, pages in lost.items()
        if pages >= max(REPAIR_LEAST_PAGES, had[name] / REPAIR_RIGHT_FOR_WRONG)
    )


def _samples(adverts: Sequence[_Reread], name: str) -> list[Sample]:
    """Samples of adverts that had the field before; first those that lost it, which show its new place."""
    had = [advert for advert in adverts if name in advert.before]
    had.sort(key=lambda advert: name in advert.now)
    return [Sample(advert.page, advert.before[name]) for advert in had]


def _pages(
    database: Database, archive: PageArchive, site: str, incidents: Sequence[Incident]
) -> list[tuple[Page, Page]]:
    opened = min(incident.opened_at for incident in incidents)
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
