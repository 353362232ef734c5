"""What the board tells of a flat since it was chosen."""

from dataclasses import replace

from sale_sofia.advice.market.market import AdvertHistory, Spell
from sale_sofia.app.pages.mine import MarketMove, changes_since
from sale_sofia.flats.flat import Advert
from sale_sofia.flats.rows import PriceStep
from tables import each_row
from unit.advice.scored import empty_flat

CHOSEN = 1000.0
RISEN = "▲ +11,1 % от 01.01.1970 насам, беше € 90 000"
DEAR, CHEAP = 1, 2
PRICES = {DEAR: [PriceStep(10.0, 100_000.0, "first")], CHEAP: [PriceStep(10.0, 90_000.0, "first")]}


def advert(number: int, price: float, *, offered: bool) -> Advert:
    url = f"https://www.imot.bg/{number}"
    return Advert(
        number, "imot.bg", str(number), url, None, price, None, None, None, 10.0, 500.0, offered=offered
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
