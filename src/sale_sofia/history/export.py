"""Every advert, or every price, in one file: CSV, JSON lines or Parquet."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy import JSON, Boolean, ColumnElement, Float, Integer, Select, func, literal, or_, select

from sale_sofia.history.listing_rows import MOMENT_FIELDS, moment
from sale_sofia.history.market_events import REUSED
from sale_sofia.history.tables import WAS_ASKED, listings, price_points
from sale_sofia.listings.model import Listing
from sale_sofia.listings.text import without_controls
from sale_sofia.settings.files import atomic_write, load_arrow
from sale_sofia.settings.model import TIME_ZONE
from sale_sofia.storage.database import Database
from sale_sofia.storage.settings import EXPORTED_AT_ONCE

FIELDS: Final = tuple(Listing.model_fields)
FORMULA_SIGNS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")
"""First characters of texts that a spreadsheet may execute instead of showing."""

Record = dict[str, Any]
_KIND: Final = Listing.model_fields["kind"].default


def _chosen(columns: "_Columns") -> Select[Any]:
    return select(*(column.label(name) for name, column in columns.items()))


_Columns = Mapping[str, ColumnElement[Any]]
_ADVERTS: Final[_Columns] = {name: literal(_KIND) if name == "kind" else listings.c[name] for name in FIELDS}
# Adverts seen only on cards are mostly unknown: they are not exported.
_IS_READ: Final = listings.c.opened_at.is_not(None)
_STORED: Final = _chosen(_ADVERTS).where(listings.c.closed_at.is_(None), _IS_READ).order_by(listings.c.id)
_GENERATIONS: Final[_Columns] = {
    **_ADVERTS,
    "generation": listings.c.generation,
    "closed_at": listings.c.closed_at,
}
_IS_EARLIER: Final = listings.c.closed_reason == REUSED
_ALL: Final = (
    _chosen(_GENERATIONS)
    .where(or_(listings.c.closed_at.is_(None), _IS_EARLIER), _IS_READ)
    .order_by(listings.c.id)
)
_PRICES: Final[_Columns] = {
    **{name: listings.c[name] for name in ("site", "external_id", "generation", "url")},
    **{name: price_points.c[name] for name in ("seen_at", "price_eur", "price_bgn", "vat", "kind")},
}
_POINTS: Final = (
    _chosen(_PRICES)
    .join_from(listings, price_points)
    .order_by(listings.c.id, price_points.c.seen_at, WAS_ASKED, price_points.c.id)
)


def export_listings(
    db: Database, path: Path, *, all_generations: bool = False, rows_at_once: int = EXPORTED_AT_ONCE
) -> int:
    """Write every advert that was opened in its current state, gone ones too; returns how many there are.

    Of an id that its portal gave to another flat, the current flat; with `all_generations` the earlier ones
    too, and for each row two more columns: its `generation`, from 1 on, and `closed_at`, when the next one
    took the id, in seconds since 1970.

    The write is atomic. The suffix selects the format: `.csv` (lists as JSON, empty for unknown, one `'`
    before a text that a spreadsheet would take for a formula or that begins with one), `.jsonl` or
    `.parquet`. The columns are the fields of `Listing`, in order.

    Raises:
        ValueError: a suffix of no known format, or no such folder.
    """
    columns, rows = (_GENERATIONS, _ALL) if all_generations else (_ADVERTS, _STORED)
    return _export(db, path, columns, rows, rows_at_once)


def count_earlier(db: Database) -> int:
    """How many earlier flats under reused ids an export can hold."""
    return _count(db, _IS_EARLIER, _IS_READ)


def count_unread(db: Database) -> int:
    """How many adverts of now no export holds, as they were seen only on cards."""
    return _count(db, listings.c.closed_at.is_(None), listings.c.opened_at.is_(None))


def _count(db: Database, *which: ColumnElement[bool]) -> int:
    query = select(func.count()).select_from(listings).where(*which)
    return db.run_read(lambda connection: connection.execute(query).scalar_one())


def export_prices(db: Database, path: Path, *, rows_at_once: int = EXPORTED_AT_ONCE) -> int:
    """Write every price of every advert in the same way, each with its `kind`; returns how many there are.

    The kind says what moved (first, price, vat, currency), or that the price was only printed as an earlier
    one (printed_before). `seen_at` is in seconds since 1970.

    Raises:
        ValueError: a suffix of no known format, or no such folder.
    """
    return _export(db, path, _PRICES, _POINTS, rows_at_once)


_Batches = Iterable[list[Record]]
_Writer = Callable[[Path, _Columns, _Batches], int]


def _export(db: Database, path: Path, columns: _Columns, rows: Select[Any], rows_at_once: int) -> int:
    write = _WRITERS.get(path.suffix.lower())
    if write is None:
        raise ValueError(f"{path.name} ends in none of {', '.join(_WRITERS)}.")
    with atomic_write(path) as unfinished:
        return write(unfinished, columns, _batches(db, rows, rows_at_once))


def _batches(db: Database, query: Select[Any], rows_at_once: int) -> Iterator[list[Record]]:
    with db.read() as connection:
        rows = connection.execution_options(yield_per=rows_at_once).execute(query).mappings()
        for batch in rows.partitions():
            yield [{name: _harmless(value) for name, value in row.items()} for row in batch]


def _harmless(value: object) -> object:
    """The value without control characters, which a terminal would obey."""
    if isinstance(value, list):
        return [_harmless(element) for element in value]
    return without_controls(value) if isinstance(value, str) else value


def _write_csv(path: Path, columns: _Columns, batches: _Batches) -> int:
    def cell(value: object) -> object:
        if isinstance(value, str) and value.startswith(("'", *FORMULA_SIGNS)):
            return f"'{value}"
        return _json(value) if isinstance(value, list | bool) else value

    count = 0
    with path.open("x", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(columns)
        for batch in batches:
            table.writerows([cell(value) for value in record.values()] for record in batch)
            count += len(batch)
    return count


def _write_jsonl(path: Path, _columns: _Columns, batches: _Batches) -> int:
    count = 0
    with path.open("x", encoding="utf-8", newline="\n") as file:
        for batch in batches:
            file.writelines(f"{_json(record)}\n" for record in batch)
            count += len(batch)
    return count


def _write_parquet(path: Path, columns: _Columns, batches: _Batches) -> int:
    """Typed columns, moments as timestamps, one row group per batch."""
    pa = load_arrow()
    types = {JSON: pa.list_(pa.string()), Boolean: pa.bool_(), Float: pa.float64(), Integer: pa.int64()}

    def column_type(name: str) -> Any:  # noqa: ANN401 - Arrow has no types
        if name in MOMENT_FIELDS:
            return pa.timestamp("us", tz=TIME_ZONE)
        stored = columns[name].type
        return next((arrow for kind, arrow in types.items() if isinstance(stored, kind)), pa.string())

    schema = pa.schema([(name, column_type(name)) for name in columns])
    count = 0
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            rows = [
                row | {name: moment(row[name]) for name in MOMENT_FIELDS if row.get(name) is not None}
                for row in batch
            ]
            writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))
            count += len(batch)
    return count


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_WRITERS: Final[dict[str, _Writer]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
