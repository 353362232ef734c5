"""What the board tells of a flat since it was chosen."""

from dataclasses import replace

from sale_sofia.advice.market.market import AdvertHistory, Spell
from sale_sofia.app.facts import contact
from sale_sofia.app.pages.mine import MarketMove, changes_since
from sale_sofia.flats.flat import Advert
from sale_sofia.flats.rows import PriceStep
from tables import each_row
from unit.advice.scored import empty_flat

CHOSEN = 1000.0
RISEN = "▲ +11,1 % от 01.01.1970 насам, беше € 90 000"
DEAR, CHEAP = 1, 2
PRICES = {DEAR: [PriceStep(10.0, 100_000.0, "first")], CHEAP: [PriceStep(10.0, 90_000.0, "first")]}


def advert(number: int, price: float, vat: str | None = None, *, offered: bool) -> Advert:
    url = f"https://www.imot.bg/{number}"
    return Advert(
        number, "imot.bg", str(number), url, None, price, vat, None, None, 10.0, 500.0, offered=offered
    )


@each_row(
    ("moves", "told"),
    [
        ([("gone", 100.0)], []),  # the cheap advert was gone already: the price is what it was
        ([("gone", 2000.0)], [RISEN]),
        ([("gone", 100.0), ("back", 200.0), ("gone", 2000.0)], [RISEN]),
    ],
)
def test_a_price_is_compared_with_those_of_adverts_that_were_there(
    moves: list[tuple[str, float]], told: list[str]
) -> None:
    adverts = (advert(DEAR, 100_000.0, offered=True), advert(CHEAP, 90_000.0, offered=False))
    flat = replace(empty_flat(price_eur=100_000.0), adverts=adverts)
    found = changes_since(flat, PRICES, {CHEAP: [MarketMove(kind, at, at) for kind, at in moves]}, {}, CHOSEN)
    assert [note.text.replace("\N{NO-BREAK SPACE}", " ") for note in found] == told


@each_row(
    ("before", "told"),
    [
        (100_000.0, []),  # what is paid for the other one is more
        (120_000.0, ["▼ −16,7 % от 01.01.1970 насам, беше € 120 000"]),
        (144_000.0, ["▼ −16,7 % от 01.01.1970 насам, беше € 120 000"]),
    ],
)
def test_prices_with_and_without_vat_are_compared_by_what_is_paid(before: float, told: list[str]) -> None:
    """One asks 100 000 with VAT, the other as much without it: the flat costs 100 000."""
    taxed, whole = (
        advert(DEAR, 100_000.0, "excluded", offered=True),
        advert(CHEAP, 100_000.0, "included", offered=True),
    )
    flat = replace(empty_flat(price_eur=100_000.0), vat="included", adverts=(whole, taxed))
    prices = {
        DEAR: PRICES[DEAR],
        CHEAP: [PriceStep(10.0, before, "first"), PriceStep(2000.0, 100_000.0, "price")],
    }
    found = changes_since(flat, prices, {}, {}, CHOSEN)
    assert [note.text.replace("\N{NO-BREAK SPACE}", " ") for note in found] == told


CHEAP_ROW = {"seller_name": "Евтин", "phones": []}
DEAR_ROW = {"seller_name": "Скъп", "phones": ["0888 123 456", "02 1"]}


@each_row(
    ("cheap", "dear", "told"),
    [
        (CHEAP_ROW, DEAR_ROW, ("Скъп", "0888123456")),  # never the name of one with the phone of the other
        ({**CHEAP_ROW, "phones": ["02 987"]}, DEAR_ROW, ("Евтин", "02987")),
        ({"seller_name": None, "phones": ["02 987"]}, DEAR_ROW, (None, "02987")),
        (CHEAP_ROW, {**DEAR_ROW, "phones": []}, ("Евтин", None)),
        ({"seller_name": None, "phones": []}, {"seller_name": None, "phones": []}, (None, None)),
    ],
)
def test_whom_to_call_is_of_one_advert(
    cheap: dict[str, object], dear: dict[str, object], told: tuple[str | None, str | None]
) -> None:
    adverts = (advert(CHEAP, 90_000.0, offered=True), advert(DEAR, 100_000.0, offered=True))
    flat = replace(empty_flat(price_eur=90_000.0), adverts=adverts)
    assert contact(flat, {DEAR: dear, CHEAP: cheap}) == told


@each_row(
    ("other", "told"),
    [
        ((Spell(10.0, None),), []),  # the flat never left
        ((Spell(10.0, 1500.0),), ["↺ отново на пазара: 01.01.1970"]),
    ],
)
def test_a_flat_is_back_only_when_none_of_its_adverts_was_there(
    other: tuple[Spell, ...], told: list[str]
) -> None:
    flat = replace(empty_flat(), adverts=tuple(advert(one, 1.0, offered=True) for one in (DEAR, CHEAP)))
    moves = {CHEAP: [MarketMove("gone", 1400.0, 1400.0), MarketMove("back", 2000.0, 2000.0)]}
    spells = {DEAR: other, CHEAP: (Spell(10.0, 1400.0), Spell(2000.0, None))}
    histories = {number: AdvertHistory(those, (), ()) for number, those in spells.items()}
    assert [note.text for note in changes_since(flat, {}, moves, histories, CHOSEN)] == told
