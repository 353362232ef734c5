"""What the matcher knows of an advert: one fixed-size record, so that a million of them are plain arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.config.matching import PHONES_KEPT, PHOTOS_KEPT, REFERENCES_KEPT, TEXT_SKETCH

Array = NDArray[Any]

UNKNOWN_FLOOR: Final = -128
RECORD: Final = np.dtype(
    [
        ("identity", "u8"),  # the portal's own id
        ("site", "u8"),
        ("deal", "i1"),
        ("kind", "i1"),
        ("rooms", "i1"),
        ("floor", "i2"),
        ("floors", "i2"),
        ("year", "i2"),
        ("quarter", "u8"),
        ("area", "f8"),
        ("net_area", "f8"),
        ("price", "f8"),
        ("family", "u8"),
        ("agency", "u8"),
        ("phones", "u8", (PHONES_KEPT,)),
        ("references", "u8", (REFERENCES_KEPT,)),
        ("photos", "u8", (PHOTOS_KEPT,)),
        ("text", "u4", (TEXT_SKETCH,)),
    ]
)
"""Zero is "not known" in every field but the floor (`UNKNOWN_FLOOR`), area and price (NaN)."""

_NAMES: Final = RECORD.names or ()


@dataclass(frozen=True, slots=True)
class Adverts:
    """Adverts in the order of their ids, a column for each field of their records."""

    ids: NDArray[np.int64]
    columns: Mapping[str, Array]

    @classmethod
    def of(cls, ids: Iterable[int], records: Array) -> "Adverts":
        """The adverts of these ids; records in the same order."""
        given = np.fromiter(ids, np.int64)
        order = _rising(given)
        return cls(given[order], {name: np.ascontiguousarray(records[name][order]) for name in _NAMES})

    @classmethod
    def of_bytes(cls, ids: Sequence[int], packed: Sequence[bytes]) -> "Adverts":
        """The adverts of records that were stored as bytes."""
        return cls.of(ids, np.frombuffer(b"".join(packed), RECORD))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def rows_of(self, ids: Array) -> NDArray[np.int64]:
        """The places of these ids, which must all be here."""
        return np.searchsorted(self.ids, ids).astype(np.int64)

    def take(self, rows: Array) -> "Adverts":
        """The adverts at these places, which must rise."""
        return Adverts(self.ids[rows], {name: column[rows] for name, column in self.columns.items()})

    def with_changes(self, changed: "Adverts") -> "Adverts":
        """These adverts with those added, or put in the place of those with their ids."""
        replaced = np.isin(self.ids, changed.ids)
        kept = ~replaced if replaced.any() else slice(None)
        ids = np.concatenate((self.ids[kept], changed.ids))
        order = _rising(ids)
        columns = {
            name: np.concatenate((column[kept], changed[name]))[order]
            for name, column in self.columns.items()
        }
        return Adverts(ids[order], columns)

    def packed(self) -> Array:
        """Their records again, in the order of the ids."""
        records = np.zeros(len(self), RECORD)
        for name, column in self.columns.items():
            records[name] = column
        return records


def _rising(ids: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """What puts the ids in order; nothing, as a rule, and then a million records are not moved about."""
    return slice(None) if (np.diff(ids) > 0).all() else np.argsort(ids, kind="stable")
