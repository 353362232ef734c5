"""Which adverts a search finds, in the order the portal shows them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain, product
from typing import Generic, NamedTuple, TypeVar

from sale_sofia_simulator.model import Advert, BazarAdvert, ImotAdvert, TwinAdvert
from sale_sofia_simulator.text import slug

# The adverts of one portal: all different, or a large number of copies of a few.

A = TypeVar("A", ImotAdvert, BazarAdvert, TwinAdvert)
_MINUTE = 60
MOST_COPIES = 100 * _MINUTE
_TWINS_APART = 20_000
"""Further than the numbers of any two originals: a property has every second one of at most 10 000 slots."""


class Stock(Generic[A]):
    """`total` adverts; number `n` is original `n % len(originals)`, under an id of its own.

    A copy differs from its original in its id, its address, the names of its photos and the second
    in which it was posted; no two adverts share an id.
    """

    def __init__(self, originals: Sequence[A], total: int | None = None) -> None:
        self.originals: Sequence[A] = originals
        count = len(originals) if total is None else total
        if count > MOST_COPIES * len(originals):
            raise ValueError(f"{len(originals)} adverts give at most {MOST_COPIES} copies each, not {count}")
        self._numbers = {self._new_id(number): number for number in range(count)}
        if len(self._numbers) != count:
            raise ValueError("two copies would share an id; choose another seed or number of adverts")

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, external_id: str) -> int | None:
        """The place of an advert, nothing for an id that is not here."""
        return self._numbers.get(external_id)

    def advert(self, number: int) -> A:
        """The advert, all its facts its own."""
        original, turn = self._original(number)
        return original if turn == 0 else _copy(original, number, turn)

    def page(self, number: int, original_page: bytes) -> bytes:
        """The page of a copy from the page of its original."""
        original, turn = self._original(number)
        for old, new in renames(original, number, turn).items() if turn else ():
            original_page = original_page.replace(old.encode(), new.encode())
        return original_page

    def _original(self, number: int) -> tuple[A, int]:
        turn, place = divmod(number, len(self.originals))
        return self.originals[place], turn

    def _new_id(self, number: int) -> str:
        original, turn = self._original(number)
        return renames(original, number, turn)[original.external_id] if turn else original.external_id


def renames(original: ImotAdvert | BazarAdvert | TwinAdvert, number: int, turn: int) -> dict[str, str]:
    """Each id of the original and what it becomes in a copy; in the imot.bg family all keep their length."""
    if isinstance(original, ImotAdvert):
        return {original.external_id: imot_id_of_copy(original.external_id, turn)}
    if isinstance(original, TwinAdvert):
        new = str(original.number + turn * _TWINS_APART)
        return {original.external_id: original.external_id.replace(str(original.number), new)}
    own = {
        original.external_id: str(50_000_000 + number * 37 + (int(original.external_id) - 50_000_000) % 37)
    }
    family = original.imot_id
    return own | ({family: imot_id_of_copy(family, turn)} if family else {})


def imot_id_of_copy(imot_id: str, turn: int) -> str:
    """Another second of the same minute, then other digits; the last three, the photos' folder, stay."""
    stamp = int(imot_id[2:12])
    second = (stamp + turn) % _MINUTE
    middle = (int(imot_id[12:14]) + turn // _MINUTE) % 100
    return f"{imot_id[:2]}{stamp - stamp % _MINUTE + second}{middle:02d}{imot_id[14:]}"


def _copy(original: A, number: int, turn: int) -> A:
    new = renames(original, number, turn)

    def renamed(text: str) -> str:
        for old, changed in new.items():
            text = text.replace(old, changed)
        return text

    second = (original.posted.second + turn) % _MINUTE - original.posted.second
    copy = replace(
        original,
        external_id=new[original.external_id],
        url=renamed(original.url),
        photos=tuple(map(renamed, original.photos)),
        posted=original.posted + timedelta(seconds=second),
    )
    if isinstance(copy, BazarAdvert) and copy.imot_id:
        return replace(copy, imot_id=new[copy.imot_id])
    if isinstance(copy, TwinAdvert):
        number = copy.number + turn * _TWINS_APART
        return replace(copy, number=number, imot_id=imot_id_of_copy(copy.imot_id, turn))
    return copy


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


class SearchIndex:
    """Finds by any scope at once; every advert stands exactly once in each scope it belongs to."""

    def __init__(self, stock: Stock[A]) -> None:
        self._originals: Sequence[Advert] = stock.originals
        self._tiers = [TIERS.index(advert.tier) for advert in stock.originals]
        self._found: dict[Scope, list[int]] = {}
        self._narrowed: dict[tuple[Scope, Filters], Sequence[int]] = {}
        scopes = [list(_scopes_of(advert)) for advert in stock.originals]
        for number in sorted(range(len(stock)), key=self._rank):
            for scope in scopes[number % len(scopes)]:
                self._found.setdefault(scope, []).append(number)

    def find(self, scope: Scope, filters: Filters = NO_FILTERS) -> Sequence[int]:
        """The numbers of the adverts, promoted ones first; the same search is worked out once."""
        if filters == NO_FILTERS:
            return self._found.get(scope, ())
        if (scope, filters) not in self._narrowed:
            parts = product(filters.hoods or (scope.hood,), filters.kinds or (scope.kind,))
            lists = (self._found.get(scope._replace(hood=hood, kind=kind), ()) for hood, kind in parts)
            within = {number for number in chain.from_iterable(lists) if self._costs(number, filters)}
            self._narrowed[scope, filters] = sorted(within, key=self._rank)
        return self._narrowed[scope, filters]

    def scopes(self) -> list[Scope]:
        """Every search that finds something, in a fixed order."""
        return sorted(self._found, key=lambda scope: tuple(part or "" for part in scope))

    def _costs(self, number: int, filters: Filters) -> bool:
        """Whether its price, shown or not, lies within the limits, both of which belong to them."""
        price = self._originals[number % len(self._originals)].money.amount_eur
        least, most = filters.least_eur, filters.most_eur
        return (least is None or price >= least) and (most is None or price <= most)

    def _rank(self, number: int) -> tuple[int, int]:
        return self._tiers[number % len(self._tiers)], number


def _scopes_of(advert: Advert) -> Iterator[Scope]:
    """Every search that finds this advert, in the words of its portal's addresses."""
    home, place = advert.home, advert.home.place
    city, hood = place.city_slug, place.slug
    if isinstance(advert, BazarAdvert):
        city, hood = BAZAR_CITIES[place.city], slug(place.neighbourhood)
    places = ((None, None), (city, None), (city, hood))
    for deal, (where, part), kind in product((home.deal, None), places, (home.kind.slug, None)):
        yield Scope(deal, where, part, kind)
