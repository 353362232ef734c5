"""What a page says, in its own words, before anything is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class RawField:
    """The texts of one field as seen, and which link of its selector chain found them."""

    texts: tuple[str, ...]
    link: int
    parser: str
    arguments: Mapping[str, Any]
    confirmations: tuple[tuple[str, ...], ...] = ()
    """The same fact from other places of the page: where one disagrees, the value is not believed."""


class FieldSeen(NamedTuple):
    """How one field was found: by which link of its chain, and whether its parser made a value of it."""

    link: int
    read: bool


@dataclass(frozen=True, slots=True)
class RawListing:
    """One advert as its page prints it."""

    site: str
    url: str
    external_id: str
    fields: Mapping[str, RawField] = field(default_factory=dict)
