"""Constants and settings of matching adverts to properties; each constant has its unit and reason."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.settings.types import decimal, switch, whole

ADVERTS_AT_ONCE: Final = 2_000
"""Adverts that are fetched from the database in one go: few enough to hold, many enough to be quick."""
MEMORY_SPARED: Final = 200_000_000
"""Bytes under a limit on the process's memory that flats do not take: of pages each thread needs 8 MB."""
MEMORY_LOOKED_AT: Final = 500
"""After so many flats it is looked at again; they need some 5 MB."""
PHOTOS_REMEMBERED: Final = 1
"""Photos of each flat in the table: a card shows one, and a flat's own page reads all of them."""
LISTS_REMEMBERED: Final = 20_000
"""Short lists ("south, east") that are decoded once; most adverts share a few hundred of them."""
PLACES_REMEMBERED: Final = 1_000
"""Places whose surroundings are put into columns once: more than Sofia has neighbourhoods."""
LEAST_SAVING_EUR: Final = 1.0
"""Euros by which an offer is cheaper than another; cents are the rounding of a portal."""
UNBUILT: Final = frozenset(
    {"planned", "before_act14", "act14", "before_act15", "act15", "before_act16", "act16"}
)
"""Acts that adverts of new buildings print, for which VAT may be due."""
NEW_CONDITIONS: Final = frozenset({"new", "turnkey", "bare"})
"""Conditions of flats that nobody has lived in, for which VAT may be due."""

ACTS: Final = (
    "planned", "before_act14", "act14", "before_act15", "act15", "before_act16", "act16", "commissioned",
)  # fmt: skip
"""How far a building is, from a plan to its use permit."""
FINISHED_YEARS: Final = 2
"""A building so many years older than its advert, and not said to be under construction, is finished."""
OLD_CONSTRUCTIONS: Final = frozenset({"panel", "epk", "pk", "beam"})
"""Nobody builds these any more: such a building is finished."""

MATCHER_VERSION: Final = 4
"""Raised when a fingerprint or comparison changes its meaning: stored adverts are then matched again."""

TEXT_SKETCH: Final = 32
"""Hashes stored of a description, the smallest of its word triples: enough to tell 0.4 from 0.7 alike."""
TEXT_KEYS: Final = 3
"""How many of these are looked up: two texts that are half alike share one in 9 of 10 cases."""
TEXT_LEAST: Final = 5
"""The fewest word triples of a text that counts."""
TEXT_CHARACTERS: Final = 2000
"""Characters of a description that are read: the rest is mostly the agency's own praise."""
PHONES_KEPT: Final = 3
"""Phones of an advert that are compared."""
REFERENCES_KEPT: Final = 2
"""Agency references of an advert that are compared."""
ADDRESSES_KEPT: Final = 2
"""Addresses of an advert that are compared."""
PHOTOS_KEPT: Final = 4
"""Photo names of an advert that are compared, the smallest by hash, so that equal sets give equal ones."""
PICTURES_KEPT: Final = 6
"""Pictures of an advert that are compared, of those that were fetched; the lowest numbers."""

AREA_TOLERANCE: Final = 0.03
"""Share by which the areas of two adverts of one flat may differ (98.7 % of re-posts agree exactly)."""
PRICE_TOLERANCE: Final = 0.12
"""Share by which their prices may differ where only facts speak (99.1 % of re-posts agree within 10 %)."""
PRICE_VETO: Final = 0.30
"""Share from which two prices contradict each other, whatever else agrees."""
NET_OF_GROSS: Final = (0.80, 0.90)
"""A net area is this share of the gross area of the same flat, and no contradiction."""
FLOORS_VETO: Final = 2
"""Storeys by which the heights of different buildings differ; one may come from counting the ground floor."""
YEAR_VETO: Final = 15
"""Years between two construction years that contradict each other."""
SAME_AREA_SQM: Final = 0.05
"""Square metres within which two areas are printed equal."""
HALF_AREA_SQM: Final = 0.5
"""Square metres within which one of two equal areas was rounded."""
SAME_PRICE: Final = 0.0005
"""Share within which two prices are printed equal."""
NEAR_PRICE: Final = 0.03
"""Share within which two prices of one flat usually are when they differ."""
LARGEST_AREA_SQM: Final = 50_000.0
"""Square metres; larger areas are treated as equal."""
NEAR_KM: Final = 2.0
"""Kilometres between the centres of quarters in which agents post the same flat."""

WINDOW_CAP: Final = 400
"""Adverts that one advert is compared with under one key; beyond it only those with the same numbers."""
CENTRES: Final = 50
"""Of those with the same numbers, each advert is compared with the first this many."""
PAIRS_AT_ONCE: Final = 200_000
"""Pairs compared in one step by each thread: about 100 MB."""
WORKERS: Final = 2
"""Threads that compare pairs: numpy works outside the interpreter's lock."""

