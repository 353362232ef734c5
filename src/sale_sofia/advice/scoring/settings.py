"""How much each fact is worth in a score from 0 to 5. What a buyer may wish otherwise stands in a profile."""

from collections.abc import Mapping
from typing import Final

SCORING_VERSION: Final = 6
"""Raised when a score changes its meaning: what was stored is then scored anew."""
PROFILES_FOLDER: Final = "profiles"
"""Of the buyer's own, in DATA_DIR, and of the shipped one, beside this module."""
BEST: Final = 5.0
"""The most that a fact is worth."""
WEIGHTS: Final[Mapping[str, float]] = {
    "location": 25, "price": 20, "condition": 15, "layout": 15, "building": 10, "rental": 10, "extras": 5,
    "travel": 0, "nearby": 0,
}  # fmt: skip
"""Of 100; a profile may say others. Who names places of their own gives `travel` a weight, who asks what is
around a flat gives `nearby` one."""
PART_SHARES: Final[Mapping[str, Mapping[str, float]]] = {
    "location": {"tier": 0.6, "metro": 0.4},
    "price": {"place": 1.0},
    "condition": {"condition": 1.0},
    "layout": {"rooms": 0.35, "bathrooms": 0.25, "orientation": 0.2, "area_net": 0.2},
    "building": {"construction": 0.35, "year": 0.25, "act": 0.15, "floor": 0.25},
    "rental": {"yield": 1.0},
    "extras": {"parking": 0.4, "storage": 0.2, "balcony": 0.2, "view": 0.2},
    "travel": {"places": 1.0},
    "nearby": {"stop": 0.3, "shop": 0.3, "school": 0.15, "exam": 0.1, "road": 0.15},
}
"""How much of a criterion each of its facts is; what is not known of it is missing from the score."""

TIERS: Final[Mapping[str, float]] = {"best": 5.0, "good": 4.0, "fair": 2.5, "poor": 0.0}
"""What a neighbourhood of each of the buyer's tiers is worth."""
METRO_BEST_MINUTES: Final = 5.0
"""Up to here a walk to the metro is as good as none."""
METRO_WORST_MINUTES: Final = 25.0
"""From here on nobody walks it."""
TRAVEL_BEST_MINUTES: Final = 15.0
"""Up to here a place of the buyer's own is as good as next door, by public transport."""
TRAVEL_WORST_MINUTES: Final = 60.0
"""From here on nobody goes there every day."""
NEARBY_MINUTES: Final[Mapping[str, tuple[float, float]]] = {
    "stop": (12.0, 3.0), "shop": (20.0, 5.0), "school": (25.0, 5.0),
}  # fmt: skip
"""On foot: from the first on a walk is worth nothing, up to the second as good as none."""
EXAM_RANKS: Final = (120.0, 10.0)
"""From the first on the exam rank of the nearest school is worth nothing, up to the second all."""
ROAD_VALUES: Final = (0.0, 2.0, 4.0, 5.0)
"""Worth of a big road by its class, from beside the flat to far from it."""
PLACES_MOST: Final = 5
"""So many places of their own a buyer may name."""
PLACE_NAME_MOST: Final = 40
"""Characters of such a name: a line of a card."""
METRO_SAME_WORTH: Final = 1.0
"""A range of minutes whose ends are worth so much more or less says enough; a wider one says nothing."""

CONDITIONS: Final[Mapping[str, float]] = {"new": 5.0, "turnkey": 5.0, "renovated": 4.5, "good": 4.0}
"""Worth of a flat that can be lived in."""
RENOVATION_BEST: Final = 3.5
"""Worth when renovation costs next to nothing; it is nothing when it costs the whole renovation budget."""

ROOM_SHORT: Final = 2.5
"""Worth of one room less than wished; two fewer are worth nothing."""
BATHROOM_SHORT: Final = 2.0
"""Worth of one bathroom less than wished."""
SEPARATE_TOILET: Final = 1.5
"""Added when the toilet is apart."""
AREA_WORST_SHARE: Final = 0.6
"""So small a share of the wished net area is worth nothing."""

CONSTRUCTIONS: Final[Mapping[str, float]] = {
    "brick": 5.0, "monolith": 5.0, "concrete": 4.5, "beam": 3.5, "epk": 3.0, "pk": 3.0, "prefab": 2.0,
    "panel": 1.0,
}  # fmt: skip
YEARS: Final = ((2008, 5.0), (2000, 4.0), (1990, 3.0), (1978, 2.5), (1960, 2.0), (1945, 2.5), (0, 3.0))
"""Built in this year or later; after 1977 the earthquake code was stricter, before 1945 brick is solid."""
ACT_VALUES: Final = (0.0, 0.5, 1.5, 2.0, 3.5, 4.0, 5.0, 5.0)
"""Worth of each."""
GROUND_FLOOR: Final = 1.5
LAST_FLOOR: Final = 3.5
"""The most that a last floor is worth."""
CLIMB: Final = 4.0
"""Worth of a floor that needs no elevator, when there is none or it is not known."""

PARKING: Final[Mapping[str, float]] = {
    "garage": 5.0, "underground_garage": 5.0, "underground_space": 4.5, "outdoor_space": 3.5, "yard": 3.5,
    "street": 1.0,
}  # fmt: skip
PARKING_EXTRA: Final = 2.0
"""Worth of a place that has to be bought or rented beside the flat."""
PARKING_NOT_INCLUDED: Final = frozenset({"optional_purchase", "optional_rent"})
VIEW_FEATURES: Final = frozenset({"панорама", "гледка", "с гледка", "панорамна гледка"})
"""Features of a portal that are a view, whole and in small letters."""

ROOM_GROUPS: Final = 4
"""Flats with so many rooms or more are compared together."""
COMPARED_TYPES: Final = frozenset({"apartment", "maisonette"})
"""Whose prices and rents are compared."""
PRICE_MARKS: Final = 10
"""Into how many equal parts the prices of a neighbourhood are cut."""
YARDSTICK_TOLERANCE: Final = 0.03
"""Share by which a mark of a neighbourhood may move before its flats are scored anew."""
YIELD_WORST: Final = 2.0
YIELD_BEST: Final = 6.0
"""Gross yields in per cent a year between which the worth grows; Sofia's are mostly from 3 to 5."""
PROFILE_FILE_SECONDS: Final = 10.0
"""Longest wait for somebody else who is changing a profile; a change takes milliseconds."""
