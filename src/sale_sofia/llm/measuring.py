"""Square metres, and what they belong to: the flat, or a room, a terrace, a cellar, a yard."""

from collections.abc import Iterator, Sequence
from typing import Literal

from sale_sofia.config.llm import AREA_LEAST, AREA_MOST, DECIMALS, OWNER_WINDOW
from sale_sofia.llm.candidates import Candidate, after, before
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group

Owner = Literal["built", "total", "flat", "room", "open"]


def find_areas(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """The flat's area and its built-up area."""
    for place in range(len(tokens) - 1):
        token = tokens[place]
        if "num" not in token.tags or not _is_measure(tokens, place):
            continue
        size = _with_lost_comma(tokens, place)
        owner = _owner(tokens, place)
        if owner != "room" and isinstance(size, int | float) and AREA_LEAST <= size <= AREA_MOST:
            yield _candidate(owner, size, tokens, place)


def _with_lost_comma(tokens: Sequence[Token], place: int) -> object:
    """The number; "площ 53 47 кв.м" is a number whose comma was lost on its way."""
    token = tokens[place]
    back = list(before(tokens, place, 4))
    if len(token.text) != DECIMALS or not back or "whole" not in back[0].tags or "whole" not in token.tags:
        return token.value
    about_area = any(not one.tags.isdisjoint({"area", "зп", "рзп"}) for one in back[1:])
    return float(f"{back[0].text}.{token.text}") if about_area else token.value


def _is_measure(tokens: Sequence[Token], place: int) -> bool:
    if "sqm" in tokens[place + 1].tags:
        return True
    # "Застроена площ 78.55": the unit was forgotten, the word says it.
    if "whole" in tokens[place].tags or "sqm" in tokens[place].tags:
        return False
    back = list(before(tokens, place, 2))
    words = [token for token in back if token.text not in {"от", "-", ":", "е"}]
    return bool(words) and not words[0].tags.isdisjoint({"area", "зп", "рзп"})


def _candidate(owner: Owner, size: float, tokens: Sequence[Token], place: int) -> Candidate:
    field = "area_built" if owner == "built" else "area"
    rank = 0 if place == 0 else {"built": 1, "total": 1, "flat": 1, "open": 3}.get(owner, 2)
    return Candidate(field, size, "stated", place, min(place + 2, len(tokens)), rank)


def _owner(tokens: Sequence[Token], place: int) -> Owner:
    return _said_after(tokens, place + 2) or _said_before(tokens, place)


def _said_after(tokens: Sequence[Token], place: int) -> Owner | None:
    """What follows the number: "62 кв.м чиста площ", "75 кв.м с общи части", "8 кв.м мазе"."""
    ahead = list(after(tokens, place, 6))
    if ahead and ahead[0].text in {"(", "-", "/"}:
        ahead = ahead[1:]
    if _has_number_of_its_own(ahead):
        return None
    for number, token in enumerate(ahead[:3]):
        if token.text in group("measure_ends") | group("measure_goes_elsewhere"):
            return None
        owner = _named_by(token)
        if owner:
            return None if owner == "room" and number and ahead[number - 1].text in {"с", "със"} else owner
        if "plain" not in token.tags and token.text not in {"с", "със", "без"}:
            return None
    return None


def _named_by(token: Token) -> Owner | None:
    if "built" in token.tags:
        return "built"
    if not token.tags.isdisjoint({"total", "shared"}):
        return "total"
    return None if group("measured_rooms").isdisjoint(token.tags) else "room"


def _has_number_of_its_own(ahead: Sequence[Token]) -> bool:
    """Whether what follows is measured itself: "61 кв.м, тераса 8 кв.м"."""
    for number, token in enumerate(ahead):
        if token.text in group("measure_ends"):
            return False
        if "num" in token.tags and number and ahead[number - 1].text not in {"от", "за", "на"}:
            return True
        if "sqm" in token.tags:
            return True
    return False


def _said_before(tokens: Sequence[Token], place: int) -> Owner:
    """The nearest word before the number that can own it; a comma ends its reach."""
    area = flat = False
    for number, token in enumerate(before(tokens, place, OWNER_WINDOW)):
        if token.text == "," or "sqm" in token.tags:
            return "flat" if area or flat else _across(tokens, place - number - 1)
        if "built" in token.tags and (area or number < 2 or token.text == "зп"):  # noqa: PLR2004
            return _with_total(tokens, place - number - 1)
        if not token.tags.isdisjoint({"total", "shared"}):
            return "total"
        if not group("measured_rooms").isdisjoint(token.tags):
            return "flat" if flat else "room"
        flat = flat or not group("flats").isdisjoint(token.tags)
        area = area or "area" in token.tags
    return "flat" if area or flat else "open"


def _across(tokens: Sequence[Token], place: int) -> Owner:
    """Beyond the comma: a list of rooms goes on, a flat is told more of."""
    for token in before(tokens, place, OWNER_WINDOW):
        if "sqm" in token.tags or not group("measured_rooms").isdisjoint(token.tags):
            return "room"
        if not group("flats").isdisjoint(token.tags):
            return "flat"
    return "open"


def _with_total(tokens: Sequence[Token], place: int) -> Owner:
    """The "обща застроена площ" is the whole."""
    back = list(before(tokens, place, 1))
    return "total" if back and "total" in back[0].tags else "built"
