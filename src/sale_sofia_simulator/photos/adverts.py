"""What the photos of an advert show: which flat each is of is known, and so is what became of it.

Whoever sells a flat as the second, in his own words, takes the photos he finds, and packs, crops, marks or
mirrors them. Some pictures are of no flat: an agency's sign, and a building that stands for many flats.
"""

from random import Random
from typing import Final

from sale_sofia_simulator.model import Advert, BazarAdvert
from sale_sofia_simulator.photos.drawing import Photo

_SHARE_REUSED: Final = 0.85
"""Of those who sell the same flat in their own words: how many take the photos they find."""
_SHARE_MIRRORED: Final = 0.3
_SHARE_AGENCY: Final = 0.15
_SHARE_BUILDING: Final = 0.10
_OWN_SHOTS: Final = 100
"""From this number on photos of a flat are another photographer's."""


def photos_of(advert: Advert, count: int) -> list[Photo]:
    """What the photos of an advert show, in their order; always the same for the same advert."""
    rng = Random(f"photos:{advert.site}:{advert.external_id}")
    place = f"{advert.home.place.district}:{advert.home.construction}"
    if advert.home.age.form == "will":  # nothing to photograph yet
        return [Photo(f"building:{place}:{number}") for number in range(count)]
    photos = _rooms(rng, advert, count)
    for share, scene in (
        (_SHARE_AGENCY, f"agency:{advert.seller.name or advert.seller.user}"),
        (_SHARE_BUILDING, f"building:{place}"),
    ):
        if photos and rng.random() < share:
            photos[rng.randrange(min(3, len(photos)))] = Photo(scene)
    return photos


def _rooms(rng: Random, advert: Advert, count: int) -> list[Photo]:
    flat, shots, in_mirror = advert.home.number, list(range(count)), False
    if isinstance(advert, BazarAdvert) and advert.native:
        if rng.random() < _SHARE_REUSED:  # some are left out, the rest keeps its order
            shots, in_mirror = sorted(rng.sample(range(count + 2), count)), rng.random() < _SHARE_MIRRORED
        else:
            shots = [_OWN_SHOTS + shot for shot in shots]
    treated = advert.site != "imot.bg"
    return [Photo(f"flat:{flat}:{shot}", rng.getrandbits(32) if treated else 0, in_mirror) for shot in shots]
