"""An advert as the database holds it: plain JSON values, one for each field."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.model import Listing

VOLATILE_FIELDS: Final = frozenset({"url", "views", "updated_at"})
"""Fields that change without the advert changing: the newest value is stored, no change is recorded.

An address contains words of the title, views count visitors, and sellers renew the date without an edit.
"""
STORED_FIELDS: Final = tuple(name for name in Listing.model_fields if name != "kind")
PRICE_FIELDS: Final = ("price_eur", "price_bgn", "vat")
MOMENT_FIELDS: Final = ("posted_at", "updated_at")
LIST_FIELDS: Final = tuple(name for name, field in Listing.model_fields.items() if field.default == ())
_SHORT_DIGITS: Final = 32
_CONTENT_FIELDS: Final = tuple(
    sorted(
        name for name in STORED_FIELDS if name not in VOLATILE_FIELDS and name not in ("site", "external_id")
    )
)


class Change(NamedTuple):
    """One changed field."""

    field: str
    old: Any
    new: Any


def listing_fields(listing: Listing) -> dict[str, Any]:
    """The values to store, by column; equal adverts give equal values."""
    fields = dict(listing.__dict__)
    del fields["kind"]
    for name in LIST_FIELDS:
        fields[name] = list(fields[name])
    for name in MOMENT_FIELDS:
        if fields[name] is not None:
            fields[name] = moment_text(fields[name])
    return fields


def listing_from(fields: Mapping[Any, Any]) -> Listing:
    """The inverse of `listing_fields`."""
    values = {name: fields[name] for name in STORED_FIELDS}
    for name in MOMENT_FIELDS:
        if values[name] is not None:
            values[name] = moment(values[name])
    return Listing.model_validate(values)


def content_hash(fields: Mapping[str, Any], *, card: bool = False) -> str:
    """A short digest that changes if and only if a non-volatile field changes.

    Unknown and empty values are left out, so that adding a new field does not change it.
    """
    content = to_json(
        {name: value for name in _CONTENT_FIELDS if (value := fields.get(name)) is not None and value != []}
    )
    return shortened(hashlib.sha256(b"card " + content if card else content).hexdigest())


def shortened(digest: str) -> str:
    """The first 128 bits of a digest: enough to compare by, in half the room, as visits are very many."""
    return digest[:_SHORT_DIGITS]


def detect_all_changes(
    old: Mapping[Any, Any], new: Mapping[str, Any], skipped: frozenset[str] = VOLATILE_FIELDS
) -> list[Change]:
    """The fields of `new`, without the skipped ones, whose value in `old` differs; in the order of `new`."""
    return [
        Change(name, old.get(name), value)
        for name, value in new.items()
        if name not in skipped and old.get(name) != value
    ]


def moment_text(value: datetime) -> str:
    """ISO with Sofia's offset; a moment without an offset is on Sofia's clock."""
    at_home = value.replace(tzinfo=SOFIA) if value.tzinfo is None else value.astimezone(SOFIA)
    return at_home.isoformat()


def moment(text: str) -> datetime:
    """The moment that `moment_text` wrote, on Sofia's clock."""
    written = datetime.fromisoformat(text)
    value = written.replace(tzinfo=SOFIA)
    # In the hour that occurs twice in autumn, the offset tells which one it is.
    return value if value.utcoffset() == written.utcoffset() else value.replace(fold=1)
