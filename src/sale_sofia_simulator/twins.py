"""The portals beside imot.bg and bazar.bg: their adverts, each of a property on imot.bg, how they answer."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar, Final

from sale_sofia.listings.places import Neighbourhood, neighbourhoods
from sale_sofia_simulator.homes import chance
from sale_sofia_simulator.model import KINDS, ImotAdvert, Money, Place, TwinAdvert, World
from sale_sofia_simulator.portal import Answer, Portal, Query, Search
from sale_sofia_simulator.text import TABLES
from sale_sofia_simulator.truth import REAL, Truth, blank_truth, full_truth

TWINS: Final[Mapping[str, int]] = TABLES["first_numbers"]
"""Each portal and the number its adverts begin with; every property has a number of its own."""


def twin_adverts(world: World, site: str) -> tuple[TwinAdvert, ...]:
    """What this portal shows of the world: an advert for each on imot.bg."""
    return tuple(make_twin(site, advert) for advert in world.imot)


def make_twin(site: str, source: ImotAdvert) -> TwinAdvert:
    """The same world always gives the same advert."""
    rng = Random(f"{site}:{source.external_id}")
    home, number = source.home, TWINS[site] + source.home.number
    title = f"{source.title.capitalize()}, {home.place.neighbourhood}"
    misfiled = site == "olx.bg" and home.place.city != "София"
    if misfiled:
        title = f"{source.title} в {home.place.city}"
        home = replace(home, place=replace(home.place, **TABLES["misfiled"]))
    external_id = str(number)
    if site == "homes.bg":
        kind = "h" if home.kind.storeys_only else "a"
        external_id = f"{kind}{'r' if home.deal == 'rent' else 's'}{number}"
    layout = "ask"
    if source.money.shown:
        layout = "both" if site != "homes.bg" and chance(rng, 0.7) else "eur"
    same = {name: getattr(source, name) for name in ("prose", "seller", "posted", "updated", "views", "tier")}
    return TwinAdvert(
        **same,
        site=site,
        external_id=external_id,
        url="",
        title=title,
        home=home,
        money=Money(layout, home.price_eur),
        photos=(),
        number=number,
        imot_id=source.external_id,
        position=position_near(rng, home.place, share=0.5, spread=0.004, digits=5),
        misfiled=misfiled,
    )


def position_near(
    rng: Random, place: Place, *, share: float, spread: float, digits: int
) -> tuple[float, float] | None:
    """A point in the neighbourhood, printed in `share` of the adverts."""
    if place.lat is None or place.lon is None or not chance(rng, share):
        return None
    lat, lon = (round(middle + rng.uniform(-spread, spread), digits) for middle in (place.lat, place.lon))
    return lat, lon


def photo_names(advert: TwinAdvert, most: int) -> list[str]:
    """Names of its photos, made from its number."""
    rng = Random(f"photos:{advert.site}:{advert.number}")
    return [f"{rng.getrandbits(40):010x}" for _ in range(rng.randint(0, most))]


def printed_features(advert: TwinAdvert) -> list[str]:
    """The features of a portal that files heating among them."""
    home = advert.home
    heating = {"ТЕЦ": "ДА", "Локално отопление": "Лок.отопл."}
    kinds = [word for word, flag in heating.items() if home.district_heating == flag]
    return [*home.features, *kinds, *(["Газ"] if home.gas == "ДА" else [])]


# The numbers under which a portal of its own files Sofia's neighbourhoods.

_UNKNOWN = 10_000
NOTHING = "no such value"
"""A filter that finds nothing."""
_KINDS = {kind.number: kind.slug for kind in KINDS}


def hood_ids(own_numbers: Mapping[str, int]) -> dict[int, Neighbourhood]:
    """Every neighbourhood by its number: the portal's own where that is listed, else one made up."""
    return {own_numbers.get(hood.name, _UNKNOWN + hood.id): hood for hood in neighbourhoods()}


def tilde_hoods(query: Query, name: str) -> list[str]:
    """The neighbourhoods of a filter of the imot.bg family; a number that is none finds nothing."""
    slugs = {hood.id: hood.slug for hood in neighbourhoods()}
    return [slugs.get(number, NOTHING) for number in _tilde_list(query, name)]


