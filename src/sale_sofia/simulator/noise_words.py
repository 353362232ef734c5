"""Descriptions for noisy adverts: words of our own, alike where adverts of one flat are."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
_Bits = NDArray[np.uint64]
_WORDS: Final = (
    "светъл", "просторен", "тих", "южен", "източен", "западен", "уютен", "слънчев", "обновен", "удобен",
    "нов", "топъл", "сух", "широк", "висок", "спокоен", "зелен", "кухня", "спалня", "дневна", "баня",
    "тераса", "килер", "мазе", "таван", "гараж", "двор", "вход", "асансьор", "паркет", "дограма",
    "климатик", "камина", "улица", "парк", "училище", "градина", "метро", "спирка", "пазар", "магазин",
    "аптека", "болница", "театър", "площад", "булевард", "алея", "река", "планина", "гледка", "изложение",
    "ремонт", "сграда", "тухла", "панел", "етаж", "покрив", "изолация", "отопление", "обзавеждане",
    "мебели", "разпределение", "собственик", "документи", "оглед", "цена", "сделка", "кредит", "среща",
    "ключ", "договор", "плащане", "веднага", "лесно", "бързо", "отлично", "рядко", "съседи", "общност",
    "охрана", "чистота", "ред", "тишина", "светлина", "простор", "уют", "традиция", "качество", "стил",
    "вкус", "характер", "удобство", "коридор", "антре", "трапезария", "библиотека", "гардероб", "балкон",
    "лоджия", "прозорец", "врата", "стена", "под", "лампа", "огледало", "маса",
)  # fmt: skip
_LENGTH: Final = 26
_SHARE_OWN: Final = 0.225
_SHARE_EDITED: Final = 0.175
_KEPT: Final = 19
"""Words of the flat's own text that an edited one begins with."""


def texts(rng: np.random.Generator, flat: Numbers, stack: Numbers, agency: Numbers) -> NDArray[np.str_]:
    """One text for each advert: its flat's, that one with another ending, or one of its own.

    Flats above each other begin alike, as a developer's adverts do; so do the adverts of one agency.
    """
    words = np.array(_WORDS)
    count = len(flat)
    shared = _numbers(3 * flat, _LENGTH)
    shared[:, : _KEPT // 2] = _numbers(3 * stack + 1, _KEPT // 2)
    own = rng.integers(0, len(_WORDS), (count, _LENGTH))
    chance = rng.random(count)
    from_where = np.where(
        chance < _SHARE_OWN, 0, np.where(chance < _SHARE_OWN + _SHARE_EDITED, _KEPT, _LENGTH)
    )
    chosen = np.where(np.arange(_LENGTH) < from_where[:, None], shared, own)
    greeting = _numbers(3 * agency + 2, 3)
    return np.array([" ".join(line) for line in words[np.concatenate((greeting, chosen), axis=1)].tolist()])


def _numbers(seeds: Numbers, length: int) -> Numbers:
    """The same words for the same seed, whichever advert asks."""
    with np.errstate(over="ignore"):
        state = _mixed(seeds.astype(np.uint64)[:, None], 0, 0x9E3779B97F4A7C15)
        state = np.asarray(state + np.arange(length, dtype=np.uint64), dtype=np.uint64)
        state = _mixed(_mixed(state, 30, 0xBF58476D1CE4E5B9), 27, 0x94D049BB133111EB)
        return np.asarray(_folded(state, 31) % np.uint64(len(_WORDS)), dtype=np.int64)


def _mixed(state: _Bits, shift: int, factor: int) -> _Bits:
    return np.asarray((_folded(state, shift) if shift else state) * np.uint64(factor), dtype=np.uint64)


def _folded(state: _Bits, shift: int) -> _Bits:
    return np.bitwise_xor(state, np.right_shift(state, np.uint64(shift)))
