"""Nothing is asked twice: an advert whose relative on another portal was opened is linked to it instead.

Portals of one family show one advert under one family id. Where a card says what the relative's page says,
the advert is not opened; where it says otherwise, or the relative is gone, it is. One that waits for a
relative that nobody has opened yet is looked at again when its turn comes. All is decided by stored rows, in
the transaction that stores the cards or claims the row: whoever crawls, and after whatever crash.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, bindparam, exists, select, update

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.settings import LINKED_AT_ONCE
from sale_sofia.crawl.tables import Code, Kin, jobs
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.jobs import Job, add_copy_counts
from sale_sofia.history.revisions import touch
from sale_sofia.history.settings import COPY_PRICE_EUR, LEAST_COPIES_CHECKED, RELATIVE_SEEN_SECONDS
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.listings.normalise import card_listing
from sale_sofia.settings.model import get_settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.websites.registry import AVAILABLE_SITES, get_scraper

_ON_CARD: Final = ("deal", "property_type", "rooms", "city", "neighbourhood", "area_sqm", "floor")
"""What a card and a page may both say, beside the price; what one does not say is not compared."""
_ON_PAGE: Final = (*_ON_CARD, "floors_total", "construction", "year_built")
_PRICE: Final = "price_eur"
_COLUMNS: Final = (
    "id", "site", "external_id", "family_id", "opened_at", "odd_visits", "copy_of", "revisit_at",
    "revisit_seconds", _PRICE,
)  # fmt: skip
_SELECT = select(*(listings.c[name] for name in (*_COLUMNS, *_ON_PAGE))).where(listings.c.closed_at.is_(None))
_SELECT_OWN = _SELECT.where(
    listings.c.site == bindparam("of_site"), listings.c.external_id.in_(bindparam("ids", expanding=True))
)
_SELECT_RELATIVES = _SELECT.where(
    listings.c.family_id.in_(bindparam("families", expanding=True)),
    listings.c.site != bindparam("of_site"),
    listings.c.gone_at.is_(None),
    listings.c.last_seen_at >= bindparam("since"),
).order_by(listings.c.id)
_SET_COPY = (
    update(listings)
    .where(listings.c.id == bindparam("of_id"))
    .values(copy_of=bindparam("relative"), revisit_at=bindparam("due"))
)
Told = Mapping[Any, Any]


@dataclass(frozen=True, slots=True)
class Kinship:
    """What an advert is to its relative."""

    own: RowMapping
    kin: Kin
    relative: RowMapping | None


def is_copying(site: str) -> bool:
    """Whether the portal's adverts may be copies of other portals'."""
    return get_scraper(site).config.copies


def of_cards(
    connection: Connection, site: str, shown: Collection[SeenCard], *, at: float
) -> dict[str, Kinship]:
    """What these adverts, whose cards were just stored, are to relatives that they may have."""
    own = _own(connection, site, [card.external_id for card in shown])
    told = {card.external_id: _told(site, card, own.get(card.external_id)) for card in shown}
    return _kinships(connection, site, own, told, at)


def _told(site: str, card: SeenCard, own: RowMapping | None) -> Told | None:
    """What the card says, as the store has it; nothing where its price was not believed."""
    if own is None or own["odd_visits"]:
        return None
    if own["opened_at"] is None:
        return own
    said = card_listing(site, card.url, card.external_id, card.said)
    if said is None or not _is_price(said.price_eur, own[_PRICE]):
        return None
    return {name: getattr(said, name) for name in (_PRICE, *_ON_CARD)}


def _own(connection: Connection, site: str, external_ids: Iterable[str]) -> dict[str, RowMapping]:
    found = connection.execute(_SELECT_OWN, {"of_site": site, "ids": sorted(external_ids)})
    return {row["external_id"]: row for row in found.mappings()}


def _kinships(
    connection: Connection,
    site: str,
    own: Mapping[str, RowMapping],
    told: Mapping[str, Told | None],
    at: float,
) -> dict[str, Kinship]:
    families = {row["family_id"] for row in own.values() if row["family_id"] is not None}
    relatives = _relatives(connection, site, families, at)
    found = {}
    is_expected = bool(families) and _is_family_crawled(connection, at)
    for external_id, row in own.items():
        relative = relatives.get(row["family_id"])
        if row["family_id"] is None or (relative is None and not is_expected):
            continue
        if kin := _kin(row, told[external_id], relative):
            found[external_id] = Kinship(row, kin, relative)
    return found


def _is_family_crawled(connection: Connection, at: float) -> bool:
    """Whether a portal whose adverts others copy was crawled lately, or is just now."""
    named = [site for site in AVAILABLE_SITES if "family_id" in get_scraper(site).config.listing.fields]
    origins = [site for site in named if not is_copying(site)]
    lately = exists().where(jobs.c.site.in_(origins), jobs.c.created_at >= at - RELATIVE_SEEN_SECONDS)
    return bool(connection.execute(select(lately)).scalar())


def _relatives(
    connection: Connection, site: str, families: Collection[str], at: float
) -> dict[str, RowMapping]:
    """The relative that counts of each family: an opened one, of a portal that has no copies, the oldest."""
    if not families:
        return {}
    asked = {"families": sorted(families), "of_site": site, "since": at - RELATIVE_SEEN_SECONDS}
    found: dict[str, RowMapping] = {}
    for row in connection.execute(_SELECT_RELATIVES, asked).mappings():
        best = found.get(row["family_id"])
        if best is None or _worth(row) > _worth(best):
            found[row["family_id"]] = row
    return found


def _worth(row: RowMapping) -> tuple[bool, bool]:
    return row["opened_at"] is not None, not is_copying(row["site"])


def _kin(own: RowMapping, told: Told | None, relative: RowMapping | None) -> Kin | None:
    if relative is None or relative["opened_at"] is None:
        return None if own["opened_at"] is not None or is_sample(own) else Kin.WAITS
    if told is None or relative["odd_visits"] or differences(told, relative, _ON_CARD):
        return Kin.DIFFERS
    return Kin.SAMPLE if is_sample(own) else Kin.LINKED


def is_sample(own: Told) -> bool:
    """Whether an advert is one of those that are opened though they are copies: always the same ones."""
    name = f"{own['site']} {own['external_id']}".encode()
    number = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big")
    return number % get_settings().copy_check_every == 0


def differences(told: Told, relative: Told, names: Sequence[str]) -> list[str]:
    """The facts of which both say something, and not the same; a price that only one tells is one of them."""
    other = [name for name in names if told[name] != relative[name]]
    other = [name for name in other if None not in (told[name], relative[name])]
    return other if _is_price(told[_PRICE], relative[_PRICE]) else [_PRICE, *other]


def _is_price(one: float | None, two: float | None) -> bool:
    return one == two or (one is not None and two is not None and abs(one - two) < COPY_PRICE_EUR)


def note_copies(connection: Connection, kinships: Iterable[Kinship], *, at: float) -> None:
    """Write down whose copies the linked adverts are, and that the others are nobody's.

    A copy that no search shows any more is looked at when an advert that was opened would be.
    """
    new = []
    for one in kinships:
        own = one.own
        relative = one.relative["id"] if one.relative and one.kin is Kin.LINKED else None
        if relative != own["copy_of"]:
            linked = relative is not None and own["opened_at"] is None
            due = at + own["revisit_seconds"] if linked else own["revisit_at"]
            new.append({"of_id": own["id"], "relative": relative, "due": due})
    if new:
        connection.execute(_SET_COPY, sorted(new, key=lambda row: row["of_id"]))
        touch(connection, [one["of_id"] for one in new])


# Rows that wait for a relative, when their turn comes.


def link_waiting(connection: Connection, job: Job, claims: Sequence[Claim], *, now: float) -> set[int]:
    """End those of these claims whose relative was opened meanwhile, and says the same; their numbers.

    Once there is one, more that wait are looked at with it: they are done for as much as a single page.
    """
    waiting = {claim.id: claim for claim in claims if claim.kin == Kin.WAITS}
    found = _link(connection, job, {number: one.url for number, one in waiting.items()}, now)
    linked = {number for number, kin in found.items() if kin is Kin.LINKED}
    frontier.finish(connection, [(waiting[number], "done", Code.LINKED, None) for number in sorted(linked)])
    first = [number for number, kin in found.items() if kin is Kin.DIFFERS and waiting[number].attempts == 1]
    add_copy_counts(connection, job.id, disagreed=len(first))
    if linked:
        pending = (rows.c.job_id == job.id, rows.c.state == "pending", rows.c.kin == Kin.WAITS)
        next_ones = select(rows.c.id, rows.c.url).where(*pending).order_by(rows.c.rank).limit(LINKED_AT_ONCE)
        more = {row.id: row.url for row in connection.execute(next_ones.with_for_update(skip_locked=True))}
        too = [number for number, kin in _link(connection, job, more, now).items() if kin is Kin.LINKED]
        connection.execute(update(rows).where(rows.c.id.in_(too)).values(state="done", code=Code.LINKED))
    return linked


def _link(connection: Connection, job: Job, urls: Mapping[int, str], now: float) -> dict[int, Kin]:
    """What the adverts of these rows are to their relatives by now; copies are linked."""
    if not urls:
        return {}
    listing_id = get_scraper(job.site).listing_id
    numbers = {listing_id(url) or "": number for number, url in urls.items()}
    own = _own(connection, job.site, numbers)
    told = {name: None if row["odd_visits"] else row for name, row in own.items()}
    found = _kinships(connection, job.site, own, told, now)
    linked = [one for one in found.values() if one.kin is Kin.LINKED]
    note_copies(connection, linked, at=now)
    add_copy_counts(connection, job.id, linked=len(linked))
    return {numbers[name]: one.kin for name, one in found.items()}


# What the sample finds: whether copies are copies.


def check_sample(
    connection: Connection, job_id: str, site: str, read: Sequence[Listing], *, now: float
) -> None:
    """Count those of these pages, opened as a sample, that say something else than their relatives' pages."""
    families = {listing.family_id: listing for listing in read if listing.family_id}
    relatives = _relatives(connection, site, set(families), now)
    differing = 0
    for family_id, listing in families.items():
        relative = relatives.get(family_id)
        if relative is not None and relative["opened_at"] is not None:
            differing += bool(differences(listing.model_dump(), relative, _ON_PAGE))
    add_copy_counts(connection, job_id, differing=differing)


def review_copies(connection: Connection, job: Job, *, now: float) -> None:
    """At a job's end: whether too many of the copies that were checked say something else."""
    if job.sampled < LEAST_COPIES_CHECKED:
        return
    if job.differing <= job.sampled * get_settings().copy_differing_share:
        close_incident(connection, IncidentKind.COPIES, job.site, now=now)
        return
    message = Said("trouble.copies", differing=job.differing, sampled=job.sampled)
    open_incident(connection, Trouble(IncidentKind.COPIES, job.site, message, job.id), now=now)
