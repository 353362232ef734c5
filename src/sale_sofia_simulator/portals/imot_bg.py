"""imot.bg served: its searches, its projects, its removed adverts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random
from statistics import mean, median

from sale_sofia.listings.places import neighbourhoods
from sale_sofia_simulator import text
from sale_sofia_simulator.homes import ELSEWHERE, NO_SUCH_HOODS, make_home
from sale_sofia_simulator.model import KINDS, RUBRIC_NAMES, RUBRICS, Age, ImotAdvert, Money, Property
from sale_sofia_simulator.pieces import fill, fill_json, script_json
from sale_sofia_simulator.portal import Answer, Filters, Portal, Query, Scope, Search, SitemapPaths
from sale_sofia_simulator.text import TABLES, WORDS, decimals, leva, ordinal, slug, spaced
from sale_sofia_simulator.truth import REAL, Truth, imot_truth
from sale_sofia_simulator.twins import tilde_hoods, tilde_kinds, with_tildes

# imot.bg's own spellings of a price, a floor and the parameters of a property.

VAT_TEXTS: Mapping[str | None, str] = TABLES["vat_texts"]
_GROUND = {0: "Партер", -1: "Сутерен"}


def price_html(money: Money) -> str:
    """The price as every part of a page prints it."""
    euro, lev = spaced(round(money.amount_eur)), f"{decimals(leva(money.amount_eur), '.')} лв."
    return {
        "both": f"{euro} €<br>{lev}",
        "eur": f"{euro} €",
        "eur_word": f"{euro} EUR",
        "bgn": lev,
        "ask": "при запитване",
    }[money.layout]


def per_sqm(money: Money, area: int) -> str:
    """The price of a square metre in brackets, empty where no price is printed."""
    each = Money(money.layout, round(money.amount_eur / area))
    return f"({price_html(each).replace('<br>', ', ')}/m<sup>2</sup>)" if money.shown else ""


def floor_words(home: Property) -> str:
    """5-ти от 8, Партер от 4, Сутерен от 5; the bare number of storeys of a house."""
    if home.floor is None:
        return str(home.floors_total or "")
    return f"{_GROUND.get(home.floor) or ordinal(home.floor)} от {home.floors_total}"


def floor_in_line(home: Property) -> str:
    """The same inside a line of facts: 5-ти ет. от 8, Партер от 4, 3 ет."""
    words = floor_words(home)
    if home.floor is None:
        return f"{words} ет." if words else ""
    return words if home.floor < 1 else words.replace(" от", " ет. от")


def heating_in_line(home: Property) -> list[str]:
    """The heating words of a line of facts: only what there is, with a Cyrillic Е this time."""
    district = "ТЕЦ" if home.district_heating == "ДА" else home.district_heating
    return [word for word in ("Газ" if home.gas == "ДА" else "НЕ", district) if word and word != "НЕ"]


def age_words(age: Age) -> str:
    """Въведен в експлоатация 2019 г."""
    return f"{age.state} {age.span}".strip()


CHARSET = "windows-1251"
_TITLES = (
    "{words} - {area} кв.м / {price}, {seller} :: imot.bg Обява {tail}",
    "{words} - {area} кв.м / {price} :: imot.bg Обява {tail}",
    "{words}, {area} кв.м, {price} | imot.bg | {tail}",
)
_LONGEST_SUMMARY = 80
_STRANGERS = 500
_FORM_ROWS = 4


def listing_page(advert: ImotAdvert) -> bytes:
    """The bytes of the page; every character has a place in windows-1251."""
    home, place, seller = advert.home, advert.home.place, advert.seller
    where = f"град {place.city}, {place.neighbourhood}"
    crumbs, price = _breadcrumbs(home), price_html(advert.money)
    title = _TITLES[2 if advert.old_layout else seller.name is None].format(
        words=f"{advert.title} в {where}",
        area=home.area_sqm,
        price=price.replace("<br>", " » "),
        seller=seller.name,
        tail=advert.external_id[-6:],
    )
    # Other adverts of the same seller, or of the neighbourhood for a private person.
    rng = Random(f"similar {advert.external_id}")
    return fill(
        "imot_page",
        body="imot_detail.html",
        weight=30,
        title=title,
        description=f"imot.bg: Обява: {title}",
        canonical=advert.url,
        data=_data_scripts(advert, crumbs),
        advert=advert,
        rubric=RUBRICS[home.deal],
        mail=f"{Random(advert.external_id).getrandbits(2400):0600x}",
        where=where,
        price=price,
        each=per_sqm(advert.money, home.area_sqm),
        vat=VAT_TEXTS[home.vat] if advert.money.shown else "",
        stats=_stats(advert),
        similar="".join(_stranger(rng.randrange(_STRANGERS)) for _ in range(rng.randint(6, 12))),
        crumbs=crumbs,
        floor=floor_words(home),
        age=age_words(home.age),
    ).encode(CHARSET)


def _breadcrumbs(home: Property) -> dict[str, str]:
    """The way to an advert: the name of each step and its path."""
    place, path, crumbs = home.place, "/obiavi", {}
    steps = {
        RUBRIC_NAMES[home.deal]: RUBRICS[home.deal],
        f"град {place.city}": place.city_slug,
        place.neighbourhood: place.slug,
        home.kind.plural: home.kind.slug,
    }
    for name, word in steps.items():
        path = f"{path}/{word}"
        crumbs[name] = path
    return crumbs


def _data_scripts(advert: ImotAdvert, crumbs: dict[str, str]) -> str:
    """The JSON-LD: BreadcrumbList always, Offer where the layout has one."""
    home = advert.home
    steps = {name: f"https://www.imot.bg{path}" for name, path in {"Imot.bg": "", **crumbs}.items()}
    scripts = [fill_json("breadcrumbs", context="https://schema.org", steps=steps, nested=False)]
    if advert.offer:
        yard = f"двор {home.yard_sqm} кв.м" if home.yard_sqm else ""
        facts = (f"{home.area_sqm} кв.м", yard, floor_in_line(home), *heating_in_line(home), *home.features)
        offer = fill_json(
            "imot_offer",
            advert=advert,
            in_leva=advert.money.layout == "bgn",
            summary=f"{', '.join(filter(None, facts))[:_LONGEST_SUMMARY]} ...",
            images=[photo.replace("//big", "/big") for photo in advert.photos],
        )
        scripts.append(offer)
    spelled = [script_json(data, readable=True) for data in scripts]
    return "\n".join(
        f'      <script type="application/ld+json">\n{text}\n      </script>' for text in spelled
    )


@cache
def _stranger(which: int) -> str:
    rng = Random(f"imot stranger {which}")
    home = make_home(rng, 0)
    stamp = f"{rng.randint(1_600_000_000, 1_776_000_000)}{rng.randrange(100_000):05d}"
    return fill(
        "imot_similar_item",
        id=f"1{home.kind.letter('sale')}{stamp}",
        slug=f"prodava-{home.kind.advert_slug}-grad-sofiya-{home.place.slug}",
        promoted=rng.random() < 0.5,  # noqa: PLR2004
        trend=rng.choice(("", "", " UP", " DOWN")),
        tail=stamp[-3:],
        title=f"Продава {home.kind.label}",
        price=price_html(Money("both", home.price_eur)),
        home=home,
    )


def _stats(advert: ImotAdvert) -> str:
    """The statistics form: 972 options never closed; its first row is the advert's type, town and place."""
    kind, place = advert.home.kind, advert.home.place
    town = f"град {place.city}"
    own = f"ida={advert.external_id}&pt={kind.number}~~~~"
    label = f"{kind.label}, {town}, {place.neighbourhood}"
    graph = f"/pcgi/graph.cgi?{own}&vi={label}~~~~&kv={advert.home.area_sqm}"
    row = _form_row(1)
    for choice in (kind.label, town, place.neighbourhood):
        end = row.find(f'">{choice}\n')
        start = row.rfind("<option value", 0, end)
        row = row if end < 0 else f"{row[:start]}<option selected value{row[start + len('<option value') :]}"
    return fill(
        "imot_stats",
        advert=advert,
        graph=graph,
        words=WORDS,
        items=row + "".join(_form_row(number) for number in range(2, _FORM_ROWS + 1)),
    )


