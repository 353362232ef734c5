"""Which adverts a search finds, in the order the portal shows them."""

from collections.abc import Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

from sale_sofia.simulator.model import Advert, BazarAdvert
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


class Filters(NamedTuple):
    """What narrows a search: any of these neighbourhoods and any of these kinds, within these prices."""

    hoods: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    least_eur: int | None = None
    most_eur: int | None = None


NO_FILTERS = Filters()


def scope_of(advert: Advert) -> Scope:
    """The narrowest search that finds this advert, in the words of its portal's addresses."""
    home, place = advert.home, advert.home.place
    if isinstance(advert, BazarAdvert):
        return Scope(home.deal, BAZAR_CITIES[place.city], slug(place.neighbourhood), home.kind.slug)
    return Scope(home.deal, place.city_slug, place.slug, home.kind.slug)


class SearchIndex:
    """Finds by any scope at once; every advert stands exactly once in each scope it belongs to."""

    def __init__(self, stock: Stock[A]) -> None:
        self._originals: Sequence[Advert] = stock.originals
        self._tiers = [TIERS.index(advert.tier) for advert in stock.originals]
        self._found: dict[Scope, list[int]] = {}
        self._narrowed: dict[tuple[Scope, Filters], Sequence[int]] = {}
        scopes = [list(_wider(scope_of(advert))) for advert in stock.originals]
        for number in sorted(range(len(stock)), key=self._rank):
            for scope in scopes[number % len(scopes)]:
                self._found.setdefault(scope, []).append(number)

    def find(self, scope: Scope, filters: Filters = NO_FILTERS) -> Sequence[int]:
        """The numbers of the adverts, promoted ones first; the same search is worked out once."""
        if filters == NO_FILTERS:
            return self._found.get(scope, ())
        if (scope, filters) not in self._narrowed:
            self._narrowed[scope, filters] = self._narrow(scope, filters)
        return self._narrowed[scope, filters]

    def scopes(self) -> list[Scope]:
        """Every search that finds something, in a fixed order."""
        return sorted(self._found, key=lambda scope: tuple(part or "" for part in scope))

    def _narrow(self, scope: Scope, filters: Filters) -> Sequence[int]:
        parts = product(filters.hoods or (scope.hood,), filters.kinds or (scope.kind,))
        lists = (self._found.get(scope._replace(hood=hood, kind=kind), ()) for hood, kind in parts)
        return sorted(
            {number for number in chain.from_iterable(lists) if self._costs(number, filters)}, key=self._rank
        )

    def _costs(self, number: int, filters: Filters) -> bool:
        """Whether its price, shown or not, lies within the limits, both of which belong to them."""
        price = self._originals[number % len(self._originals)].money.amount_eur
        least, most = filters.least_eur, filters.most_eur
        return (least is None or price >= least) and (most is None or price <= most)

    def _rank(self, number: int) -> tuple[int, int]:
        return self._tiers[number % len(self._tiers)], number


def _wider(scope: Scope) -> Iterator[Scope]:
    places = ((None, None), (scope.city, None), (scope.city, scope.hood))
    kinds = {scope.kind: None, None: None}
    for deal, (city, hood), kind in product((scope.deal, None), places, kinds):
        yield Scope(deal, city, hood, kind)
