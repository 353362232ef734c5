"""Who sells: an agency's name in one writing."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from sale_sofia.listings.text import match_key
from sale_sofia.properties.vocabulary import matching_words

_SIGNS: Final = re.compile(r"[\W_]+")
_REMEMBERED: Final = 65_536


@lru_cache(_REMEMBERED)
def agency_key(name: str | None, kind: str | None) -> str | None:
    """The name under which an agency is the same on every portal; nothing for private people."""
    if not name or kind == "private":
        return None
    words = _SIGNS.sub(" ", match_key(name)).split()
    own = [word for word in words if word not in matching_words().firm_words and not _is_phone(word)]
    return "".join(own or words) or None


def _is_phone(word: str) -> bool:
    """Part of a phone that stands in the name, as on bazar.bg."""
    return word.isdigit() and len(word) > 1


def agency_of(row: Mapping[str, Any]) -> str | None:
    """The agency of an advert; on an agency's own portal that agency, named or not."""
    named = agency_key(row.get("seller_name"), row.get("seller_kind"))
    own_portal = row["site"] in matching_words().own_portals
    return agency_key(row["site"].replace(".bg", ""), None) if own_portal and not named else named


@lru_cache(_REMEMBERED)
def house_key(agency: str | None) -> str:
    """The house an agency belongs to: its own name, or the first of its sisters'."""
    sisters = next((house for house in matching_words().sisters if agency in house), None)
    return min(sisters) if sisters else agency or ""