@cache
def _form_row(row: int) -> str:
    towns = [(2 * i + 1, f"град {town}") for i, town in enumerate(WORDS["towns"])]
    return fill(
        "imot_stats_item",
        row=row,
        kinds=[("0", ""), *((kind.number, kind.label) for kind in KINDS)],
        towns=[("", ""), *towns],
        hoods=[("", ""), *((hood.id, hood.name) for hood in neighbourhoods())],
    )


# Search pages of imot.bg: forty cards, projects and news between them, at most a thousand results.

PAGE_SIZE = 40
MOST_RESULTS = 1000
_NEIGHBOURS = 2
_LONGEST_TEXT = 100
_PROJECT_KINDS = "1-СТАЕН, 2-СТАЕН, 3-СТАЕН"


def search_page(
    adverts: Sequence[ImotAdvert], *, url: str, page: int, total: int, most: int = MOST_RESULTS
) -> bytes:
    """Page `page` of the search at `url`; `adverts` are the ones on it, `total` all that were found."""
    rng = Random(f"{url} {page}")
    project, (headline, address) = make_project(rng), text.headline(rng)
    # How it is reckoned, the price, the price of a m².
    prices = [advert.home.price_eur for advert in adverts]
    each = [advert.home.price_eur / advert.home.area_sqm for advert in adverts]
    ways = (("средно аритметично", mean), ("медианна стойност", median)) if adverts else ()
    return _rendered(
        url,
        page,
        total,
        most,
        project=project,
        adverts=adverts,
        cards=[
            {"advert": advert, "price": price_html(advert.money), "info": _info_line(advert)}
            for advert in adverts
        ],
        first=(page - 1) * PAGE_SIZE,
        count=f"{most}+" if total > most else total,
        deal="Дава под наем" if "/naemi" in url else "Продава",
        averages=[(how, by(prices), by(each)) for how, by in ways],
        headline=headline,
        slug=address,
    )


