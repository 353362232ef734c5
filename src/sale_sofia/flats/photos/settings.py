"""Limits of photos as evidence, and what people may set of them; each says its unit and why."""

from typing import Final

from pydantic import BaseModel

from sale_sofia.settings.types import decimal, switch, whole

WINDOW: Final = 0.91
"""Share of a side that a window of a picture has: a crop of 5 to 10 % is near the whole or near a window."""
ALIKE_WAVES: Final = 9
"""Of 64 bits of the wave hash, how many may differ between two copies of one photo."""
ALIKE_STEPS: Final = 12
"""The same for the hash of steps from each part to the one right of it."""
LEAST_CONTRAST: Final = 6.0
"""Levels of grey, of 255, by which the parts of a picture differ at least: a blank one says nothing."""

STOCK_FLATS: Final = 1
"""On more flats than this a picture is of a building, an agency or a drawing. With two, to forgive a wrong
floor, half as many links again were wrong where all flats of a new building show the same drawings."""
ENOUGH_SHARED: Final = 2
"""Photos in common after which no more of a pair are asked for."""
TRIED_IN_VAIN: Final = 3
"""Photos of each of two adverts after which, with none in common, no more are asked for."""
MOST_TRIES: Final = 3
"""How often a photo that could not be had now is asked for, one crawl after the other."""
LONGEST_ADDRESS: Final = 1000
"""Characters of a photo's address; longer ones are not asked for."""
MOST_REMEMBERED: Final = 100_000
"""Pictures, the newest, with which a new one is compared: 16 MB, and a seventh of a second for each."""
CODE_CHARACTERS: Final = 60
"""Of the name of what went wrong."""

THUMBNAIL_SIDE: Final = 320
"""Pixels of the longer side of a thumbnail that is kept."""
THUMBNAIL_QUALITY: Final = 70
"""Of its JPEG."""
OWN_PHOTO_SIDE: Final = 2_000
"""Pixels of the longer side of a photo of the household's own, as it is kept: all that a screen shows."""
OWN_PHOTO_QUALITY: Final = 82
"""Of its JPEG."""
OWN_PHOTOS_AT_ONCE: Final = 4
"""So many of the largest kind are sent in one form."""
DECODE_SECONDS: Final = 2.0
"""Computing on one picture; a photo of twelve megapixels takes a tenth of that."""
DECODE_MEMORY_BYTES: Final = 400_000_000
"""Beyond what the process begins with; 25 megapixels of a WebP take a hundred million."""


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
