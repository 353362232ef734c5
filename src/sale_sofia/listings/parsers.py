"""From the texts of one field to facts. Each parser reads a whole text or returns nothing: it never guesses.

A site's table names them (`parse: price`); each takes the field's name, its texts and the arguments of the
table, and returns facts under the names of `Listing`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import phonenumbers

from sale_sofia.listings.dates import before_expiry, parse_iso, parse_moment
from sale_sofia.listings.numbers import (
    parse_area,
    parse_count,
    parse_farmland,
    parse_floor,
    parse_money,
    says_no_price,
)
from sale_sofia.listings.places import parse_place
from sale_sofia.listings.settings import PHONES_MOST_PARTS
from sale_sofia.listings.text import match_key, squeeze
from sale_sofia.listings.vocabulary import meaning, meanings

# Telephone numbers in one form, E.164, as a buyer can dial them from anywhere.

_REGION = "BG"
_BETWEEN_NUMBERS = re.compile(r"[,;\n]|\sи\s|/(?=\s*[0+])")
_NOT_DIGITS = re.compile(r"[^0-9+]")
_LOCAL = re.compile(r"[1-9][0-9]{0,6}")
"""A number without the code of its town; the library takes its first digits for one."""
_MOBILE = re.compile(r"0(8[7-9][0-9]{7})")
"""Nearly every number, and always valid: the library would take a twentieth of a page's time for it."""
_REMEMBERED = 4096  # brokers repeat from advert to advert


