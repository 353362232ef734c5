"""bazar.bg served: its searches and its removed adverts."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from random import Random

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator import text
from sale_sofia_simulator.homes import ELSEWHERE, make_home
from sale_sofia_simulator.model import FLATS, NOW, BazarAdvert, Money
from sale_sofia_simulator.pieces import fill, fill_json, script_json
from sale_sofia_simulator.portal import BAZAR_CITIES, Answer, Filters, Portal, Query, Scope, Search
from sale_sofia_simulator.text import TABLES, bazar_day, bazar_moment, brief, leva, slug, spaced
from sale_sofia_simulator.truth import REAL, Truth, bazar_truth
from sale_sofia_simulator.twins import NOTHING, hood_ids

# What bazar.bg pages have in common: their frame, the spelling of prices, the small card of an advert.

_ASK = "Договаряне"
_SEPARATOR = '\n<span class="separator"></span>\n'
_STRANGERS = 500


def _amounts(money: Money) -> list[tuple[str, str]]:
    """The printed sums with their currencies, in the order they are printed."""
    euro, lev = (brief(money.amount_eur), "€"), (brief(leva(money.amount_eur)), "лв")
    orders = {"both": [euro, lev], "bgn_first": [lev, euro], "eur": [euro], "bgn": [lev], "ask": []}
    return orders[money.layout]


def sums(money: Money) -> list[str]:
    """What is printed, in the order it is printed: 437 500 €, 855 675,63 лв."""
    return [f"{amount} {currency}" for amount, currency in _amounts(money)] or [_ASK, _ASK]


def script_price(money: Money) -> str:
    """The price in the page's own script: always both, leva first."""
    return " / ".join(sums(Money("bgn_first", money.amount_eur) if money.shown else money))


def price_html(money: Money) -> str:
    """The price block; an old price is nested inside the current one."""
    if money.previous_eur is None:
        return f'<div class="current-price">\n{_SEPARATOR.join(sums(money))}\n</div>'
    euro, lev = sums(Money("both", money.amount_eur))
    old_euro, old_lev = sums(Money("both", money.previous_eur))
    way = "up" if money.amount_eur > money.previous_eur else "down"
    return fill("bazar_changed_price", way=way, euro=euro, lev=lev, old_euro=old_euro, old_lev=old_lev)


def advert_card(advert: BazarAdvert, now: datetime) -> str:
    """The small card of this advert, in a search; it prints no area."""
    place = advert.home.place
    return fill(
        "bazar_card",
        title=advert.title,
        url=advert.url,
        id=advert.external_id,
        location=f"гр. {place.city}, {place.neighbourhood}",
        date=bazar_day(advert.updated, now),
        amounts=_amounts(advert.money),
        photo=advert.photos[0].removeprefix("https:") if advert.photos else _NO_PHOTO,
        paid=bool(advert.tier),
        small="",
    )


@cache
def _stranger(which: int) -> str:
    """The card of an advert outside the world, with its own price and photo."""
    rng = Random(f"bazar stranger {which}")
    home = make_home(rng, 0, flat=True)
    number = rng.randint(43_000_000, 49_999_999)
    title = f"{home.deal_words} {home.kind.label}, гр. София, {home.place.neighbourhood}"
    stamp = f"{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    folder = f"//cdn3.focus.bg/imot/photosimotbg/1/{stamp[-3:]}/big1"
    return fill(
        "bazar_card",
        title=title,
        url=f"https://bazar.bg/obiava-{number}/{slug(title, bazar=True)}",
        id=number,
        location=f"гр. София, {home.place.neighbourhood}",
        date=bazar_day(NOW - timedelta(days=rng.randrange(40)), NOW),
        amounts=_amounts(Money(rng.choice(("both", "both", "bgn_first")), home.price_eur)),
        photo=f"{folder}/1{home.kind.letter('sale')}{stamp}_{rng.choice('abcdef')}7.jpg",
        paid=rng.random() < 0.3,  # noqa: PLR2004
        small=" listItemLink165",
    )


_VALID_DAYS = 31
_NO_PHOTO = "/img/gallery/noPhoto.svg"


