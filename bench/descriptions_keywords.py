"""A plain dictionary of keywords, as such readers are usually written: the first word found decides."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_WORDS: Mapping[str, Sequence[tuple[str, Any]]] = {
    "deal": (("под наем", "rent"), ("продава", "sale"), ("продажба", "sale")),
    "rooms": (("едностаен", 1), ("двустаен", 2), ("тристаен", 3), ("четиристаен", 4), ("многостаен", 6)),
    "condition": (
        ("ремонтиран", "renovated"),
        ("ремонт", "renovated"),
        ("до ключ", "turnkey"),
        ("нов", "new"),
    ),
    "furnishing": (("необзаведен", "unfurnished"), ("обзаведен", "furnished")),
    "elevator": (("асансьор", True),),
    "construction": (("тухл", "brick"), ("панел", "panel"), ("епк", "epk")),
    "has_balcony": (("тераса", True), ("балкон", True)),
    "act": (("акт 16", "act16"), ("акт 15", "act15"), ("акт 14", "act14")),
    "metro_near": (("метро", True),),
}
_LISTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "heating": (
        ("тец", "district"), ("централно", "district"), ("газ", "gas"), ("ток", "electric"),
        ("климатик", "air_conditioner"),
    ),
    "orientation": (("север", "N"), ("юг", "S"), ("изток", "E"), ("запад", "W")),
    "parking_type": (("гараж", "garage"), ("паркомясто", "outdoor_space")),
    "storage": (("мазе", "basement"), ("таван", "attic"), ("склад", "closet")),
}  # fmt: skip
_NUMBERS: Mapping[str, re.Pattern[str]] = {
    "bedrooms": re.compile(r"(\d) спалн"),
    "bathrooms": re.compile(r"(\d) бан"),
    "balconies": re.compile(r"(\d) терас"),
    "floor": re.compile(r"(\d+)-?\w{0,2} ет"),
    "total_floors": re.compile(r"ет\w*\.? от (\d+)"),
    "area": re.compile(r"(\d+(?:[.,]\d+)?) ?кв"),
    "year": re.compile(r"((?:19|20)\d\d) ?г"),
}


def read_by_keywords(text: str) -> dict[str, Any]:
    """Each field by the first of its words that is in the text, and by the first number that fits."""
    lowered = text.lower()
    found: dict[str, Any] = {}
    for field, words in _WORDS.items():
        if named := [value for word, value in words if word in lowered]:
            found[field] = named[0]
    for field, pairs in _LISTS.items():
        if kinds := [value for word, value in pairs if word in lowered]:
            found[field] = list(dict.fromkeys(kinds))
    for field, pattern in _NUMBERS.items():
        if number := pattern.search(lowered):
            found[field] = float(number[1].replace(",", "."))
    return found