EVIDENCE_FAMILIES: Final = 2
"""Independent kinds of evidence (numbers, place, words, contact, photos, reference) that a link needs."""
SURE: Final = 0.9999
"""Probability of exact evidence, and the highest shown: only a person is more certain."""
OFF_MARKET_DAYS: Final = 30
"""Days without any advert after which a flat counts as new on the market; agents who repost an advert so that
it looks new take less."""
SECRET_FILE: Final = "phone_secret"  # noqa: S105 - a file's name
"""File in DATA_DIR with the key for hashing phones."""
SECRET_BYTES: Final = 32
"""Length of that key."""
ROWS_AT_ONCE: Final = 500
"""Rows named in one SQL statement."""
LISTED: Final = 50
"""Properties that a list shows by default."""
TRIES: Final = 5
"""How often a run is retried because another one was quicker."""
FLATS_VERSION: Final = 4
"""Raised when the rules of merging change: all flats are then merged again, as by each release."""
FLATS_SAVED_AT_ONCE: Final = 1_000
"""Flats merged and stored in one transaction: a crawl that writes meanwhile waits no longer than that."""
MERGED_TOLD: Final = 5_000
"""Flats after which progress is reported: some seconds."""
SAVED_AT_ONCE: Final = 20_000
"""Adverts whose properties are compared with what is stored, and stored, in one step."""
INCIDENT_SITE: Final = "properties"
"""The name of incidents of matching, in place of a portal's."""
INCIDENT_EXAMPLES: Final = 5
"""Properties that an incident's sentence names."""

# Facts that check each other.

MANY_ROOMS: Final = 5
"""Portals count rooms up to here: five means five or more."""
COMPARED_TYPES: Final = frozenset({"apartment", "maisonette", "studio"})
"""Types whose texts are compared with the portal's fields; texts of houses and shops mention many things."""
STOREYS_APART: Final = 2
"""Storeys by which a text contradicts the portal; one may come from counting the ground floor."""
YEARS_APART: Final = 3
"""Years by which a text contradicts the portal; a building is begun, finished and used in different ones."""
TEXT_AREA: Final = (0.5, 0.75, 1.34, 2.0)
"""A text's area contradicts the portal's where it is between the first two shares of it, or the last two.

Nearer it is the net area beside the gross one; farther it is that of a room or a yard.
"""
SAME_AREA: Final = 0.02
"""Share within which a number in a text is the portal's area."""
BUILT_BETWEEN: Final[Mapping[str, tuple[int, int]]] = {
    "panel": (1957, 2000), "epk": (1965, 2010), "pk": (1960, 2010),
}  # fmt: skip
"""Years in which such buildings were finished in Bulgaria, generously: the first panels stood in 1958."""
FINISHED_ACTS: Final = frozenset({"act16", "commissioned"})
UNFINISHED_ACTS: Final = frozenset({"planned", "before_act14", "act14", "before_act15"})
"""Stages of a building that nobody may use yet; "before act 16" may be some weeks out of date."""
OUTSIDE_METRES: Final = 1000.0
"""Coordinates so far outside the named neighbourhood contradict it; sellers stretch its borders."""
OUTSIDE_CENTRE_METRES: Final = 4000.0
"""The same from the centre of a place whose borders are not known: some end three kilometres from it."""
VAGUE_COORDINATES: Final = frozenset({"olx.bg"})
"""Portals that print the middle of a circle of a kilometre or more, never the flat's own place."""
SHARED_POINT_FLATS: Final = 5
"""So many flats at the very same point are at a stock point of an agency or a portal, not at their own."""
SHARED_POINT_DIGITS: Final = 5
"""Decimals of a degree by which two points are the same: about a metre."""
STATIONS_NAMED: Final = 3
"""Metro stations shown for a flat whose place is exact."""
METRES_PER_MINUTE: Final = 80.0
"""Walking pace as portals and sellers count it."""
METRO_MINUTES_APART: Final = 10.0
"""Minutes by which the walk to the metro must be longer than an advert says to contradict it."""
MARKET_LEAST: Final = 30
"""Fewest adverts of a kind in a neighbourhood that give plausible prices; with fewer, the town's are used."""
MARKET_QUARTERS: Final = 3.0
"""A plausible price per m² is at most this many interquartile ranges outside its neighbourhood's quartiles.

Or ranges of the town, if wider. On a logarithmic scale, so that low and high prices are treated alike.
"""
MARKET_EDGE: Final = 100
"""Prices between the lowest and the highest 1 in so many of the town are plausible too."""
MARKET_TOLERANCE: Final = 0.03
"""Share by which a plausible range may move before it is stored again."""