def empty_search_page(url: str) -> bytes:
    """A search that the portal itself says found nothing."""
    return _rendered(url, 1, 0, MOST_RESULTS, project=None, averages=())


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


def _rendered(url: str, page: int, total: int, most: int, **parts: object) -> bytes:
    last = page_count(total, most)
    heading = f"Обяви за имоти: {url.rpartition('/obiavi/')[2]}"
    return fill(
        "imot_page",
        body="imot_search.html",
        weight=30,
        title=f"{heading} | Imot.bg",
        description=f"Разгледайте над {total} обяви • imot.bg",
        canonical=page_url(url, page),
        following=next_url(url, page, total, most),
        short_url=url.removeprefix("https:"),
        heading=heading,
        link=f"{Random(url).getrandbits(24):06x}",
        url=url,
        page_url=page_url,
        page=page,
        near=[number for number in range(1, last + 1) if abs(number - page) <= _NEIGHBOURS],
        last=last,
        total=total,
        **parts,
    ).encode(CHARSET)


def _info_line(advert: ImotAdvert) -> str:
    """Area, street, floor, heating, age, the beginning of the description, telephone.

    The first words are without markup, as the portal cuts them: an entity may be cut in two.
    """
    home = advert.home
    words = " ".join(advert.prose.html.replace("<br />", " ").replace("<br>", " ").split())
    facts = (
        f"{home.area_sqm} кв.м",
        home.place.street,
        f"двор {home.yard_sqm} кв.м" if home.yard_sqm else "",
        floor_in_line(home),
        *heating_in_line(home),
        age_words(home.age),
        f"{words[:_LONGEST_TEXT]} ...",
        f"тел.: {advert.seller.phones[0]}",
    )
    return ", ".join(fact for fact in facts if fact)


@dataclass(frozen=True, slots=True)
class Project:
    """A building that is still to be built: another template, no price, never a listing."""

    number: int
    label: str
    neighbourhood: str
    slug: str
    street: str
    firm: str
    phone: str
    ready: int

    @property
    def url(self) -> str:
        """The address of its page: four digits where an advert has its id."""
        where = f"grad-sofiya-{self.slug}-{slug(self.street)}"
        return f"https://www.imot.bg/obiava-{self.number}-{slug(self.label)}-{where}"


def make_project(rng: Random) -> Project:
    """A project somewhere in Sofia."""
    hood = rng.choice(neighbourhoods())
    return Project(
        number=rng.randint(1000, 9999),
        label=rng.choice(("Жилищна сграда", "Жилищен комплекс")),
        neighbourhood=hood.name,
        slug=hood.slug,
        street=rng.choice(WORDS["streets"]),
        firm=text.firm(rng, builder=True),
        phone=text.mobile(rng),
        ready=rng.randint(2026, 2030),
    )


def project_page(project: Project) -> bytes:
    """The page of a project."""
    folder = f"https://cdn3.focus.bg/imot/photosnb/{str(project.number)[-3:]}//big1/{project.number}"
    title = f"{project.label} в град София, {project.neighbourhood} :: imot.bg Обява {project.number}"
    return fill(
        "imot_page",
        body="imot_project.html",
        weight=8,
        title=title,
        description=f"imot.bg: {title}",
        canonical=project.url,
        project=project,
        place=f"град София {project.neighbourhood}",
        photos=[f"{folder}_{code}.jpg" for code in ("NH", "W7", "iC")],
        kinds=_PROJECT_KINDS,
    ).encode(CHARSET)


