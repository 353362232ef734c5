"""Which properties are not what the rules saw last."""

from collections.abc import Collection
from hashlib import blake2b

from sqlalchemy import Connection, select

from sale_sofia.data.description_schema import description_reads
from sale_sofia.data.evaluations import statuses
from sale_sofia.data.listing_schema import listings
from sale_sofia.data.property_schema import listing_sources

_DIGEST_BYTES = 16
_COLUMNS = (
    listing_sources.c.property_id, listings.c.id, listings.c.content_hash,
    listings.c.price_eur, listings.c.vat, listings.c.gone_at, listings.c.closed_at,
    description_reads.c.read_at,
)  # fmt: skip


def property_digests(connection: Connection, more: Collection[tuple[int, str]]) -> dict[int, str]:
    """A digest of each property: another one means that there may be something to tell.

    `more` is what else rules go by, of each property.
    """
    hashes: dict[int, list[str]] = {}
    joined = listing_sources.join(listings).outerjoin(
        description_reads, description_reads.c.listing_id == listings.c.id
    )
    for row in connection.execute(select(*_COLUMNS).select_from(joined).order_by(listings.c.id)):
        hashes.setdefault(row[0], []).append(repr(tuple(row[1:])))
    for property_id, text in (*statuses(connection).items(), *sorted(more)):
        if property_id in hashes:
            hashes[property_id].append(text)
    return {one: _digest(parts) for one, parts in hashes.items()}


def properties_on(connection: Connection, sites: Collection[str]) -> frozenset[int]:
    """The properties that have an advert on one of these portals."""
    chosen = select(listing_sources.c.property_id).join(listings).where(listings.c.site.in_(sites))
    return frozenset(connection.scalars(chosen)) if sites else frozenset()


def _digest(parts: list[str]) -> str:
    return blake2b("\n".join(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()
