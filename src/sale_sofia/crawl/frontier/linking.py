"""No advert is fetched twice: one whose relative on another portal was opened is linked to it instead.

Portals of one family show one advert under one family id. Where the card agrees with the relative's page, the
advert is not opened; where they differ, or the relative is gone, it is. An advert whose relative is not
opened yet is checked again when its turn comes. Everything is decided by stored rows, in the transaction that
stores the cards or claims the row, so it holds for any runner and after a crash.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, exists, select, update

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.ranking import Facts
from sale_sofia.crawl.settings import LINKED_AT_ONCE
from sale_sofia.crawl.tables import EndCode, Kin, jobs
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
"""Fields that a card and a page may both have, beside the price; a missing one is not compared."""
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


@dataclass(frozen=True, slots=True)
class Kinship:
    """An advert, its relative, and how they are related."""

    own: RowMapping
    kin: Kin
    relative: RowMapping | None


def is_copying(site: str) -> bool:
    """Whether the portal's adverts may be copies of other portals'."""
    return get_scraper(site).config.copies


def of_cards(
    connection: Connection, site: str, cards: Collection[SeenCard], *, at: float
) -> dict[str, Kinship]:
    """The kinships of these adverts, whose cards were just stored."""
    own = _own(connection, site, [card.external_id for card in cards])
    facts = {card.external_id: _card_facts(site, card, own.get(card.external_id)) for card in cards}
    return _kinships(connection, site, own, facts, at)


def _card_facts(site: str, card: SeenCard, own: RowMapping | None) -> Facts | None:
    """The card's facts as the store has them; None where its price was not believed."""
    if own is None or own["odd_visits"]:
        return None
    if own["opened_at"] is None:
        return own
    listing = card_listing(site, card.url, card.external_id, card.said)
    if listing is None or not _is_same_price(listing.price_eur, own[_PRICE]):
        return None
    return {name: getattr(listing, name) for name in (_PRICE, *_ON_CARD)}


def _own(connection: Connection, site: str, external_ids: Iterable[str]) -> dict[str, RowMapping]:
    result = connection.execute(_SELECT_OWN, {"of_site": site, "ids": sorted(external_ids)})
    return {row["external_id"]: row for row in result.mappings()}


def _kinships(
    connection: Connection,
    site: str,
    own: Mapping[str, RowMapping],
    facts: Mapping[str, Facts | None],
    at: float,
) -> dict[str, Kinship]:
    families = {row["family_id"] for row in own.values() if row["family_id"] is not None}
    relatives = _relatives(connection, site, families, at)
    kinships = {}
    is_expected = bool(families) and _is_family_crawled(connection, at)
    for external_id, row in own.items():
        relative = relatives.get(row["family_id"])
        if row["family_id"] is None or (relative is None and not is_expected):
            continue
        if kin := _kin(row, facts[external_id], relative):
            kinships[external_id] = Kinship(row, kin, relative)
    return kinships


def _is_family_crawled(connection: Connection, at: float) -> bool:
    """Whether a portal whose adverts others copy was crawled recently, or is being crawled."""
    family = [site for site in AVAILABLE_SITES if "family_id" in get_scraper(site).config.listing.fields]
    origins = [site for site in family if not is_copying(site)]
    lately = exists().where(jobs.c.site.in_(origins), jobs.c.created_at >= at - RELATIVE_SEEN_SECONDS)
    return bool(connection.execute(select(lately)).scalar())


def _relatives(
    connection: Connection, site: str, families: Collection[str], at: float
) -> dict[str, RowMapping]:
    """The best relative of each family: opened before unopened, originals before copies, then the oldest."""
    if not families:
        return {}
    parameters = {"families": sorted(families), "of_site": site, "since": at - RELATIVE_SEEN_SECONDS}
    relatives: dict[str, RowMapping] = {}
    for row in connection.execute(_SELECT_RELATIVES, parameters).mappings():
        best = relatives.get(row["family_id"])
        if best is None or _worth(row) > _worth(best):
            relatives[row["family_id"]] = row
    return relatives


def _worth(row: RowMapping) -> tuple[bool, bool]:
    return row["opened_at"] is not None, not is_copying(row["site"])


def _kin(own: RowMapping, facts: Facts | None, relative: RowMapping | None) -> Kin | None:
    if relative is None or relative["opened_at"] is None:
        return None if own["opened_at"] is not None or is_sample(own) else Kin.WAITS
    if facts is None or relative["odd_visits"] or differences(facts, relative, _ON_CARD):
        return Kin.DIFFERS
    return Kin.SAMPLE if is_sample(own) else Kin.LINKED


def is_sample(own: Facts) -> bool:
    """Whether an advert is opened as a check although it is a copy; always the same for one advert."""
    name = f"{own['site']} {own['external_id']}".encode()
    number = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big")
    return number % get_settings().copy_check_every == 0


