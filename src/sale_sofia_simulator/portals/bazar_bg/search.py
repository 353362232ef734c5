"""Search pages of bazar.bg: sixty-eight cards, news, and card templates that are no cards."""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from random import Random

from sale_sofia_simulator import names
from sale_sofia_simulator.model import NOW, BazarAdvert
from sale_sofia_simulator.pieces import fill, script_json
from sale_sofia_simulator.portals.bazar_bg.page import advert_card
from sale_sofia_simulator.portals.bazar_bg.page import page as whole_page
from sale_sofia_simulator.text import spaced
from sale_sofia_simulator.twins import hood_ids

PAGE_SIZE = 68
DISTRICTS = hood_ids(
    {
        "7-ми 11-ти километър": 833, "Абдовица": 342, "Банишора": 345, "Белите брези": 346, "Бенковски": 348,
        "Витоша": 354, "Кръстова вада": 388, "Малинова долина": 406, "Манастирски ливади": 407,
        "Младост 1": 409, "Младост 4": 413, "Оборище": 426, "Център": 460,
    }
)  # fmt: skip
"""Some of the portal's own numbers, and others for the rest."""
_SHOWN_PAGES = 10
_PAGER = '<div class="paging" id="pagination" style="margin-top: 15px; text-align: center;">\n{links}\n</div>'


def search_page(
    adverts: Sequence[BazarAdvert], *, url: str, page: int, total: int, now: datetime = NOW
) -> bytes:
    """Page number `page` of the search at `url`; the exact total stands in the description alone."""
    description = f"Обяви за Апартаменти ➤ Изгодни оферти за имоти ☛ Над {total} обяви в Bazar.bg"
    cards = "".join(advert_card(advert, now) for advert in adverts)
    return _rendered(adverts, url, page, total, description, cards=cards, pager=_pager(url, page, total))


def empty_search_page(url: str) -> bytes:
    """A search that the portal itself says found nothing."""
    cards = '<div class="alert noResults">Няма намерени обяви</div>'
    return _rendered((), url, 1, 0, "Обяви за Апартаменти ➤ Bazar.bg", cards=cards, pager="")


def page_url(url: str, page: int) -> str:
    """The address of a page of a search."""
    return url if page == 1 else f"{url}{'&' if '?' in url else '?'}page={page}"


def page_count(total: int) -> int:
    """How many pages there are."""
    return max(1, -(-total // PAGE_SIZE))


def next_url(url: str, page: int, total: int) -> str | None:
    """The address of the next page, nothing on the last."""
    return page_url(url, page + 1) if page < page_count(total) else None


def _rendered(  # noqa: PLR0913
    adverts: Sequence[BazarAdvert],
    url: str,
    page: int,
    total: int,
    description: str,
    *,
    cards: str,
    pager: str,
) -> bytes:
    canonical = url.partition("?")[0]
    heading = "Апартаменти: " + canonical.rpartition("/obiavi/")[2]
    headline, address = names.headline(Random(f"{url} {page}"))
    context = {"@context": "https://schema.org/"}
    offers = {**context, "@type": "AggregateOffer", "priceCurrency": "EUR", "offerCount": total}
    items = [
        {
            "@type": "Product",
            "name": advert.title,
            "url": advert.url.replace(".bg/", ".bg//"),
            "image": advert.photos[:1],
        }
        for advert in adverts
    ]
    listed = [{"@type": "ListItem", "position": i, "item": item} for i, item in enumerate(items, 1)]
    body = fill(
        "bazar_search",
        crumbs=fill("bazar_crumbs"),
        rough_total=spaced(total + total // 90),
        heading=heading,
        cards=cards,
        news=fill("bazar_news", headline=headline, slug=address),
        pager=pager,
        districts=_districts(),
        offers=script_json(offers),
        item_list=script_json({**context, "@type": "ItemList", "itemListElement": listed}),
        ids=", ".join(advert.external_id for advert in adverts),
    )
    return whole_page(
        body,
        title=f"{heading} - Обяви на изгодни цени! — Bazar.bg",
        description=description,
        canonical=canonical,
        links=f'    <link rel="next" href="{canonical}"/>',
    )


@cache
def _districts() -> str:
    districts = DISTRICTS.items()
    return "\n".join(fill("bazar_district", name=hood.name, number=number) for number, hood in districts)


def _pager(url: str, page: int, total: int) -> str:
    last = page_count(total)
    first = max(1, min(page - _SHOWN_PAGES // 2, last - _SHOWN_PAGES + 1))
    shown = range(first, min(first + _SHOWN_PAGES, last + 1))
    before = '<span class="btn btn-default disabled">&#171; Предишна</span>'
    if page > 1:
        before = f'<a href="{page_url(url, page - 1)}" class="btn btn-default prev">&#171; Предишна</a>'
    after = '<span class="btn btn-default disabled">Следваща &#187;</span>'
    if page < last:
        link, number = f'<a href="{page_url(url, page + 1)}"', page + 1
        before = f'{link} class="show-more" data-page="{number}">Покажи още обяви</a>{before}'
        after = f'{link} title="Страница {number}"  class="btn btn-default next">Следваща &#187;</a>'
    links = [before]
    for number in shown:
        css = "active current" if number == page else " not-current"
        link = f'<a href="{page_url(url, number)}" title="Страница {number}"'
        links.append(f'{link}  class="btn btn-default {css}">{number}</a>')
    if shown[-1] < last:
        links.append('<span class="more">...</span>')
    return _PAGER.format(links=" ".join([*links, after]))
