"""Adverts as a Parquet file: a type for every column, moments as moments."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from sqlalchemy import JSON, Boolean, Column, Float, Integer

from sale_sofia.history.listing_rows import MOMENT_FIELDS, moment
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import TIME_ZONE

_MOMENT: Final = pa.timestamp("us", tz=TIME_ZONE)
_TYPES: Final = (
    (JSON, pa.list_(pa.string())),
    (Boolean, pa.bool_()),
    (Float, pa.float64()),
    (Integer, pa.int64()),
)


def write_parquet(path: Path, batches: Iterable[list[dict[str, Any]]]) -> int:
    """Write the batches one after the other, each a row group, and say how many rows they have."""
    schema = _schema()
    count = 0
    with pq.ParquetWriter(path, schema) as writer:
        for batch in batches:
            writer.write_batch(pa.RecordBatch.from_pylist([_typed(row) for row in batch], schema=schema))
            count += len(batch)
    return count


def _schema() -> Any:  # noqa: ANN401 - Arrow has no types
    return pa.schema([(name, _column_type(name)) for name in Listing.model_fields])


def _column_type(name: str) -> Any:  # noqa: ANN401 - Arrow has no types
    if name in MOMENT_FIELDS:
        return _MOMENT
    column: Column[Any] | None = listings.c.get(name)
    fitting = (arrow for kind, arrow in _TYPES if column is not None and isinstance(column.type, kind))
    return next(fitting, pa.string())


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    return row | {name: moment(row[name]) for name in MOMENT_FIELDS if row[name] is not None}
