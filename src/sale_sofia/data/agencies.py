"""Who sells: the sellers' side of every advert, and the phones of private people."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, RowMapping, and_, or_, select, update

from sale_sofia.config.matching import ROWS_AT_ONCE
from sale_sofia.data.listing_rows import content_hash
from sale_sofia.data.property_schema import listing_sources
from sale_sofia.data.schema import listing_changes, listings

_SELLER = ("id", "site", "seller_kind", "seller_name", "phones", "gone_at", "closed_at")


def seller_rows(connection: Connection) -> Iterator[RowMapping]:
    """Of every matched advert: who sells it, where, and which property it is of."""
    chosen = select(*(listings.c[name] for name in _SELLER), listing_sources.c.property_id).join(
        listing_sources, listing_sources.c.listing_id == listings.c.id
    )
    ordered = chosen.order_by(listings.c.id).execution_options(yield_per=ROWS_AT_ONCE)
    yield from connection.execute(ordered).mappings()


def ended_private_adverts(connection: Connection) -> list[RowMapping]:
    """Adverts of private people that are no longer offered, whole."""
    ended = or_(listings.c.gone_at.is_not(None), listings.c.closed_at.is_not(None))
    chosen = select(listings).where(and_(listings.c.seller_kind == "private", ended))
    return list(connection.execute(chosen.order_by(listings.c.id)).mappings())


def save_phones(connection: Connection, row: RowMapping, phones: Sequence[str]) -> None:
    """Other phones for a stored advert, so that it is as if it had been read with them."""
    fields = {**row, "phones": list(phones)}
    chosen = update(listings).where(listings.c.id == row["id"])
    connection.execute(chosen.values(phones=list(phones), content_hash=content_hash(fields)))


def phone_changes(connection: Connection, listing_id: int) -> list[RowMapping]:
    """The changes of an advert's phones, each with what they were and became."""
    changes = select(listing_changes).where(
        listing_changes.c.listing_id == listing_id, listing_changes.c.field == "phones"
    )
    return list(connection.execute(changes).mappings())


def save_phone_change(connection: Connection, change_id: int, old: object, new: object) -> None:
    """Other phones for a recorded change."""
    chosen = update(listing_changes).where(listing_changes.c.id == change_id)
    connection.execute(chosen.values(old=old, new=new))
