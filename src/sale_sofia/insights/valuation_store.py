"""The fair-price model in a file of numbers under DATA_DIR; what it is worth stands in the database.

Reading the file runs nothing, and a file whose digest the database does not know is not read at all.
"""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, RowMapping, delete, insert, select

from sale_sofia.config.valuation import FOLDS, MODEL_FILE, MODEL_FORMAT
from sale_sofia.config.whole_files import write_whole
from sale_sofia.data.insight_schema import valuation_models
from sale_sofia.insights.valuation_forest import Forest
from sale_sofia.insights.valuation_model import Model, Part

_BELONGS: Final = "{}_{}"
"""The name of an array of one of the forests."""


@dataclass(frozen=True, slots=True)
class Current:
    """A model that can be asked, since when it is there, and how well it tells prices."""

    model: Model
    made_at: float
    report: dict[str, Any]


def write_file(data_dir: Path, model: Model) -> str:
    """Put the model into its file, whole or not at all; its digest."""
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **_arrays(model))
    write_whole(data_dir / MODEL_FILE, packed.getvalue())
    return hashlib.sha256(packed.getvalue()).hexdigest()


def note_model(connection: Connection, digest: str, *, made_at: float, flats: int, report: Any) -> None:  # noqa: ANN401 - JSON
    """Remember what the model in the file with this digest is worth; a second fit may give the same file."""
    connection.execute(delete(valuation_models).where(valuation_models.c.digest == digest))
    connection.execute(
        insert(valuation_models).values(
            digest=digest, format=MODEL_FORMAT, made_at=made_at, flats=flats, report=report
        )
    )


def stored_model(
    connection: Connection, data_dir: Path, *, made_since: float, least_flats: int
) -> Current | None:
    """The model of the file, if the database knows it, is of today's form, new and of enough flats."""
    try:
        packed = (data_dir / MODEL_FILE).read_bytes()
    except FileNotFoundError:
        return None
    row = _row(connection, hashlib.sha256(packed).hexdigest())
    if row is None or row["format"] != MODEL_FORMAT:
        return None
    if row["made_at"] < made_since or row["flats"] < least_flats:
        return None
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return Current(_model(dict(arrays)), row["made_at"], row["report"])


def _row(connection: Connection, digest: str) -> RowMapping | None:
    found = select(valuation_models).where(valuation_models.c.digest == digest)
    return connection.execute(found).mappings().first()


def _arrays(model: Model) -> dict[str, NDArray[Any]]:
    named: dict[str, NDArray[Any]] = {"ids": model.ids, "target": model.target}
    for number, part in enumerate(model.parts):
        own = {**part.forest.arrays(), "known": part.known, "margins": np.array(part.margins)}
        named |= {_BELONGS.format(number, name): values for name, values in own.items()}
    return named


def _model(arrays: dict[str, NDArray[Any]]) -> Model:
    return Model(arrays["ids"], arrays["target"], tuple(_part(arrays, number) for number in range(FOLDS)))


def _part(arrays: dict[str, NDArray[Any]], number: int) -> Part:
    own = {name.partition("_")[2]: values for name, values in arrays.items() if name.startswith(f"{number}_")}
    below, above = own["margins"].tolist()
    return Part(Forest.of_arrays(own), own["known"], (below, above))
