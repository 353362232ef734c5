"""Noisy adverts for the matching benchmark: as a Parquet table, as records, and in a database."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from sqlalchemy import insert

from noisy_adverts import noisy_adverts
from sale_sofia.history.listing_rows import content_hash, listing_fields
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

SEED = 20261115
ROOM_WORDS = {1: "едностаен", 2: "двустаен", 3: "тристаен", 4: "четиристаен", 5: "многостаен"}
ROWS_AT_ONCE = 10_000


def write_parquet(path: Path, count: int) -> None:
    """A table with the columns of real search cards, and the true flat of each."""
    noisy = noisy_adverts(count, SEED)
    fields = noisy.fields
    known = {name: _known(fields[name]) for name in ("floor", "floors_total", "phones")}
    table = pa.table(
        {
            "site": fields["site"],
            "listing_key": fields["external_id"],
            "price": fields["price_eur"],
            "neighbourhood": fields["neighbourhood"],
            "property_type": [ROOM_WORDS[rooms] for rooms in fields["rooms"].tolist()],
            "area": fields["area_sqm"],
            "floor": known["floor"],
            "total_floors": known["floors_total"],
            "phone_hash": [None if one is None else f"{one:012x}" for one in known["phones"].to_pylist()],
            "agency_hash": fields["seller_name"],
            "snippet": fields["description"],
            "truth": noisy.truth,
        }
    )
    pq.write_table(table, path)


def read_truth(path: Path) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The true flat of each advert."""
    return pq.read_table(path, columns=["truth"])["truth"].to_numpy()  # type: ignore[no-any-return]


def fill_database(database: Database, rows: Sequence[dict[str, Any]], first_id: int) -> None:
    """Store these adverts as if a crawl had, but for its visits and price points."""
    initialize_database(database)
    for begin in range(0, len(rows), ROWS_AT_ONCE):
        with database.write() as connection:
            some = list(_stored(rows[begin : begin + ROWS_AT_ONCE], first_id + begin))
            connection.execute(insert(listings), some)
            touch(connection, [row["id"] for row in some])


def _stored(rows: Sequence[dict[str, Any]], first_id: int) -> Iterator[dict[str, Any]]:
    for place, row in enumerate(rows):
        fields = listing_fields(Listing.model_validate(row))
        moments = dict.fromkeys(("first_seen_at", "last_seen_at", "visited_at", "revisit_at"), 1.0)
        yield {
            **fields,
            **moments,
            "id": first_id + place,
            "content_hash": content_hash(fields),
            "revisit_seconds": 1.0,
        }


def _known(values: Any) -> pa.Array:  # noqa: ANN401 - any column
    return pa.array(values, mask=values == -1)
