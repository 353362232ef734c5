"""The coordinates of real pages beside the neighbourhoods they name, each looked at by hand."""

from pathlib import Path

from sale_sofia.advice.valuation.trial import NOWHERE
from sale_sofia.crawl.reparse import read_file
from sale_sofia.flats.contradictions import merge_flat
from sale_sofia.flats.flat import Flat
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import available_sites
from shared import needs_real_pages, real_pages

SOUND = {
    "bazar.bg": "52665788 53465862 53779264 54071979 54105608 54108077",
    "olx.bg": "147309771 147374319 147469879 147539793 147547132 137393111",  # the last is in Русе
    "imoti.net": "1426481",
    "luximmo.bg": "45320 37942 43445 45719 43316 44494",
    "suprimmo.bg": "132801 109946 128088 130883 126389 132154",
}
CONTRADICTING = {"olx.bg": "146249522 147540776 147375869"}
"""All three at 42.696, 23.326, which stands for Sofia, and named Овча купел, Сердика and Изток."""


def flat_of(site: str, path: Path, url: str) -> Flat | None:
    fields = read_file(get_scraper(site), path, url)
    if fields["kind"] != "listing" or fields["lat"] is None:
        return None
    own = {
        "id": 1,
        "said": {},
        "described": False,
        "description": None,
        "seller_name": None,
        "photo_urls": "[]",
    }
    sets: dict[str, frozenset[str]] = {"flags": frozenset(), "features": frozenset()}
    return merge_flat(1, [{**NOWHERE, **fields, **own, **sets}])


@needs_real_pages
def test_coordinates_of_real_pages_are_sound_or_contradict_as_they_were_judged_by_hand() -> None:
    sound: dict[str, set[str]] = {}
    wrong: dict[str, set[str]] = {}
    for site in available_sites():
        for path, told in real_pages(site):
            if told["kind"] == "listing" and (flat := flat_of(site, path, told["url"])):
                judged = wrong if "position_outside" in flat.flags else sound
                judged.setdefault(site, set()).add(path.stem.rpartition("__")[2])
    assert sound == {site: set(pages.split()) for site, pages in SOUND.items()}
    assert wrong == {site: set(pages.split()) for site, pages in CONTRADICTING.items()}
