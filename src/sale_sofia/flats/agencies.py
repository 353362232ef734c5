"""Sellers: one entry for each agency, whatever its name on each portal, and one for each private seller."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, and_, or_, select, update

from sale_sofia.flats.matching.fingerprint import HASHED_PHONE, agency_of, hashed_phone, load_secret
from sale_sofia.flats.merging import is_offered
from sale_sofia.flats.settings import ROWS_AT_ONCE
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.listing_rows import content_hash
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listing_changes, listings
from sale_sofia.settings.model import Settings

_SELLER = ("id", "site", "seller_kind", "seller_name", "phones", "gone_at", "closed_at")
Row = Mapping[Any, Any]


@dataclass(slots=True)
class Agency:
    """A seller with all its adverts."""

    key: str
    private: bool
    names: Counter[str] = field(default_factory=Counter)
    phones: Counter[str] = field(default_factory=Counter)
    portals: set[str] = field(default_factory=set)
    properties: set[int] = field(default_factory=set)
    adverts: int = 0
    offered: int = 0
    mark: str | None = None
    """Why a private seller is probably an agency."""

    @property
    def name(self) -> str:
        """The name printed most often; for a private seller the phone."""
        return min(self.names, key=lambda name: (-self.names[name], name)) if self.names else self.key

    @property
    def reposts(self) -> int:
        """Adverts beyond the first of each property."""
        return self.adverts - len(self.properties)

    def add(self, row: Row) -> None:
        """Count one more advert."""
        self.names.update([row["seller_name"]] if row["seller_name"] else [])
        self.phones.update(row["phones"])
        self.portals.add(row["site"])
        self.properties.add(row["property_id"])
        self.adverts += 1
        self.offered += is_offered(row)

    def as_json(self) -> dict[str, Any]:
        """The agency as plain JSON values."""
        return {
            "name": self.name,
            "names": sorted(self.names),
            "private": self.private,
            "phones": sorted(self.phones),
            "portals": sorted(self.portals),
            "adverts": self.adverts,
            "offered": self.offered,
            "properties": len(self.properties),
            "reposts": self.reposts,
            "mark": self.mark,
        }


def list_agencies(connection: Connection, settings: Settings) -> list[Agency]:
    """All sellers, those with the most adverts first; private ones with too many flats are marked."""
    chosen = select(*(listings.c[name] for name in _SELLER), listing_sources.c.property_id).join(
        listing_sources, listing_sources.c.listing_id == listings.c.id
    )
    ordered = chosen.order_by(listings.c.id).execution_options(yield_per=ROWS_AT_ONCE)
    sellers = gather(connection.execute(ordered).mappings())
    _mark(sellers, settings.private_seller_flats)
    return sorted(sellers, key=lambda seller: (-seller.adverts, seller.key))


def gather(rows: Iterable[Row]) -> list[Agency]:
    """Sellers with their adverts: agencies by name, private people by phone; other adverts are skipped."""
    sellers: dict[tuple[str, bool], Agency] = {}
    for row in rows:
        private = row["seller_kind"] == "private"
        agency = None if private else agency_of(row)
        for key in row["phones"] if private else [agency] if agency else []:
            sellers.setdefault((key, private), Agency(key, private)).add(row)
    return list(sellers.values())


def _mark(sellers: Sequence[Agency], many: int) -> None:
    of_agencies: dict[str, list[str]] = defaultdict(list)
    for seller in sellers:
        for phone in () if seller.private else seller.phones:
            of_agencies[phone].append(seller.name)
    for seller in sellers:
        if seller.private and len(seller.properties) >= many:
            seller.mark = f"sells {len(seller.properties)} properties"
        elif seller.private and (names := of_agencies.get(seller.key)):
            seller.mark = f"the phone of {', '.join(sorted(names))}"


# Phones of private people are stored while their advert is offered; afterwards a hash that still matches.


def forget_private_phones(connection: Connection, settings: Settings) -> int:
    """Hash the phones of ended private adverts, also in their history; returns the number of adverts."""
    if settings.private_phones_kept:
        return 0
    secret = load_secret(settings.data_dir)

    def hashed(phones: Sequence[str]) -> list[str]:
        return [phone if phone.startswith(HASHED_PHONE) else hashed_phone(secret, phone) for phone in phones]

    ended = or_(listings.c.gone_at.is_not(None), listings.c.closed_at.is_not(None))
    private = and_(listings.c.seller_kind == "private", ended)
    adverts = select(listings.c.id, listings.c.phones).where(private).order_by(listings.c.id)
    done = set()
    for listing_id, phones in connection.execute(adverts).all():
        if hashed(phones or []) == (phones or []):
            continue
        # Locked and read again, as a crawl may just have seen that it is back.
        still = select(listings.c.phones).where(listings.c.id == listing_id, private).with_for_update()
        if last := connection.scalar(still):
            save_phones(connection, listing_id, hashed(last))
            done.add(listing_id)
    changes = select(listing_changes).join(listings, listings.c.id == listing_changes.c.listing_id)
    of_phones = changes.where(listing_changes.c.field == "phones", private).order_by(listing_changes.c.id)
    for change in connection.execute(of_phones).mappings().all():
        old, new = change["old"] or [], change["new"] or []
        if hashed([*old, *new]) != [*old, *new]:
            statement = update(listing_changes).where(listing_changes.c.id == change["id"])
            connection.execute(statement.values(old=hashed(old), new=hashed(new)))
            done.add(change["listing_id"])
    return len(done)


def save_phones(connection: Connection, listing_id: int, phones: Sequence[str]) -> None:
    """Replace the phones of a stored advert, as if it had been read with them."""
    is_advert = listings.c.id == listing_id
    row = connection.execute(select(listings).where(is_advert)).mappings().one()
    hashed = content_hash({**row, "phones": list(phones)})
    connection.execute(update(listings).where(is_advert).values(phones=list(phones), content_hash=hashed))
    touch(connection, [listing_id])