class PropertySettings(BaseModel, defer_build=True):
    """Settings of matching adverts to properties and of agencies."""

    match_after_crawl: bool = switch(
        default=True, sentence="Match new adverts to properties when a crawl ends."
    )
    match_review_probability: float = decimal(
        0.5,
        0.01,
        1,
        "probability",
        "From here on two adverts are shown to the buyer as perhaps one property.",
    )
    match_link_probability: float = decimal(
        0.9, 0.5, 1, "probability", "From here on two adverts are one property; not below the review's."
    )
    property_alarm_adverts: int = whole(
        10, 2, 10_000, "adverts", "A property with more adverts than this is an incident."
    )
    private_seller_flats: int = whole(
        10, 2, 10_000, "properties", "A private seller with so many flats is marked as an agency in disguise."
    )
    private_phones_kept: bool = switch(
        default=False,
        sentence="Keep phones of private sellers when their advert has ended; off: only a hash.",
    )

    @field_validator("match_link_probability")
    @classmethod
    def _not_below_review(cls, link: float, info: ValidationInfo) -> float:
        review = info.data.get("match_review_probability", 0.0)
        if link < review:
            raise ValueError(f"not less than MATCH_REVIEW_PROBABILITY, which is {review}")
        return link


# Photos: which are requested, how two pictures are compared, and how much is stored.


WINDOW: Final = 0.91
"""Share of a side that a window covers: a crop of 5 to 10 % is near the whole or near a window."""
ALIKE_WAVES: Final = 9
"""How many of the 64 bits of the pHash may differ between two copies of one photo."""
ALIKE_STEPS: Final = 12
"""The same for the dHash."""
LEAST_CONTRAST: Final = 6.0
"""The least deviation of the parts of a picture, in levels of grey of 255: blank ones are ignored."""

STOCK_FLATS: Final = 1
"""On more flats than this a picture shows a building, an agency or a drawing. With two, to tolerate a wrong
floor, wrong links rose by half where all flats of a new building show the same drawings."""
ENOUGH_SHARED: Final = 2
"""Photos in common after which no more of a pair are requested."""
TRIED_IN_VAIN: Final = 3
"""Photos of each of two adverts after which, with none in common, no more are requested."""
MOST_TRIES: Final = 3
"""How often a photo that failed is requested, once in each crawl."""
LONGEST_ADDRESS: Final = 1000
"""Characters of a photo's URL; longer ones are not requested."""
MOST_REMEMBERED: Final = 100_000
"""Pictures, the newest, with which a new one is compared: 16 MB, and a seventh of a second for each."""
CODE_CHARACTERS: Final = 60
"""Characters stored of the name of an error."""

THUMBNAIL_SIDE: Final = 320
"""Pixels of the longer side of a stored thumbnail."""
THUMBNAIL_QUALITY: Final = 70
"""Of its JPEG."""
OWN_PHOTO_SIDE: Final = 2_000
"""Pixels of the longer side of a stored photo of the household's own: all that a screen shows."""
OWN_PHOTO_QUALITY: Final = 82
"""Of its JPEG."""
OWN_PHOTOS_AT_ONCE: Final = 4
"""The most of the largest photos in one form."""
DECODE_SECONDS: Final = 2.0
"""CPU time for one picture; a photo of twelve megapixels takes a tenth of that."""
DECODE_MEMORY_BYTES: Final = 400_000_000
"""Memory beyond what the process starts with; 25 megapixels of a WebP take a hundred million."""


class PhotoSettings(BaseModel, defer_build=True):
    """Settings of photos as evidence."""

    photo_enabled: bool = switch(
        default=True,
        sentence="Fetch photos of adverts that may be one flat, and of shortlisted ones, when a crawl ends.",
    )
    photo_per_advert: int = whole(6, 1, 30, "photos", "Photos of one advert that are asked for at most.")
    photo_max_bytes: int = whole(
        3_000_000, 1000, 100_000_000, "bytes", "Largest photo that is read; a larger one is refused."
    )
    photo_max_pixels: int = whole(
        25_000_000, 1000, 1_000_000_000, "pixels", "Most pixels of a photo; one with more is not unpacked."
    )
    own_photo_max_bytes: int = whole(
        15_000_000, 1000, 100_000_000, "bytes", "Largest photo of your own that the dashboard takes."
    )
    own_photo_max_pixels: int = whole(
        60_000_000, 1000, 1_000_000_000, "pixels", "Most pixels of a photo of your own."
    )
    photo_rate_per_minute: float = decimal(
        30, 0.1, 60_000, "requests per minute", "Most requests to one host of photos."
    )
    photo_budget: float = decimal(
        0.3, 0, 100, "requests per advert", "Photos asked for in all, as a share of all adverts ever stored."
    )
    photo_seconds: float = decimal(
        600, 1, 86_400, "seconds", "Longest time for photos after a crawl; the next crawl goes on."
    )
    photo_doubt_probability: float = decimal(
        0.05, 0, 1, "probability", "From here on two adverts that are not linked are in doubt: photos decide."
    )
    photo_thumbnails: bool = switch(
        default=False, sentence="Keep a small copy of each photo; off: only what tells it from others."
    )