def listing_page(advert: BazarAdvert, now: datetime = NOW) -> bytes:
    """The bytes of the page as it is at `now`: its dates are in words like "today"."""
    place, money = advert.home.place, advert.money
    printed = advert.updated - timedelta(minutes=advert.lag_minutes)
    large = [_sized(photo, "big1/", "large") for photo in advert.photos]
    caption = f"<b>{advert.title}</b><br/>Цена: {script_price(money)}"
    original = [photo.replace("/pics/", "/original/") for photo in advert.photos]
    product = fill_json(
        "bazar_product", advert=advert, images=original, valid_until=valid_until(advert.updated)
    )
    steps = {**TABLES["bazar_crumbs"], advert.title: advert.url}
    breadcrumbs = fill_json("breadcrumbs", context="https://schema.org/", steps=steps, nested=True)
    # Euro, else leva, else the word.
    price = sums(Money("both", money.amount_eur) if money.layout == "bgn_first" else money)[0]
    words = f"Вижте {advert.title} от ➤ гр. {place.city} - ID{advert.external_id} ✔ в ❱❱Bazar.bg "
    if money.shown:
        euro = f"{money.amount_eur:.0f} €"
        words = f"Цена ✅ {price} / {euro} ❱❱ {advert.title} от гр. {place.city} ➤ Bazar.bg ✔"
    return fill(
        "bazar_page",
        body="bazar_detail.html",
        weight=26 + 3 * (16 - len(advert.photos)) // 4,
        title=f"{advert.title} в Апартаменти в гр. {place.city} - ID{advert.external_id} | Bazar.bg",
        description=words,
        canonical=advert.url,
        head_price=price,
        advert=advert,
        map_key=f"{sum(map(ord, place.slug)) * 7919:09d}00000000",
        city_slug=BAZAR_CITIES[place.city],
        hood_slug=slug(place.neighbourhood),
        moment=bazar_moment(printed, now),
        active=bazar_moment(advert.updated, now),
        price=price_html(money),
        price_words=script_price(money),
        photos=[
            {"own": photo.removeprefix("https:"), "medium": _sized(photo, "med/", "pics"), "large": big}
            for photo, big in zip(advert.photos, large, strict=True)
        ],
        images=script_json([{"w": 1198, "h": 1800, "src": photo, "title": caption} for photo in large]),
        related=_related(advert),
        product=script_json(product),
        breadcrumb_list=script_json(breadcrumbs),
    ).encode()


def _sized(photo: str, imported: str, own: str) -> str:
    folder, _, name = photo.removeprefix("https:").rpartition("/")
    parent, _, size = folder.rpartition("/")
    return f"{parent}/{own if size == 'pics' else imported}/{name}"


def _related(advert: BazarAdvert) -> dict[str, object]:
    """Three strips of strangers before the price, each with prices that are not the advert's."""
    rng = Random(f"related {advert.external_id}")
    related: dict[str, object] = {"count": rng.randint(2, 200)}
    for name, cards in {"own": 4, "others": 4, "recommended": 12}.items():
        related[name] = "".join(_stranger(rng.randrange(_STRANGERS)) for _ in range(cards))
    return related


def valid_until(updated: datetime) -> str:
    """31 days after the last update on the wall clock, with the offset of that later day."""
    return f"{updated + timedelta(days=_VALID_DAYS):%Y-%m-%dT%H:%M:%S%z}"


# Search pages of bazar.bg: sixty-eight cards, news, and card templates that are no cards.

PAGE_SIZE = 68
DISTRICTS = hood_ids(TABLES["bazar_districts"])
"""Some of the portal's own numbers, and others for the rest."""
_SHOWN_PAGES = 10


def empty_search_page(url: str) -> bytes:
    """A search that the portal itself says found nothing."""
    return search_page((), url=url, page=1, total=0)


def page_url(url: str, page: int) -> str:
    """The address of a page of a search."""
    return url if page == 1 else f"{url}{'&' if '?' in url else '?'}page={page}"