def differences(facts: Facts, relative: Facts, names: Sequence[str]) -> list[str]:
    """The fields that both have with different values; a price that only one has counts too."""
    pairs = ((name, facts[name], relative[name]) for name in names)
    differing = [name for name, own, other in pairs if None not in (own, other) and own != other]
    return differing if _is_same_price(facts[_PRICE], relative[_PRICE]) else [_PRICE, *differing]


def _is_same_price(own: float | None, other: float | None) -> bool:
    return own == other or (own is not None and other is not None and abs(own - other) < COPY_PRICE_EUR)


def note_copies(connection: Connection, kinships: Iterable[Kinship], *, at: float) -> None:
    """Store which adverts the linked ones are copies of, and that the others are not copies.

    A copy that no search shows any more is revisited at the time an opened advert would be.
    """
    updates = []
    for kinship in kinships:
        own = kinship.own
        relative = kinship.relative["id"] if kinship.relative and kinship.kin is Kin.LINKED else None
        if relative != own["copy_of"]:
            linked = relative is not None and own["opened_at"] is None
            due = at + own["revisit_seconds"] if linked else own["revisit_at"]
            updates.append({"of_id": own["id"], "relative": relative, "due": due})
    if updates:
        connection.execute(_SET_COPY, sorted(updates, key=lambda row: row["of_id"]))
        touch(connection, [row["of_id"] for row in updates])


# Rows that wait for a relative, when their turn comes.


def link_waiting(connection: Connection, job: Job, claims: Sequence[Claim], *, now: float) -> set[int]:
    """Finish the claims whose relative was opened meanwhile and agrees; returns their row ids.

    If there is one, further waiting rows are checked in the same transaction, for the cost of one page.
    """
    waiting = {claim.id: claim for claim in claims if claim.kin == Kin.WAITS}
    kins = _link(connection, job, {number: claim.url for number, claim in waiting.items()}, now)
    linked = {number for number, kin in kins.items() if kin is Kin.LINKED}
    frontier.finish(
        connection, [(waiting[number], "done", EndCode.LINKED, None) for number in sorted(linked)]
    )
    if differing := [number for number, kin in kins.items() if kin is Kin.DIFFERS]:
        # Noted with the row, which may come here again: it is counted once.
        noted = update(rows).where(rows.c.id.in_(differing), rows.c.kin == Kin.WAITS)
        count = connection.execute(noted.values(kin=Kin.DIFFERS)).rowcount
        add_copy_counts(connection, job.id, disagreed=count)
    if linked:
        pending = (rows.c.job_id == job.id, rows.c.state == "pending", rows.c.kin == Kin.WAITS)
        next_rows = select(rows.c.id, rows.c.url).where(*pending).order_by(rows.c.rank).limit(LINKED_AT_ONCE)
        more = {row.id: row.url for row in connection.execute(next_rows.with_for_update(skip_locked=True))}
        ids = [number for number, kin in _link(connection, job, more, now).items() if kin is Kin.LINKED]
        connection.execute(update(rows).where(rows.c.id.in_(ids)).values(state="done", code=EndCode.LINKED))
    return linked


def _link(connection: Connection, job: Job, urls: Mapping[int, str], now: float) -> dict[int, Kin]:
    """The current kin of the adverts of these rows, by row id; links the copies."""
    if not urls:
        return {}
    listing_id = get_scraper(job.site).listing_id
    numbers = {listing_id(url) or "": number for number, url in urls.items()}
    own = _own(connection, job.site, numbers)
    facts = {name: None if row["odd_visits"] else row for name, row in own.items()}
    kinships = _kinships(connection, job.site, own, facts, now)
    linked = [kinship for kinship in kinships.values() if kinship.kin is Kin.LINKED]
    note_copies(connection, linked, at=now)
    add_copy_counts(connection, job.id, linked=len(linked))
    return {numbers[name]: kinship.kin for name, kinship in kinships.items()}


# The sample: whether copies really are copies.


def check_sample(
    connection: Connection, job_id: str, site: str, read: Sequence[Listing], *, now: float
) -> None:
    """Count those of these pages, opened as a sample, that differ from their relatives' pages."""
    families = {listing.family_id: listing for listing in read if listing.family_id}
    relatives = _relatives(connection, site, set(families), now)
    differing = 0
    for family_id, listing in families.items():
        relative = relatives.get(family_id)
        if relative is not None and relative["opened_at"] is not None:
            differing += bool(differences(listing.model_dump(), relative, _ON_PAGE))
    add_copy_counts(connection, job_id, differing=differing)


def review_copies(connection: Connection, job: Job, *, now: float) -> None:
    """At a job's end: open an incident if too many of the checked copies differ, otherwise close it."""
    if job.sampled < LEAST_COPIES_CHECKED:
        return
    if job.differing <= job.sampled * get_settings().copy_differing_share:
        close_incident(connection, IncidentKind.COPIES, job.site, now=now)
        return
    message = Said("trouble.copies", differing=job.differing, sampled=job.sampled)
    open_incident(connection, Trouble(IncidentKind.COPIES, job.site, message, job.id), now=now)
