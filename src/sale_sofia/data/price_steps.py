"""The prices of many adverts at once, as small pictures of them need."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from sale_sofia.data.listing_schema import price_points
from sale_sofia.data.properties_state import portions


class PriceStep(NamedTuple):
    """A price since a moment, and what moved: first, price, vat or currency."""

    seen_at: float
    price_eur: float | None
    kind: str


def price_steps(connection: Connection, listing_ids: Collection[int]) -> Mapping[int, Sequence[PriceStep]]:
    """Every price of these adverts, the oldest first."""
    found: dict[int, list[PriceStep]] = defaultdict(list)
    table = price_points
    columns = select(table.c.listing_id, table.c.seen_at, table.c.price_eur, table.c.kind)
    for some in portions(sorted(set(listing_ids))):
        chosen = columns.where(table.c.listing_id.in_(some))
        for row in connection.execute(chosen.order_by(table.c.listing_id, table.c.seen_at, table.c.id)):
            found[row[0]].append(PriceStep(row[1], row[2], row[3]))
    return found


def previous_price(steps: Sequence[PriceStep]) -> float | None:
    """The price before the last one that was another; None when it never moved, or is not told."""
    for before, after in zip(reversed(steps[:-1]), reversed(steps[1:]), strict=True):
        if after.kind == "price":
            return before.price_eur
    return None