def page_count(total: int) -> int:
    """How many pages there are."""
    return max(1, -(-total // PAGE_SIZE))


def next_url(url: str, page: int, total: int) -> str | None:
    """The address of the next page, nothing on the last."""
    return page_url(url, page + 1) if page < page_count(total) else None


def search_page(
    adverts: Sequence[BazarAdvert], *, url: str, page: int, total: int, now: datetime = NOW
) -> bytes:
    """Page number `page` of the search at `url`; the exact total stands in the description alone."""
    canonical = url.partition("?")[0]
    heading = "Апартаменти: " + canonical.rpartition("/obiavi/")[2]
    headline, address = text.headline(Random(f"{url} {page}"))
    offers = f"Изгодни оферти за имоти ☛ Над {total} обяви в "
    data = fill_json("bazar_results", adverts=adverts, total=total)
    last = page_count(total)
    first = max(1, min(page - _SHOWN_PAGES // 2, last - _SHOWN_PAGES + 1))
    return fill(
        "bazar_page",
        body="bazar_search.html",
        weight=25,
        title=f"{heading} - Обяви на изгодни цени! — Bazar.bg",
        description=f"Обяви за Апартаменти ➤ {offers if total else ''}Bazar.bg",
        canonical=canonical,
        rough_total=spaced(total + total // 90),
        heading=heading,
        cards=[advert_card(advert, now) for advert in adverts],
        headline=headline,
        slug=address,
        url=url,
        page_url=page_url,
        page=page,
        near=range(first, min(first + _SHOWN_PAGES, last + 1)),
        last=last,
        districts=_districts(),
        offers=script_json(data["offers"]),
        item_list=script_json(data["items"]),
        ids=", ".join(advert.external_id for advert in adverts),
    ).encode()


@cache
def _districts() -> str:
    return fill("bazar_districts", districts=DISTRICTS.items())


_SEARCH = re.compile(r"/obiavi/(?P<rubric>[\w-]+)(?:/(?P<city>[\w-]+))?(?:/(?P<hood>[\w-]+))?/?")
_RUBRICS = {"prodazhba-apartamenti": "sale", "naemi-apartamenti": "rent", "apartamenti": None}
_PATHS = {deal: rubric for rubric, deal in _RUBRICS.items()}
_HOODS = {slug(name) for name, _ in ELSEWHERE} | {slug(hood.name) for hood in neighbourhoods()}
_FILTERS = {
    "district_id[]": {str(number): slug(hood.name) for number, hood in DISTRICTS.items()},
    "asize[]": {str(kind.number): kind.slug for kind in FLATS},
}


def search_path(scope: Scope) -> str:
    """The address of a search, from its path on."""
    return "/obiavi/" + "/".join(filter(None, (_PATHS[scope.deal], scope.city, scope.hood)))


class BazarPortal(Portal[BazarAdvert]):
    """bazar.bg shows twenty-six pages of a search; every page after the last one is that page again."""

    site = "bazar.bg"
    content_type = "text/html; charset=UTF-8"
    charset = "utf-8"
    listing_path = re.compile(r"/{1,2}obiava-(\d{6,10})(?:/[^/]*)?/?")
    forbidden = "/ads/save"
    page_size = PAGE_SIZE
    most_results = 26 * PAGE_SIZE

    def start_urls(self, *, split: bool = False) -> list[str]:
        """Both deals of Sofia, and of another city where it has adverts."""
        scopes = self.city_searches("sofia", ("hood",), split=split)
        return [self.origin.base_url + search_path(scope) for scope in scopes]

    def search(self, path: str, query: Query) -> Search | None:
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>][?district_id[]=<n>&asize[]=<n>&page=<page>]`."""
        match, page = _SEARCH.fullmatch(path), query.get("page", ["1"])[0]
        if not match or match["rubric"] not in _RUBRICS:
            return None
        if not (page.isascii() and page.isdigit() and int(page)):
            return None
        city, hood = match["city"], match["hood"]
        if city not in {None, *BAZAR_CITIES.values()} or hood not in {None, *_HOODS}:
            return None
        numbers = {name: [value for value in query.get(name, ()) if value.isdecimal()] for name in _FILTERS}
        spelled = "&".join(f"{name}={value}" for name, values in numbers.items() for value in values)
        first = path.rstrip("/") + (f"?{spelled}" if spelled else "")
        districts, sizes = (
            tuple(_FILTERS[name].get(value, NOTHING) for value in values) for name, values in numbers.items()
        )
        scope = Scope(_RUBRICS[match["rubric"]], city, hood)
        return Search(scope, int(page), first, Filters(districts, sizes))

    def gone(self, external_id: str) -> Answer:  # noqa: ARG002 - all removed adverts lead to one place
        """A redirect to the category."""
        return self.moved("/obiavi/apartamenti/sofia")

    def truth(self, advert: BazarAdvert) -> Truth:
        """All fields of the advert."""
        return bazar_truth(advert)

    def render(self, advert: BazarAdvert) -> bytes:
        """The page of the advert today."""
        return listing_page(advert, self.now)

    def _results(self, search: Search) -> bytes:
        """Sixty-eight results, fewer on the last page; a page that is not shown leads on all the same."""
        numbers, url = self.matches(search), REAL[self.site] + search.path
        if not numbers:
            return self.origin.body(empty_search_page(url))
        page = min(search.page, page_count(min(len(numbers), self.most)))
        adverts, total = self.shown(numbers[: self.most], page), self.announced(search)
        return self.origin.body(search_page(adverts, url=url, page=page, total=total, now=self.now))
