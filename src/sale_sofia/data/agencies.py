"""Who sells: the sellers' side of every advert, and the phones of private people."""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, or_, select, update

from sale_sofia.config.matching import ROWS_AT_ONCE
from sale_sofia.data.listing_rows import content_hash
from sale_sofia.data.listing_schema import listing_changes, listings
from sale_sofia.data.property_schema import listing_sources

_SELLER = ("id", "site", "seller_kind", "seller_name", "phones", "gone_at", "closed_at")


def seller_rows(connection: Connection) -> Iterator[RowMapping]:
    """Of every matched advert: who sells it, where, and which property it is of."""
    chosen = select(*(listings.c[name] for name in _SELLER), listing_sources.c.property_id).join(
        listing_sources, listing_sources.c.listing_id == listings.c.id
    )
    ordered = chosen.order_by(listings.c.id).execution_options(yield_per=ROWS_AT_ONCE)
    yield from connection.execute(ordered).mappings()


def ended_private_phones(connection: Connection) -> dict[int, list[str]]:
    """The phones of each advert of private people that is no longer offered."""
    chosen = select(listings.c.id, listings.c.phones).where(_ended_private())
    return {number: phones or [] for number, phones in connection.execute(chosen.order_by(listings.c.id))}


def ended_phone_changes(connection: Connection) -> list[RowMapping]:
    """The changes of their phones, each with what they were and became."""
    chosen = select(listing_changes).join(listings, listings.c.id == listing_changes.c.listing_id)
    phones = chosen.where(listing_changes.c.field == "phones", _ended_private())
    return list(connection.execute(phones.order_by(listing_changes.c.id)).mappings())


def _ended_private() -> ColumnElement[bool]:
    ended = or_(listings.c.gone_at.is_not(None), listings.c.closed_at.is_not(None))
    return and_(listings.c.seller_kind == "private", ended)


def save_phones(connection: Connection, listing_id: int, phones: Sequence[str]) -> None:
    """Other phones for a stored advert, so that it is as if it had been read with them."""
    this_one = listings.c.id == listing_id
    row = connection.execute(select(listings).where(this_one)).mappings().one()
    hashed = content_hash({**row, "phones": list(phones)})
    connection.execute(update(listings).where(this_one).values(phones=list(phones), content_hash=hashed))


def save_phone_change(connection: Connection, change_id: int, old: object, new: object) -> None:
    """Other phones for a recorded change."""
    chosen = update(listing_changes).where(listing_changes.c.id == change_id)
    connection.execute(chosen.values(old=old, new=new))
