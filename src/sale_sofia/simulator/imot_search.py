"""Search pages of imot.bg: forty cards, projects and news between them, at most a thousand results."""

from collections.abc import Sequence
from random import Random
from statistics import mean, median

from sale_sofia.simulator import names
from sale_sofia.simulator.imot_card import advert_card
from sale_sofia.simulator.imot_page import CHARSET
from sale_sofia.simulator.imot_page import page as whole_page
from sale_sofia.simulator.imot_project import Project, make_project, project_card
from sale_sofia.simulator.kinds import DEAL_WORDS
from sale_sofia.simulator.model import ImotAdvert
from sale_sofia.simulator.pieces import ballast, fill
from sale_sofia.simulator.text import slug, spaced

PAGE_SIZE = 40
MOST_RESULTS = 1000
NOTHING_FOUND = "Няма намерени обяви"
_AVERAGE = (
    '          <div class="params2" style="display:inline-block;{style}">Средна цена на имотите в извадката: '
    "<strong> {price} euro</strong><br>Средна цена на кв.м: <strong>{each} euro</strong>.<br/>"
    "/Цените са определени чрез <b>{how}</b>/</div>"
)
_PAGER = """
  <div class="pagination-wrapper MT20 MB20">
  <div class="pagination">
{links}
  </div>
</div>
"""
_DOTS = '    <div class="a dots"><img src="https://www.imot.bg/images/picturess/icons/dots.svg"></div>'
_NEIGHBOURS = 2


def search_page(
    adverts: Sequence[ImotAdvert], *, url: str, page: int, total: int, most: int = MOST_RESULTS
) -> bytes:
    """Page `page` of the search at `url`; `adverts` are the ones on it, `total` all that were found."""
    rng = Random(f"{url} {page}")
    cards = [advert_card(advert) for advert in adverts]
    cards.insert(0, project_card(make_project(rng)))
    return _rendered(
        url,
        page,
        total,
        most=most,
        cards="".join(cards) + _news(rng),
        count_line=_count_line(url, page, len(adverts), total, most),
        averages=_averages(adverts),
    )


def promoted_project(url: str, page: int) -> Project:
    """The new building whose card stands first on this page."""
    return make_project(Random(f"{url} {page}"))


def empty_search_page(url: str) -> bytes:
    """A search that the portal itself says found nothing."""
    found_nothing = f'    <div class="item-not-found" style="text-align:center;">{NOTHING_FOUND}</div>\n'
    return _rendered(url, 1, 0, most=MOST_RESULTS, cards=found_nothing, count_line="", averages="")


def removed_page(adverts: Sequence[ImotAdvert], *, category: str, total: int) -> bytes:
    """What the address of a removed advert answers: the first page of its category."""
    return search_page(adverts, url=category, page=1, total=total)


def page_url(url: str, page: int) -> str:
    """The address of a page of a search: its number stands before the query."""
    path, mark, query = url.partition("?")
    return url if page == 1 else f"{path}/p-{page}{mark}{query}"


def page_count(total: int, most: int = MOST_RESULTS) -> int:
    """How many pages the portal shows when it shows at most `most` results."""
    return max(1, -(-min(total, most) // PAGE_SIZE))


def next_url(url: str, page: int, total: int, most: int = MOST_RESULTS) -> str | None:
    """The address of the next page, nothing on the last."""
    return page_url(url, page + 1) if page < page_count(total, most) else None


def _rendered(  # noqa: PLR0913
    url: str, page: int, total: int, *, most: int, cards: str, count_line: str, averages: str
) -> bytes:
    address = page_url(url, page)
    heading = f"Обяви за имоти: {url.rpartition('/obiavi/')[2]}"
    body = fill(
        "imot_search",
        short_url=url.removeprefix("https:"),
        map_url=url.removeprefix("https:").replace("/obiavi/", "/obiavimap/"),
        heading=heading,
        place=heading,
        link=f"{Random(url).getrandbits(24):06x}",
        count_line=count_line,
        averages=averages,
        pager=_pager(url, page, page_count(total, most)) if total else "",
        cards=cards,
    )
    following = next_url(url, page, total, most)
    return whole_page(
        body + f"<script>{ballast(12, 'imot search')}</script>\n",
        title=f"{heading} | Imot.bg",
        description=f"Разгледайте над {total} обяви • imot.bg",
        canonical=address,
        links=f'<link rel="next" href="{following}" />' if following else "",
    ).encode(CHARSET)


def _count_line(url: str, page: int, shown: int, total: int, most: int) -> str:
    first = (page - 1) * PAGE_SIZE
    found = f"{most}+" if total > most else total
    deal = DEAL_WORDS["rent" if "/naemi" in url else "sale"]
    return f'<div class="SearchInfoLine"> {first + 1} - {first + shown} от общо {found} обяви - {deal}</div>'


def _averages(adverts: Sequence[ImotAdvert]) -> str:
    if not adverts:
        return ""
    prices = [advert.home.price_eur for advert in adverts]
    each = [advert.home.price_eur / advert.home.area_sqm for advert in adverts]
    rows = (("средно аритметично", mean, ""), ("медианна стойност", median, " float:right;"))
    return "\n".join(
        _AVERAGE.format(style=style, price=spaced(round(by(prices))), each=spaced(round(by(each))), how=how)
        for how, by, style in rows
    )


def _news(rng: Random) -> str:
    headline = names.headline(rng)
    return fill("imot_news", headline=headline, slug=f"{rng.randint(1_000_000, 1_099_999)}-{slug(headline)}")


def _pager(url: str, page: int, last: int) -> str:
    near = [n for n in range(1, last + 1) if abs(n - page) <= _NEIGHBOURS]
    links = [_step(url, page - 1, "prev", "Назад", there=page > 1)]
    links += [_number(url, n, page) for n in near]
    if near[-1] < last:
        links.append(_DOTS)
        links.append(f'    <div class="a saveSlink gray">{last}</div>')
    links.append(_step(url, page + 1, "next", "Напред", there=page < last))
    return _PAGER.format(links="\n".join(links))


def _number(url: str, number: int, current: int) -> str:
    if number == current:
        return f'    <div class="a saveSlink selected">{number}</div>'
    return f'    <a href="{page_url(url, number)}" class="saveSlink ">{number}</a>'


def _step(url: str, number: int, css: str, word: str, *, there: bool) -> str:
    if there:
        return f'    <a href="{page_url(url, number)}" class="saveSlink {css}"><span>{word}</span></a>'
    return f'    <div class="a {css} gray"><span>{word}</span></div>'
