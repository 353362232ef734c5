"""imot.bg's own spellings of a price, a floor and the parameters of a property."""

from sale_sofia_simulator.model import Age, Money, Property
from sale_sofia_simulator.text import decimals, leva, ordinal, spaced

VAT_TEXTS = {
    "none": "Не се начислява ДДС",
    "excluded": "Цената е без ДДС",
    "included": "Цената е с включено ДДС",
    None: "",
}
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


def params_html(home: Property) -> str:
    """The parameter boxes; the label of the district heating has a Latin E."""
    boxes = [
        ("Двор", f"{home.yard_sqm} m<sup>2</sup>" if home.yard_sqm else ""),
        ("Етаж", floor_words(home)),
        ("Газ", home.gas),
        ("ТEЦ", home.district_heating),
    ]
    html = f"<div>Площ:<br/><strong>{home.area_sqm} m<sup>2</sup></strong></div>\n    "
    html += "".join(f"<div>{label}:<br/><strong>{value}</strong></div>" for label, value in boxes if value)
    if not home.construction:
        return html
    state = f"{home.age.state} " if home.age.state else ""
    span = f"<strong>{home.age.span}</strong>" if home.age.span else ""
    return f"{html}<div>Строителство:<br/><strong>{home.construction}, </strong>{state}{span}</div>"