def parse_phones(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return every valid number in the texts once, in order; masked and broken ones are left out.

    Only the first `PHONES_MOST_PARTS` parts are read.
    """
    parts = (part for text in texts for part in _BETWEEN_NUMBERS.split(text, PHONES_MOST_PARTS))
    numbers: dict[str | None, None] = {}
    for part in islice(parts, PHONES_MOST_PARTS):
        # One number, in which a slash may follow the code of the town, or several with slashes between.
        whole = parse_phone(part.strip())
        pieces = [] if whole else part.split("/", PHONES_MOST_PARTS)
        numbers |= dict.fromkeys([whole, *(parse_phone(piece.strip()) for piece in pieces)])
    return tuple(number for number in numbers if number)


@lru_cache(_REMEMBERED)
def parse_phone(text: str) -> str | None:
    """Return a number as E.164; None when it is not valid."""
    if match := _MOBILE.fullmatch(text.replace(" ", "")):
        return f"+359{match[1]}"
    if _LOCAL.fullmatch(_NOT_DIGITS.sub("", text)):
        return None
    try:
        number = phonenumbers.parse(text, _REGION)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


# The offer: deal, type and rooms, from words, numbers or pieces of an address.

Facts = dict[str, Any]
Texts = tuple[str, ...]

_ROOM_COUNT = re.compile(r"(\d) ?-? ?ста(?:ен|йни)")


def offer(_name: str, texts: Texts) -> Facts:
    """Deal, type and rooms from words like "Продава 2-СТАЕН"."""
    key = match_key(texts[0])
    for phrase, deal_kind in meanings("deals").items():
        if key.startswith(phrase + " ") and (facts := property_type(_name, (key[len(phrase) + 1 :],))):
            return {"deal": deal_kind, **facts}
    return {}


def deal(_name: str, texts: Texts) -> Facts:
    """Whether it is for sale or for rent, from a word or a piece of an address."""
    return {"deal": meaning("deals", texts[0]) or meaning("deal_slugs", texts[0])}


def property_type(_name: str, texts: Texts) -> Facts:
    """Type and rooms from words like "3-стаен" or "Мезонет"."""
    found = meaning("types", _ROOM_COUNT.sub(r"\1-стаен", match_key(texts[0])))
    return {"property_type": found[0], "rooms": found[1]} if found else {}


def offer_code(_name: str, texts: Texts, *, codes: Mapping[Any, Sequence[str]]) -> Facts:
    """Deal and type from the number of a portal's category."""
    kinds = next((kinds for code, kinds in codes.items() if str(code) == texts[0]), None)
    return {"deal": kinds[0], "property_type": kinds[1]} if kinds else {}


def offer_slug(_name: str, texts: Texts) -> Facts:
    """Deal, type and rooms from pieces of an address like "apartament-za-prodazhba", "prodava" or "garaj"."""
    return {name: fact for text in texts for name, fact in _slug(text).items()}


def _slug(text: str) -> Facts:
    if kind := meaning("type_slugs", text):
        return {"property_type": kind[0], "rooms": kind[1]}
    if deal_kind := meaning("deal_slugs", text):
        return {"deal": deal_kind}
    for words, deal_kind in meanings("deal_slugs").items():
        kind = meaning("type_slugs", text.removesuffix(f"-{words}")) if text.endswith(f"-{words}") else None
        if kind:
            return {"deal": deal_kind, "property_type": kind[0], "rooms": kind[1]}
    return {}


Parser = Callable[..., Facts]

_BUILDING_STATE = re.compile(r"(?P<state>[^\d]*?)(?: ?(?P<years>\d{4}(?: ?- ?\d{4})?)(?: ?г(?:од)?\.?)?)?")
_LISTED = re.compile(r",|\n| / ")
_YEAR = re.compile(r"(\d{4})(?: ?г(?:од)?\.?)?")
_YEARS_OF_SOFIA = range(1850, 2101)
_HALF_CIRCLE = 180.0
_MOST_DEGREES = {"lat": 90.0}
_BARE_NUMBER = re.compile(r"\d[\d\s.,]*")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_FAMILY_ID = re.compile(r"(?:^|/)([12][a-z]\d{15})(?:_|$)")


def text(name: str, texts: Texts) -> Facts:
    """The text itself on one line."""
    return {name: squeeze(texts[0]) or None}


def lines(name: str, texts: Texts) -> Facts:
    """The texts themselves, line by line."""
    return {name: "\n".join(texts) or None}


def names(name: str, texts: Texts) -> Facts:
    """All texts, each once."""
    return {name: tuple(dict.fromkeys(squeeze(text) for text in texts))}


def number(name: str, texts: Texts) -> Facts:
    """A whole number, thousands apart or not."""
    return {name: parse_count(texts[0])}


def coordinate(name: str, texts: Texts, *, unless: tuple[float, ...] = ()) -> Facts:
    """A latitude or longitude in decimal degrees; `unless` lists the portal's values for unknown."""
    match = re.fullmatch(r"-?\d{1,3}\.\d{1,30}", texts[0].strip())
    degrees = float(match[0]) if match else None
    within = degrees is not None and abs(degrees) <= _MOST_DEGREES.get(name, _HALF_CIRCLE)
    return {name: degrees} if within and degrees not in unless else {}


def urls(name: str, texts: Texts, *, base: str = "") -> Facts:
    """Absolute addresses; one without a scheme means https, one without a host the portal's own: `base`."""
    addresses: dict[str, None] = {}
    for address in texts:
        if address.startswith("//"):
            absolute = f"https:{address}"
        elif address.startswith("/"):
            absolute = base + address
        else:
            absolute = f"{base}/{address}" if base and not _SCHEME.match(address) else address
        if absolute.startswith("https://"):
            addresses[absolute] = None
    return {name: tuple(addresses)}


def price(_name: str, texts: Texts) -> Facts:
    """The price in EUR and, where printed, in leva; a text that is no price raises a flag."""
    printed = "\n".join(texts)
    money = parse_money(printed)
    if money is None:
        return {} if says_no_price(printed) else {"flags": ("price_unreadable",)}
    if not money.agrees:
        return {"flags": ("currency_conflict",)}
    return {"price_eur": money.eur, "price_bgn": money.bgn}


def previous_price(_name: str, texts: Texts) -> Facts:
    """The crossed-out price; of one printed in both currencies, the one in EUR."""
    sums = [money for printed in texts if (money := parse_money(printed)) and money.agrees]
    return {"previous_price_eur": min(sums, key=lambda money: money.bgn is not None).eur} if sums else {}


def vat(_name: str, texts: Texts) -> Facts:
    """Whether the price includes VAT."""
    return {"vat": meaning("vat", texts[0])}


def area(name: str, texts: Texts, *, unit: str = "") -> Facts:
    """Square metres; `unit` is that of a lone number, which a portal prints beside its label."""
    printed = texts[0]
    return {name: parse_area(f"{printed} {unit}" if _BARE_NUMBER.fullmatch(printed) else printed)}


def farmland(_name: str, texts: Texts) -> Facts:
    """The area of farmland, on a portal that prints decares as if they were square metres."""
    return {"area_sqm": parse_farmland(texts[0])}


def floor(_name: str, texts: Texts, *, bare: str = "storeys") -> Facts:
    """The floor and the building's storeys; `bare` says what a lone number means on this portal."""
    numbers = parse_floor(texts[0])
    if numbers is None:
        return {}
    if numbers.bare and bare == "storeys":
        return {"storeys": numbers.floor}
    return {"floor": numbers.floor, "floors_total": numbers.total}


def building(name: str, texts: Texts, *, words: Mapping[str, str] | None = None) -> Facts:
    """Construction, year and state from words like "Тухла, Въведен в експлоатация 2003 г.".

    `words` are a portal's own, and then only those count: such as the meaning of a "Да" under a label.
    """
    printed = texts[0] if words is None else words.get(squeeze(texts[0]), "")
    parts = dict.fromkeys(filter(None, _LISTED.split(printed)))  # each once
    stated = [fact for part in parts for fact in _building_part(squeeze(part)).items()]
    values = {(key, value) for key, value in stated if value is not None}
    if len(values) > len(dict(values)):  # brick and panel at once
        return {"flags": (f"{name}_conflict",)}
    return dict(stated) | dict(values)


def _building_part(part: str) -> Facts:
    if construction := meaning("construction", part):
        return {"construction": construction}
    if state := meaning("building_states", part):
        return {"under_construction": state[0], "act_status": state[1]}
    match = _BUILDING_STATE.fullmatch(part)
    state = meaning("building_states", match["state"]) if match else None
    if not match or not (state or not match["state"]):
        return {}
    facts = {"under_construction": state[0], "act_status": state[1]} if state else {}
    return {**facts, **(year("year_built", (match["years"],)) if match["years"] else {})}


def year(name: str, texts: Texts) -> Facts:
    """A year; a decade is not one."""
    match = _YEAR.fullmatch(squeeze(texts[0]))
    return {name: int(match[1])} if match and int(match[1]) in _YEARS_OF_SOFIA else {}


def heating(_name: str, texts: Texts, *, yes: str) -> Facts:
    """A yes-or-no flag about one kind of heating, which sometimes names another kind instead."""
    flag = meaning("heating_flags", texts[0])
    if flag in (None, "no"):
        return {}
    return {"heating": (yes if flag == "yes" else flag,)}


def heating_words(_name: str, texts: Texts) -> Facts:
    """Kinds of heating by their names."""
    kinds: list[str | None] = []
    for part in (part for printed in texts for part in printed.split(" / ")):
        whole = meaning("heating_words", part)  # a name may hold a comma itself
        kinds += [whole] if whole else [meaning("heating_words", word) for word in part.split(",")]
    return {"heating": tuple(dict.fromkeys(kind for kind in kinds if kind))}


def furnishing(name: str, texts: Texts) -> Facts:
    """How much furniture comes with it."""
    return {name: meaning("furnishing", texts[0])}


def condition(name: str, texts: Texts) -> Facts:
    """The condition of the interior."""
    return {name: meaning("conditions", texts[0])}


def yes_no(name: str, texts: Texts) -> Facts:
    """Whether it is so, from "да" or "не"."""
    return {name: meaning("yes_no", texts[0])}


def features(name: str, texts: Texts, *, between: str | None = None) -> Facts:
    """The portal's list of features, and the facts in it; `between` separates those in one text."""
    facts: Facts = names(
        name, tuple(part for text in texts for part in text.split(between)) if between else texts
    )
    for feature in facts[name]:
        facts.update(meaning("features", feature) or {})
    return facts


def place(_name: str, texts: Texts, *, town: str | None = None) -> Facts:
    """City, district and neighbourhood; two towns give none, unknown words are flagged.

    `town` is the one that the text leaves out.
    """
    text = squeeze(texts[0])
    where = parse_place(f"{town}, {text}" if town else text)
    if where.conflict:
        return {"flags": ("place_conflict",)}
    facts: Facts = {"city": where.city, "district": where.district, "neighbourhood": where.neighbourhood}
    return facts | ({"flags": ("place_unknown",)} if where.unknown else {})


def seller_kind(_name: str, texts: Texts, *, words: Mapping[str, str] | None = None) -> Facts:
    """Who sells, from the first word that says it; `words` are a portal's own instead of the usual ones."""
    if words is not None:
        return {"seller_kind": words.get(texts[0])}
    parts = (word for text in texts for word in re.split(r"[,:]", text))
    return {"seller_kind": next((kind for word in parts if (kind := meaning("seller_kinds", word))), None)}


def phones(_name: str, texts: Texts) -> Facts:
    """Telephone numbers in E.164."""
    return {"phones": parse_phones(texts)}


def moment(name: str, texts: Texts) -> Facts:
    """A date and time in Sofia."""
    return {name: parse_moment(texts[0])}


def iso(name: str, texts: Texts) -> Facts:
    """A date and time with its offset, as machines write it."""
    return {name: parse_iso(texts[0])}


def expiry(name: str, texts: Texts, *, days: int) -> Facts:
    """The moment `days` before a printed expiry."""
    return {name: before_expiry(texts[0], days)}


def family_id(name: str, texts: Texts) -> Facts:
    """The imot.bg advert id in an id or in photo addresses, if all have the same one."""
    ids = {match[1] for text in texts if (match := _FAMILY_ID.search(text))}
    return {name: ids.pop()} if len(ids) == 1 else {}


PARSERS: Mapping[str, Parser] = {
    parser.__name__: parser
    for parser in (
        area, building, condition, coordinate, deal, expiry, family_id, farmland, features, floor, furnishing,
        heating, heating_words, iso, lines, moment, names, number, offer, offer_code, offer_slug, phones,
        place, previous_price, price, property_type, seller_kind, text, urls, vat, year, yes_no,
    )
}  # fmt: skip
NAMED_BY_FIELD: frozenset[str] = frozenset(
    {
        "area", "condition", "coordinate", "expiry", "family_id", "features", "furnishing", "iso", "lines",
        "moment", "names", "number", "text", "urls", "year", "yes_no",
    }
)  # fmt: skip
"""Parsers whose fact has the name of their field, which must be one of `Listing`."""
