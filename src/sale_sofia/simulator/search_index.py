"""Which adverts a search finds, in the order the portal shows them."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from sale_sofia.simulator.model import BazarAdvert, ImotAdvert
from sale_sofia.simulator.stock import A, Stock
from sale_sofia.simulator.text import slug

TIERS = ("BEST", "TOP", "VIP", "")
BAZAR_CITIES = {"София": "sofia", "Търговище": "targovishte"}


class Scope(NamedTuple):
    """What is searched; nothing means everything."""

    deal: str | None = None
    city: str | None = None
    hood: str | None = None
    kind: str | None = None


def scope_of(advert: ImotAdvert | BazarAdvert) -> Scope:
    """The narrowest search that finds this advert, in the words of its portal's addresses."""
    home, place = advert.home, advert.home.place
    if isinstance(advert, ImotAdvert):
        return Scope(home.deal, place.city_slug, place.slug, home.kind.slug)
    return Scope(home.deal, BAZAR_CITIES[place.city], slug(place.neighbourhood))


class SearchIndex:
    """Finds by any scope at once; every advert stands exactly once in each scope it belongs to."""

    def __init__(self, stock: Stock[A]) -> None:
        self._found: dict[Scope, list[int]] = {}
        scopes = [list(_wider(scope_of(advert))) for advert in stock.originals]
        tiers = [TIERS.index(advert.tier) for advert in stock.originals]
        count = len(stock.originals)
        for number in sorted(range(len(stock)), key=lambda number: tiers[number % count]):
            for scope in scopes[number % count]:
                self._found.setdefault(scope, []).append(number)

    def find(self, scope: Scope) -> Sequence[int]:
        """The numbers of the adverts, promoted ones first."""
        return self._found.get(scope, ())

    def scopes(self) -> list[Scope]:
        """Every search that finds something, in a fixed order."""
        return sorted(self._found, key=lambda scope: tuple(part or "" for part in scope))


def _wider(scope: Scope) -> Iterator[Scope]:
    places = ((None, None), (scope.city, None), (scope.city, scope.hood))
    kinds = {scope.kind: None, None: None}
    for deal, (city, hood), kind in product((scope.deal, None), places, kinds):
        yield Scope(deal, city, hood, kind)