def tilde_kinds(query: Query, name: str) -> list[str]:
    """The kinds of such a filter."""
    return [_KINDS.get(number, NOTHING) for number in _tilde_list(query, name)]


def _tilde_list(query: Query, name: str) -> list[int]:
    """The numbers of such a filter: 6~10~11~."""
    return [int(part) for part in query.get(name, [""])[0].split("~") if part.isdecimal()]


def with_tildes(query: Query, *names: str) -> str:
    """These filters as an address has them, with its question mark; nothing where none is set."""
    filters = {name: "".join(f"{number}~" for number in _tilde_list(query, name)) for name in names}
    spelled = [f"{name}={numbers}" for name, numbers in filters.items() if numbers]
    return "?" + "&".join(spelled) if spelled else ""


# A portal beside imot.bg and bazar.bg, served: two searches, sales and rents, and the adverts they find.

DEALS = ("sale", "rent")
SOFIA = "grad-sofiya"
"""The city of a search that is narrowed to neighbourhoods; any other finds what was filed elsewhere too."""


class TwinPortal(Portal[TwinAdvert]):
    """Pages are made for the address at which they are served."""

    charset = "utf-8"
    content_type = "text/html; charset=utf-8"
    prints: ClassVar[Sequence[str]] = ()
    """The fields that it prints as they are, beside those that all portals print."""
    search_type: ClassVar[str] = "text/html; charset=utf-8"

    @property
    def base(self) -> str:
        """Where the portal is served."""
        return self.origin.base_url

    def start_urls(self, *, split: bool = False) -> list[str]:  # noqa: ARG002 - there is no cap here
        """Sales and rents."""
        return [self.base + self.search_path(deal, 1) for deal in DEALS]

    def searched(self, search: Search) -> Answer:
        """Results have a type of their own."""
        return super().searched(search)._replace(content_type=self.search_type)

    def _results(self, search: Search) -> bytes:
        return self.results(search, self.on_page(search), self.announced(search))

    def _listing(self, number: int) -> bytes:
        """Made for each copy: its photos and links have names that come from its own number."""
        return self._cache.get(number, lambda: self.render(self.stock.advert(number)))

    def url_of(self, advert: TwinAdvert) -> str:
        """The served address of an advert."""
        return self.base + self.path_of(advert)

    def on_page(self, search: Search) -> list[TwinAdvert]:
        """The adverts that this page of results shows; beyond the last there are none."""
        seen, first = self.matches(search)[: self.most], (search.page - 1) * self.page_size
        window = range(first, first + self.page_size) if search.window is None else search.window
        return [self.stock.advert(number) for number in seen[window.start : window.stop]]

    def truth(self, advert: TwinAdvert) -> Truth:
        """All fields, at the portal's real address."""
        lat, lon = advert.position or (None, None)
        full = full_truth(advert)
        printed = {name: full[name] for name in ("description", "construction", *self.prints)}
        where = {"lat": lat, "lon": lon, "flags": ["place_conflict"] if advert.misfiled else []}
        blank = blank_truth(advert, REAL[self.site] + self.path_of(advert))
        return blank | printed | where | self.facts(advert)

    @abstractmethod
    def path_of(self, advert: TwinAdvert) -> str:
        """The address of an advert, from its path on."""

    @abstractmethod
    def search_path(self, deal: str, page: int) -> str:
        """The address of a page of results, from its path on."""

    @abstractmethod
    def results(self, search: Search, adverts: Sequence[TwinAdvert], total: int) -> bytes:
        """A page of results."""

    @abstractmethod
    def facts(self, advert: TwinAdvert) -> Truth:
        """What the portal prints beside, or otherwise than, what all do."""

    def pages(self, total: int) -> int:
        """How many pages of results are shown."""
        return max(1, -(-min(total, self.most) // self.page_size))

    def next_url(self, deal: str, page: int, total: int, base: str) -> str | None:
        """The page after this one."""
        return base + self.search_path(deal, page + 1) if page < self.pages(total) else None


def whole(query: Query, name: str, default: int) -> int:
    """A number of the query."""
    text = query.get(name, [""])[0]
    return int(text) if text.isdecimal() else default
