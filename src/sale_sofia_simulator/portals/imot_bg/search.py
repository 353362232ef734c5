"""Search pages of imot.bg: forty cards, projects and news between them, at most a thousand results."""

from sale_sofia_simulator.portals.imot_bg.page import small_photo
from sale_sofia_simulator.portals.imot_bg.words import VAT_TEXTS
from sale_sofia_simulator.portals.imot_bg.words import floor_in_line
from sale_sofia_simulator.portals.imot_bg.words import heating_in_line
from sale_sofia_simulator.portals.imot_bg.words import price_html
from sale_sofia_simulator.model import ImotAdvert
from sale_sofia_simulator.pieces import fill
from dataclasses import dataclass
from random import Random
from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator import names
from sale_sofia_simulator.portals.imot_bg.page import gallery_section
from sale_sofia_simulator.portals.imot_bg.page import CHARSET
from sale_sofia_simulator.portals.imot_bg.page import page
from sale_sofia_simulator.pieces import ballast
from sale_sofia_simulator.text import slug
from collections.abc import Sequence
from statistics import mean
from statistics import median
from sale_sofia_simulator.portals.imot_bg.page import page as whole_page
from sale_sofia_simulator.model import DEAL_WORDS
from sale_sofia_simulator.text import spaced

# The card of an imot.bg advert on a search page.

_PROMO = '<img src="https://imot.bg/images/picturess/icons/{tier}-wrap.svg" class="promoLine" alt="status" >'
_NEW = "<span><strong>НОВА ОБЯВА</strong></span>"
_SMALL = '<a href="{url}" class="saveSlink"><img src="{photo}" alt="Обява {title}" loading="lazy"></a>'
_NO_PHOTO = "//www.imot.bg/images/picturess/nophoto_490x341.svg"
_LONGEST_TEXT = 100


def advert_card(advert: ImotAdvert) -> str:
    """The card: price, one comma-joined line of facts, and the firm; a private person is not named."""
    url = advert.url.removeprefix("https:")
    place = advert.home.place
    photos = [small_photo(photo) for photo in advert.photos]
    return fill(
        "imot_card",
        id=advert.external_id,
        url=url,
        title=advert.title,
        place=f"град {place.city}, {place.neighbourhood}",
        tier=advert.tier,
        promo=_PROMO.format(tier=advert.tier) if advert.tier else "",
        photo=photos[0] if photos else _NO_PHOTO,
        small="\n        ".join(
            _SMALL.format(url=url, photo=photo, title=advert.title) for photo in photos[1:4]
        ),
        trend=advert.trend,
        price=price_html(advert.money),
        vat=_vat(advert),
        new=_NEW if not advert.corrected and not advert.tier else "",
        info=info_line(advert),
        seller=_seller(advert),
        photos=f" <strong>и {len(photos)} снимки</strong>" if len(photos) > 1 else "",
    )


def info_line(advert: ImotAdvert) -> str:
    """Area, street, floor, heating, age, the beginning of the description, telephone."""
    home = advert.home
    facts = [
        f"{home.area_sqm} кв.м",
        home.place.street or "",
        f"двор {home.yard_sqm} кв.м" if home.yard_sqm else "",
        floor_in_line(home),
        *heating_in_line(home),
        f"{home.age.state} {home.age.span}".strip(),
        f"{_beginning(advert)} ...",
        f"тел.: {advert.seller.phones[0]}",
    ]
    return ", ".join(fact for fact in facts if fact)


def _beginning(advert: ImotAdvert) -> str:
    """The first words without markup, as the portal cuts them: an entity may be cut in two."""
    return " ".join(advert.prose.html.replace("<br />", " ").replace("<br>", " ").split())[:_LONGEST_TEXT]


def _vat(advert: ImotAdvert) -> str:
    excluded = advert.home.vat == "excluded" and advert.money.shown
    return f"<span>{VAT_TEXTS['excluded']}</span>" if excluded else ""


def _seller(advert: ImotAdvert) -> str:
    seller = advert.seller
    if seller.kind == "private":
        return ""
    return fill("imot_card_seller", handle=seller.handle, name=seller.name, address=seller.address)


# Pages of whole new buildings on imot.bg: another template, no price, never a listing.

_WHAT = ("Жилищна сграда", "Жилищен комплекс")
_KINDS = "1-СТАЕН, 2-СТАЕН, 3-СТАЕН"


@dataclass(frozen=True, slots=True)
class Project:
    """A building that is still to be built."""

    number: int
    what: str
    neighbourhood: str
    slug: str
    street: str
    firm: str
    phone: str
    ready: int

    @property
    def url(self) -> str:
        """The address of its page: four digits where an advert has its id."""
        return f"https://www.imot.bg/obiava-{self.number}-{slug(self.what)}-grad-sofiya-{self.slug}-{slug(self.street)}"


def make_project(rng: Random) -> Project:
    """A project somewhere in Sofia."""
    hood = rng.choice(neighbourhoods())
    return Project(
        number=rng.randint(1000, 9999),
        what=rng.choice(_WHAT),
        neighbourhood=hood.name,
        slug=hood.slug,
        street=names.street(rng),
        firm=names.firm(rng, builder=True),
        phone=names.mobile(rng),
        ready=rng.randint(2026, 2030),
    )


def project_card(project: Project) -> str:
    """Its card among the adverts of a search."""
    return fill(
        "imot_project_card",
        url=project.url.removeprefix("https:"),
        tail=str(project.number)[-3:],
        number=project.number,
        what=project.what,
        place=f"град София, {project.neighbourhood}",
        handle=names.handle(project.firm),
    )


def project_page(project: Project) -> bytes:
    """Its page."""
    title = f"{project.what} в град София, {project.neighbourhood} :: imot.bg Обява {project.number}"
    body = fill(
        "imot_project",
        url=project.url,
        number=project.number,
        what=project.what,
        place=f"град София {project.neighbourhood}",
        street=project.street,
        gallery=_gallery(project),
        kinds=_KINDS,
        ready=project.ready,
        firm=project.firm,
        handle=names.handle(project.firm),
        phone=project.phone,
        ballast=ballast(12, "imot project"),
    )
    return page(body, title=title, description=f"imot.bg: {title}", canonical=project.url, weight=8).encode(
        CHARSET
    )


def _gallery(project: Project) -> str:
    folder = f"https://cdn3.focus.bg/imot/photosnb/{str(project.number)[-3:]}//big1/{project.number}"
    summary = f"В сградата се продават: {_KINDS}, Срок на завършване: декември {project.ready} г., "
    title = f"Ново Строителство {project.what}"
    photos = tuple(f"{folder}_{code}.jpg" for code in ("NH", "W7", "iC"))
    return gallery_section(title, f", Ново Строителство, {project.what}", summary, photos, "")



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