_SEARCH = re.compile(
    r"(?P<base>/obiavi/(?P<rubric>[\w-]+)(?P<rest>(?:/[\w-]+)*?))(?:/p-(?P<page>[1-9]\d*))?/?"
)
_DEALS = {rubric: deal for deal, rubric in RUBRICS.items()}
_HOME = "grad-sofiya"
_CITIES = frozenset({_HOME, "grad-targovishte"})
_KINDS = frozenset(kind.slug for kind in KINDS)
_HOODS = frozenset(slug for _, slug in ELSEWHERE) | {hood.slug for hood in neighbourhoods()} - NO_SUCH_HOODS


class ImotPortal(Portal[ImotAdvert]):
    """imot.bg shows at most a thousand results of a search, and says of more only that there are."""

    site = "imot.bg"
    content_type = "text/html"
    charset = CHARSET
    listing_path = re.compile(r"/obiava-(\d[a-z]\d{15})(?:-[^/]*)?/?")
    forbidden = "/pcgi/"
    page_size = PAGE_SIZE
    most_results = MOST_RESULTS
    sitemap_paths = SitemapPaths("/sitemap/index.xml", "/sitemap/listings-{number}.xml.gz")

    @cached_property
    def _projects(self) -> dict[str, Project]:
        """The new buildings that search pages have shown, by their paths."""
        return {}

    def start_urls(self, *, split: bool = False) -> list[str]:
        """Both deals of Sofia, and of another city where it has adverts."""
        scopes = self.city_searches(_HOME, ("hood", "kind"), split=split)
        return [self.origin.base_url + search_path(scope) for scope in scopes]

    def search(self, path: str, query: Query) -> Search | None:
        """`/obiavi/<rubric>[/<city>][/<neighbourhood>][/<type>][/p-<page>][?type_home=2~3~&raioni=9~10~]`."""
        match = _SEARCH.fullmatch(path)
        scope = _scope(match["rubric"], match["rest"].split("/")[1:]) if match else None
        if not match or not scope:
            return None
        hoods = _with_more(scope.hood, tilde_hoods(query, "raioni"))
        filters = Filters(hoods, _with_more(scope.kind, tilde_kinds(query, "type_home")))
        first = match["base"] + with_tildes(query, "type_home", "raioni")
        return Search(scope, int(match["page"] or 1), first, filters)

    def gone(self, external_id: str) -> Answer:
        """Every second id is redirected to its category, the others are not found."""
        rubric = RUBRICS["rent" if external_id.startswith("2") else "sale"]
        return self.missing() if int(external_id[-1]) % 2 else self.moved(f"/obiavi/{rubric}/{_HOME}")

    def truth(self, advert: ImotAdvert) -> Truth:
        """All fields of the advert."""
        return imot_truth(advert)

    def render(self, advert: ImotAdvert) -> bytes:
        """The page of the advert."""
        return listing_page(advert)

    def _results(self, search: Search) -> bytes:
        """Forty results; the last page has fewer where the cap is not a multiple of forty."""
        numbers, url = self.matches(search), REAL[self.site] + search.path
        if not numbers:
            return self.origin.body(empty_search_page(url))
        page = min(search.page, page_count(len(numbers), self.most))
        project = make_project(Random(f"{url} {page}"))
        self._projects[project.url.removeprefix(REAL[self.site])] = project
        adverts, total = self.shown(numbers[: self.most], page), self.announced(search)
        return self.origin.body(search_page(adverts, url=url, page=page, total=total, most=self.most))

    def other(self, path: str) -> Answer:
        """A new building that some search page has shown; of a part that does not exist perhaps its city."""
        if project := self._projects.get(path):
            return self._page(self.origin.body(project_page(project)))
        match = _SEARCH.fullmatch(path) if self.options.parts_redirect else None
        city = match["rest"].split("/")[1:2] if match else []
        scope = _scope(match["rubric"], city) if match and city else None
        return self.moved(search_path(scope)) if scope else self.missing()


def search_path(scope: Scope) -> str:
    """The address of a search, from its path on."""
    parts = (RUBRICS[scope.deal or "sale"], scope.city, scope.hood, scope.kind)
    return "/obiavi/" + "/".join(part for part in parts if part)


def _with_more(word: str | None, more: list[str]) -> tuple[str, ...]:
    """The word of the path and those that the query adds to it."""
    return tuple(dict.fromkeys([word, *more])) if word and more else ()


def _scope(rubric: str, parts: list[str]) -> Scope | None:
    """The words in their order, each at most once; any other word is no search."""
    words: dict[str, str] = {}
    for name, allowed in (("city", _CITIES), ("hood", _HOODS), ("kind", _KINDS)):
        if parts and parts[0] in allowed:
            words[name] = parts.pop(0)
    nowhere = "hood" in words and "city" not in words
    if parts or nowhere or rubric not in _DEALS:
        return None
    return Scope(_DEALS[rubric], **words)
