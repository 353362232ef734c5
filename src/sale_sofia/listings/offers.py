"""What is offered: the deal, the type and the rooms, from words, numbers or pieces of an address."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sale_sofia.listings.text import match_key
from sale_sofia.listings.vocabulary import meaning, meanings

Facts = dict[str, Any]
Texts = tuple[str, ...]

_ROOM_COUNT = re.compile(r"(\d) ?-? ?ста(?:ен|йни)")


def offer(_name: str, texts: Texts) -> Facts:
    """Deal, type and rooms from words like "Продава 2-СТАЕН"."""
    key = match_key(texts[0])
    for phrase, what in meanings("deals").items():
        if key.startswith(phrase + " ") and (facts := property_type(_name, (key[len(phrase) + 1 :],))):
            return {"deal": what, **facts}
    return {}


def deal(_name: str, texts: Texts) -> Facts:
    """Whether it is for sale or for rent, from a word or a piece of an address."""
    return {"deal": meaning("deals", texts[0]) or meaning("deal_slugs", texts[0])}


def property_type(_name: str, texts: Texts) -> Facts:
    """Type and rooms from words like "3-стаен" or "Мезонет"."""
    found = meaning("types", _ROOM_COUNT.sub(r"\1-стаен", match_key(texts[0])))
    return {"property_type": found[0], "rooms": found[1]} if found else {}


def offer_code(_name: str, texts: Texts, *, codes: Mapping[Any, Sequence[str]]) -> Facts:
    """Deal and type from the number of a portal's category."""
    found = next((what for code, what in codes.items() if str(code) == texts[0]), None)
    return {"deal": found[0], "property_type": found[1]} if found else {}


def offer_slug(_name: str, texts: Texts) -> Facts:
    """Deal, type and rooms from pieces of an address like "apartament-za-prodazhba", "prodava" or "garaj"."""
    facts: Facts = {}
    for text in texts:
        facts |= _slug(text)
    return facts


def _slug(text: str) -> Facts:
    if found := meaning("type_slugs", text):
        return {"property_type": found[0], "rooms": found[1]}
    if what := meaning("deal_slugs", text):
        return {"deal": what}
    for words, what in meanings("deal_slugs").items():
        kind = meaning("type_slugs", text.removesuffix(f"-{words}")) if text.endswith(f"-{words}") else None
        if kind:
            return {"deal": what, "property_type": kind[0], "rooms": kind[1]}
    return {}
