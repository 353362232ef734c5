"""What a buyer looks for, asked in a terminal or given by options, as people write it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import typer

from sale_sofia.cli.console import tell
from sale_sofia.listings.places import find_neighbourhood, neighbourhoods, place_key
from sale_sofia.listings.vocabulary import meaning
from sale_sofia.operations.settings import LEAST_BUDGET_EUR, LONGEST_METRO_MINUTES, MOST_BUDGET_EUR
from sale_sofia.settings.words import Language, Said

T = TypeVar("T")
_MONEY: Final = re.compile(r"\d{1,12}")
_MOST_ROOMS: Final = 5
_TELLING: Final = 4
"""Letters with which the name that was meant begins."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What is looked for. What is empty does not matter."""

    budget_eur: int
    kinds: tuple[str, ...]
    """Types of property."""
    rooms: tuple[int, ...]
    neighbourhoods: tuple[str, ...]
    metro_minutes: int | None

    def changes(self) -> dict[str, object]:
        """The keys of a profile that say it. Nothing else is a condition: nobody asked for it."""
        must = {"rooms_least": min(self.rooms, default=None), "metro_most_minutes": self.metro_minutes}
        others = "poor" if self.neighbourhoods else "fair"
        return {
            "title": "",
            "budget_eur": self.budget_eur,
            "renovation_eur": 0,
            "property_types": list(self.kinds),
            "neighbourhoods": {"best": list(self.neighbourhoods), "others": others},
            "must": {name: value for name, value in must.items() if value is not None},
            **({"wishes.rooms": max(self.rooms)} if self.rooms else {}),
        }


def read_budget(text: str) -> int:
    """Euros for the whole flat: 180000, 180 000, 180 000 €, 180.000."""
    plain = re.sub(r"[\s.,'’]|€|eur|евро", "", text.casefold())
    if not _MONEY.fullmatch(plain) or not LEAST_BUDGET_EUR <= int(plain) <= MOST_BUDGET_EUR:
        raise ValueError(Said("start.wrong_budget", given=text, least=LEAST_BUDGET_EUR, most=MOST_BUDGET_EUR))
    return int(plain)


def read_kinds(text: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Types and numbers of rooms: `2, 3`, `двустаен, мезонет`; of an empty text, all flats."""
    found = [_kind(word) for part in text.split(",") if (word := part.strip())]
    types = tuple(dict.fromkeys(kind for kind, _ in found)) or ("apartment", "maisonette")
    return types, tuple(sorted({rooms for _, rooms in found if rooms}))


def _kind(word: str) -> tuple[str, int | None]:
    if word.isdecimal() and 1 <= int(word) <= _MOST_ROOMS:
        return "apartment", int(word)
    found = meaning("types", word) or meaning("type_slugs", word)
    if found is None:
        raise ValueError(Said("start.wrong_kind", given=word, most=_MOST_ROOMS))
    return found[0], found[1]


def read_places(text: str) -> tuple[str, ...]:
    """Neighbourhoods with commas between them; one without its number is all of that name."""
    words = [word for part in text.split(",") if (word := part.strip())]
    return tuple(dict.fromkeys(place for word in words for place in _places(word)))


def _places(word: str) -> list[str]:
    exact, key = find_neighbourhood(word), place_key(word)
    numbered = [one.name for one in neighbourhoods() if place_key(one.name).startswith(f"{key} ")]
    if exact is None and not numbered:
        begins = key[:_TELLING]
        like = [one.name for one in neighbourhoods() if begins and place_key(one.name).startswith(begins)]
        hint = Said("start.like", names=like) if like else None
        raise ValueError(Said("start.wrong_place", given=word, hint=hint))
    return [*([exact.name] if exact else []), *numbered]


def read_metro(text: str) -> int | None:
    """Minutes on foot; None for an empty text."""
    plain = text.strip()
    if not plain:
        return None
    if not plain.isdecimal() or not 1 <= int(plain) <= LONGEST_METRO_MINUTES:
        raise ValueError(Said("start.wrong_metro", given=text, most=LONGEST_METRO_MINUTES))
    return int(plain)


@dataclass(frozen=True, slots=True)
class Asker:
    """Takes what was given, and asks for the rest where somebody can answer."""

    language: Language
    can_ask: bool

    def answer(self, code: str, option: str, given: str | None, read: Callable[[str], T]) -> T:
        """What the option gives, else what a person says to the question, asked again until it is right.

        Raises:
            typer.BadParameter: what was given is wrong, or nothing was and nobody can be asked.
        """
        if given is not None or not self.can_ask:
            try:
                return read(given or "")
            except ValueError as error:
                raise typer.BadParameter(f"{option}: {self.say(error)}") from None
        while True:
            try:
                return read(typer.prompt(self.say(Said(code)), default="", show_default=False))
            except ValueError as error:
                tell(self.say(error), style="red")

    def say(self, what: ValueError | Said) -> str:
        """In the language of the person."""
        return Said.of(what).in_words(self.language)


def ask(
    asker: Asker, *, budget: str | None, kinds: str | None, places: str | None, metro: str | None
) -> Answers:
    """All answers."""
    most = asker.answer("start.budget", "--budget", budget, read_budget)
    types, rooms = asker.answer("start.kinds", "--kinds", kinds, read_kinds)
    named = asker.answer("start.places", "--neighbourhoods", places, read_places)
    minutes = asker.answer("start.metro", "--metro", metro, read_metro)
    return Answers(most, types, rooms, named, minutes)
