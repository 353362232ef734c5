"""The adverts of one portal: all different, or a large number of copies of a few."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Generic, TypeVar

from sale_sofia.simulator.model import BazarAdvert, ImotAdvert
from sale_sofia.simulator.twins import TwinAdvert

A = TypeVar("A", ImotAdvert, BazarAdvert, TwinAdvert)
_MINUTE = 60
MOST_COPIES = 100 * _MINUTE
_TWINS_APART = 20_000
"""Further than the numbers of any two originals: a property has every second one of at most 10 000 slots."""


class Stock(Generic[A]):
    """`total` adverts; number `n` is original `n % len(originals)`, under an id of its own.

    A copy differs from its original in its id, its address, the names of its photos and the second
    in which it was posted; no two adverts share an id.
    """

    def __init__(self, originals: Sequence[A], total: int | None = None) -> None:
        self.originals: Sequence[A] = originals
        count = len(originals) if total is None else total
        if count > MOST_COPIES * len(originals):
            raise ValueError(f"{len(originals)} adverts give at most {MOST_COPIES} copies each, not {count}")
        self._numbers = {self._new_id(number): number for number in range(count)}
        if len(self._numbers) != count:
            raise ValueError("two copies would share an id; choose another seed or number of adverts")

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, external_id: str) -> int | None:
        """The place of an advert, nothing for an id that is not here."""
        return self._numbers.get(external_id)

    def advert(self, number: int) -> A:
        """The advert, all its facts its own."""
        original, turn = self._original(number)
        return original if turn == 0 else _copy(original, number, turn)

    def original_number(self, number: int) -> int:
        """The place of the original, which renders the page of the copy."""
        return number % len(self.originals)

    def page(self, number: int, original_page: bytes) -> bytes:
        """The page of a copy from the page of its original."""
        original, turn = self._original(number)
        for old, new in renames(original, number, turn).items() if turn else ():
            original_page = original_page.replace(old.encode(), new.encode())
        return original_page

    def _original(self, number: int) -> tuple[A, int]:
        turn, place = divmod(number, len(self.originals))
        return self.originals[place], turn

    def _new_id(self, number: int) -> str:
        original, turn = self._original(number)
        return renames(original, number, turn)[original.external_id] if turn else original.external_id


def renames(original: ImotAdvert | BazarAdvert | TwinAdvert, number: int, turn: int) -> dict[str, str]:
    """Each id of the original and what it becomes in a copy; in the imot.bg family all keep their length."""
    if isinstance(original, ImotAdvert):
        return {original.external_id: imot_id_of_copy(original.external_id, turn)}
    if isinstance(original, TwinAdvert):
        new = str(_number_of_copy(original, turn))
        return {original.external_id: original.external_id.replace(str(original.number), new)}
    own = {
        original.external_id: str(50_000_000 + number * 37 + (int(original.external_id) - 50_000_000) % 37)
    }
    family = original.imot_id
    return own | ({family: imot_id_of_copy(family, turn)} if family else {})


def imot_id_of_copy(imot_id: str, turn: int) -> str:
    """Another second of the same minute, then other digits; the last three, the photos' folder, stay."""
    stamp = int(imot_id[2:12])
    second = (stamp + turn) % _MINUTE
    middle = (int(imot_id[12:14]) + turn // _MINUTE) % 100
    return f"{imot_id[:2]}{stamp - stamp % _MINUTE + second}{middle:02d}{imot_id[14:]}"


def _copy(original: A, number: int, turn: int) -> A:
    new = renames(original, number, turn)
    second = (original.posted.second + turn) % _MINUTE - original.posted.second
    copy = replace(
        original,
        external_id=new[original.external_id],
        url=_renamed(original.url, new),
        photos=tuple(_renamed(photo, new) for photo in original.photos),
        posted=original.posted + timedelta(seconds=second),
    )
    if isinstance(copy, BazarAdvert) and copy.imot_id:
        return replace(copy, imot_id=new[copy.imot_id])
    if isinstance(copy, TwinAdvert):
        number = _number_of_copy(original, turn)
        return replace(copy, number=number, imot_id=imot_id_of_copy(copy.imot_id, turn))
    return copy


def _number_of_copy(original: TwinAdvert, turn: int) -> int:
    return original.number + turn * _TWINS_APART


def _renamed(text: str, new: dict[str, str]) -> str:
    for old, changed in new.items():
        text = text.replace(old, changed)
    return text
