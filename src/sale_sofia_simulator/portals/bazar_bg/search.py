"""Search pages of bazar.bg: sixty-eight cards, news, and card templates that are no cards."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from random import Random
from sale_sofia_simulator import names
from sale_sofia_simulator.portals.bazar_bg.page import advert_card
from sale_sofia_simulator.portals.bazar_bg.page import crumbs
from sale_sofia_simulator.portals.bazar_bg.page import page as whole_page
from sale_sofia_simulator.model import NOW
from sale_sofia_simulator.twins import hood_ids
from sale_sofia_simulator.model import BazarAdvert
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.pieces import lines
from sale_sofia_simulator.pieces import script_json
from sale_sofia_simulator.text import slug
from sale_sofia_simulator.text import spaced


PAGE_SIZE = 68
NOTHING_FOUND = "Няма намерени обяви"
DISTRICTS = hood_ids(
    {
        "7-ми 11-ти километър": 833, "Абдовица": 342, "Банишора": 345, "Белите брези": 346, "Бенковски": 348,
        "Витоша": 354, "Кръстова вада": 388, "Малинова долина": 406, "Манастирски ливади": 407,
        "Младост 1": 409, "Младост 4": 413, "Оборище": 426, "Център": 460,
    }
)  # fmt: skip
"""Some of the portal's own numbers, and others for the rest."""
_DISTRICT = (
    '<label class="control control--checkbox" >\n    <span class="item-name">{name}</span>\n'
    '    <input type="checkbox" name="district_id[]"  value="{number}" >\n'
    '    <div class="control__indicator"></div>\n</label>'
)
_SHOWN_PAGES = 10
_PAGER = '<div class="paging" id="pagination" style="margin-top: 15px; text-align: center;">\n{links}\n</div>'


def search_page(
    adverts: Sequence[BazarAdvert], *, url: str, page: int, total: int, now: datetime = NOW
) -> bytes:
    """Page number `page` of the search at `url`; the exact total stands in the description alone."""
    return _rendered(
        adverts,
        url,
        description=f"Обяви за Апартаменти ➤ Изгодни оферти за имоти ☛ Над {total} обяви в Bazar.bg",
        rough_total=spaced(total + total // 90),
        cards="".join(advert_card(advert, now) for advert in adverts),
        pager=_pager(url, page, total),
        page=page,
        count=total,
    )


def empty_search_page(url: str) -> bytes:
    """A search that the portal itself says found nothing."""
    return _rendered(
        (),
        url,
        description="Обяви за Апартаменти ➤ Bazar.bg",
        rough_total="0",
        cards=f'<div class="alert noResults">{NOTHING_FOUND}</div>',
        pager="",
        page=1,
        count=0,
    )


def removed_page(adverts: Sequence[BazarAdvert], *, category: str, total: int) -> bytes:
    """What the address of a removed advert answers: the first page of its category."""
    return search_page(adverts, url=category, page=1, total=total)


def page_url(url: str, page: int) -> str:
    """The address of a page of a search."""
    if page == 1:
        return url
    return f"{url}{'&' if '?' in url else '?'}page={page}"


def page_count(total: int) -> int:
    """How many pages there are."""
    return max(1, -(-total // PAGE_SIZE))


def next_url(url: str, page: int, total: int) -> str | None:
    """The address of the next page, nothing on the last."""
    return page_url(url, page + 1) if page < page_count(total) else None


def _rendered(  # noqa: PLR0913
    adverts: Sequence[BazarAdvert],
    url: str,
    *,
    description: str,
    rough_total: str,
    cards: str,
    pager: str,
    page: int,
    count: int,
) -> bytes:
    canonical = url.partition("?")[0]
    heading = "Апартаменти: " + canonical.rpartition("/obiavi/")[2]
    body = fill(
        "bazar_search",
        crumbs=crumbs(),
        rough_total=rough_total,
        heading=heading,
        cards=cards,
        news=_news(Random(f"{url} {page}")),
        pager=pager,
        districts=_districts(),
        offers=script_json(_offers(count)),
        item_list=script_json(_item_list(adverts)),
        ids=", ".join(advert.external_id for advert in adverts),
    )
    return whole_page(
        body,
        title=f"{heading} - Обяви на изгодни цени! — Bazar.bg",
        description=description,
        canonical=canonical,
        links=f'    <link rel="next" href="{canonical}"/>',
    ).encode()


@cache
def _districts() -> str:
    return lines([_DISTRICT.format(name=hood.name, number=number) for number, hood in DISTRICTS.items()])


def _offers(count: int) -> dict[str, object]:
    known = {"@context": "https://schema.org/", "@type": "AggregateOffer", "priceCurrency": "EUR"}
    return known | {"offerCount": count}


def _item_list(adverts: Sequence[BazarAdvert]) -> dict[str, object]:
    items = [
        {
            "@type": "Product",
            "name": advert.title,
            "url": advert.url.replace(".bg/", ".bg//"),
            "image": advert.photos[:1],
        }
        for advert in adverts
    ]
    return {
        "@context": "https://schema.org/",
        "@type": "ItemList",
        "itemListElement": [
            {"@type": "ListItem", "position": i, "item": item} for i, item in enumerate(items, 1)
        ],
    }


def _news(rng: Random) -> str:
    headline = names.headline(rng)
    return fill("bazar_news", headline=headline, slug=f"{rng.randint(1_000_000, 1_099_999)}-{slug(headline)}")


def _pager(url: str, page: int, total: int) -> str:
    last = page_count(total)
    first = max(1, min(page - _SHOWN_PAGES // 2, last - _SHOWN_PAGES + 1))
    shown = range(first, min(first + _SHOWN_PAGES, last + 1))
    links = [_number(url, number, page) for number in shown]
    more = _more(url, page) if page < last else ""
    tail = [_next(url, page, there=page < last)]
    if shown[-1] < last:
        tail.insert(0, '<span class="more">...</span>')
    return _PAGER.format(links=" ".join([more + _previous(url, page), *links, *tail]))


def _more(url: str, page: int) -> str:
    return (
        f'<a href="{page_url(url, page + 1)}" class="show-more" data-page="{page + 1}">Покажи още обяви</a>'
    )


def _number(url: str, number: int, current: int) -> str:
    css = "active current" if number == current else " not-current"
    link = f'<a href="{page_url(url, number)}" title="Страница {number}"'
    return f'{link}  class="btn btn-default {css}">{number}</a>'


def _previous(url: str, page: int) -> str:
    if page == 1:
        return '<span class="btn btn-default disabled">&#171; Предишна</span>'
    return f'<a href="{page_url(url, page - 1)}" class="btn btn-default prev">&#171; Предишна</a>'


def _next(url: str, page: int, *, there: bool) -> str:
    if not there:
        return '<span class="btn btn-default disabled">Следваща &#187;</span>'
    following = page_url(url, page + 1)
    return (
        f'<a href="{following}" title="Страница {page + 1}"  class="btn btn-default next">Следваща &#187;</a>'
    )


