"""Our own descriptions: true sentences among decoys (other areas, floors, prices, years)."""

from html import escape, unescape
from random import Random

from sale_sofia.simulator.model import Age, Place, Prose
from sale_sofia.simulator.text import spaced

_OPENINGS = (
    "Предлагаме на Вашето внимание светъл имот в {hood}.",
    "НОВО ПРЕДЛОЖЕНИЕ! {hood}, тиха вътрешна улица, на две крачки от парка.",
    "Собственик предлага добре поддържан имот с изглед към зелен двор.",
    "Реф. № {ref}. Имот с характер в {hood}, подходящ и за инвестиция.",
    "*** БЕЗ КОМИСИОНА *** Просторен имот в близост до училище и пазар.",
)
_ROOMS = (
    "Разпределение: коридор, дневна с кухненски бокс, {n} спални, баня с тоалетна и балкон.",
    "Състои се от антре, всекидневна с трапезария, килер и две тераси с обща площ {small} кв.м.",
    "Застроената площ е {net} кв.м., а общите части са {small} кв.м.",
    "Към имота има мазе с площ {small} m&sup2; и таванско помещение.",
)
_HOUSE = (
    "Сградата е на {floors} етажа, а асансьорът спира на всеки от тях.",
    "Под нас, на {other}-ти етаж, живеят тихи съседи.",
    "Входът беше обновен през {year} г., покривът е ремонтиран през {year2} г.",
    "Сградата е с Акт 14, а Акт 16 се очаква до края на {year2} г.",
    "Изложение: юг и изток. Дограмата е петкамерна, подовете са с дъбов паркет.",
)
_MONEY = (
    "Цената за кв.м. излиза {per} EUR, а гаражът се заплаща отделно: {garage} евро.",
    "Има и втори имот на {other}-ти етаж с площ {area2} кв.м. на цена {price2} €.",
    "Цена от {per} до {per2} EUR/м2 според етажа. Паркомясто: {garage} €.",
    "Месечната такса за поддръжка е {fee} лв.",
    "Възможност за разсрочено плащане: 20% при договор, 80% при Акт 16.",
)
_PLACES = (
    "Метростанцията е на {walk} минути пеша.",
    "Наблизо: детска градина &quot;Щурче&quot;, аптека &amp; поща, спирка на {bus} автобус.",
    "Кварталът е спокоен, с широки алеи и стари дървета.",
    "Районът е с отлична комуникация и лесен достъп до околовръстното.",
)
_ENDINGS = (
    "Огледи след уговорка, включително в почивните дни.",
    "За повече информация и оглед се обадете. Говорим и на английски.",
    "&#9742; Отговаряме на всяко обаждане!&nbsp;",
    "Моля, звънете след 10:00 ч.",
)
_BREAKS = ("<br>", "<br><br>", " ", "<br />", "<br>  ")


def describe(rng: Random, place: Place, area: int, age: Age) -> Prose:
    """A description of a handful of sentences; a few adverts have a single one, some a long story."""
    sentences = [rng.choice(_OPENINGS)]
    for pool in (_ROOMS, _HOUSE, _MONEY, _PLACES):
        sentences += rng.sample(pool, rng.randrange(len(pool)))
    sentences.append(rng.choice(_ENDINGS))
    words = _words(rng, place, area, age)
    return _joined(rng, [sentence.format(**words) for sentence in sentences])


def _words(rng: Random, place: Place, area: int, age: Age) -> dict[str, object]:
    per = rng.randrange(1500, 4200, 10)
    return {
        "hood": escape(place.neighbourhood),
        "ref": rng.randrange(100_000, 999_999),
        "n": rng.randrange(1, 4),
        "small": rng.randrange(3, 14),
        "net": round(area * 0.86),
        "floors": rng.randrange(3, 19),
        "other": rng.choice((3, 4, 5, 6, 9)),
        "year": rng.randrange(2010, 2020),
        "year2": max(age.year, 2020) + rng.randrange(1, 4),
        "per": spaced(per),
        "per2": spaced(per + 350),
        "garage": spaced(rng.randrange(18, 60) * 1000),
        "area2": area + rng.randrange(5, 60),
        "price2": spaced(rng.randrange(90, 600) * 1000),
        "fee": rng.randrange(15, 90),
        "walk": rng.randrange(3, 16),
        "bus": rng.randrange(60, 120),
    }


def _joined(rng: Random, sentences: list[str]) -> Prose:
    html = sentences[0]
    for sentence in sentences[1:]:
        html += rng.choice(_BREAKS) + sentence
    return Prose(html, plain(html), glued(html))


def plain(html: str) -> str:
    """The text of our own markup: line breaks kept, white space squeezed in each line, no empty lines."""
    lines = unescape(html.replace("<br />", "<br>")).split("<br>")
    return "\n".join(squeezed for line in lines if (squeezed := " ".join(line.split())))


def glued(html: str) -> str:
    """The text of our own markup as bazar.bg strips it: line breaks vanish, white space is squeezed."""
    return " ".join(unescape(html.replace("<br />", "<br>").replace("<br>", "")).split())
