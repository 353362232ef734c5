"""The photos of a flat that a browser may fetch."""

from base64 import b64encode
from typing import Final
from urllib.parse import urlsplit

from sale_sofia.app import safe
from sale_sofia.app.own_hosts import is_own
from sale_sofia.insights.flats import Flat

_HOUSE: Final = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">
<rect width="400" height="300" fill="#dfe7ee"/>
<path d="M60 230V130L140 80l80 50v100z" fill="#9fb6cc"/><path d="M220 230V100h120v130z" fill="#7f9ab5"/>
<path d="M0 230h400v70H0z" fill="#b7c9a8"/></svg>"""
DRAWING: Final = f"data:image/svg+xml;base64,{b64encode(_HOUSE.encode()).decode()}"


def shown_photos(flat: Flat) -> list[str]:
    """Addresses a browser may be sent to; of a flat that a simulator made up a drawing for each photo.

    Its photos have addresses as the real portal would give them and nothing behind: nobody is asked for them.
    """
    if any(_is_simulated(advert.url) for advert in flat.adverts):
        return [DRAWING for _ in flat.photo_urls]
    return [good for url in flat.photo_urls if (good := safe.address(url))]


def _is_simulated(url: str) -> bool:
    good = safe.address(url)
    return good is not None and is_own(urlsplit(good).netloc)
