"""The winds a flat looks to: eight of them, and never a quarter of the town that is called after one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sale_sofia.config.llm import EXPOSURE_WINDOW
from sale_sofia.llm.candidates import Candidate, after, before
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group


@dataclass(frozen=True, slots=True)
class Wind:
    """A wind and its tokens; `noun`: "юг", else "южен"."""

    value: str
    first: int
    after: int
    noun: bool
    masculine: bool


def find_winds(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Every wind that is the flat's."""
    for chain in _chains(list(_winds(tokens)), tokens):
        if _is_exposure(chain, tokens):
            for wind in chain:
                yield Candidate("orientation", wind.value, "stated", wind.first, wind.after, 1)


def _winds(tokens: Sequence[Token]) -> Iterator[Wind]:
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if "half_wind" in token.tags:
            wind = _joined(tokens, place)
            if wind:
                yield wind
                place = wind.after
                continue
        elif not token.tags.isdisjoint({"wind", "windy"}) or _is_short(tokens, place):
            yield _single(token, place, place, str(token.value))
        place += 1


def _is_short(tokens: Sequence[Token], place: int) -> bool:
    """A letter for a wind, which it is only beside "изложение" or another such letter: "изл. Ю/И"."""
    if "short_wind" not in tokens[place].tags:
        return False
    following = next(after(tokens, place + 1, 1), None)
    if following and following.text not in group("wind_links"):
        return False
    back = [token for token in before(tokens, place, 3) if token.text not in {":", "-", "/", "."}]
    return bool(back) and not back[0].tags.isdisjoint({"exposure", "short_wind"})


def _single(token: Token, first: int, place: int, value: str) -> Wind:
    return Wind(value, first, place + 1, "wind" in token.tags, token.text.endswith("ен"))


def _joined(tokens: Sequence[Token], place: int) -> Wind | None:
    """Two halves of one wind: "юго-изток"."""
    last = place + 2 if place + 1 < len(tokens) and tokens[place + 1].text == "-" else place + 1
    if last < len(tokens) and not tokens[last].tags.isdisjoint({"wind", "windy"}):
        return _single(tokens[last], place, last, f"{tokens[place].value}{tokens[last].value}")
    return None


def _chains(winds: Sequence[Wind], tokens: Sequence[Token]) -> Iterator[list[Wind]]:
    chain: list[Wind] = []
    for wind in winds:
        if chain and not _linked(tokens[chain[-1].after : wind.first]):
            yield chain
            chain = []
        chain.append(wind)
    if chain:
        yield chain


def _linked(between: Sequence[Token]) -> bool:
    return len(between) <= 2 and all(token.text in group("wind_links") for token in between)  # noqa: PLR2004


def _is_exposure(chain: Sequence[Wind], tokens: Sequence[Token]) -> bool:
    first, end = chain[0].first, chain[-1].after
    previous = next(before(tokens, first, 1), None)
    following = next(after(tokens, end, 1), None)
    if previous and _names_a_place(tokens, first):
        return False
    if following and "town_part" in following.tags:
        return False
    if _beside_exposure(tokens, first, end):
        return True
    return _noun_chain(chain, tokens) if chain[0].noun else _adjective(chain, tokens)


def _names_a_place(tokens: Sequence[Token], first: int) -> bool:
    back = [token for token in before(tokens, first, 3) if token.text not in {"-", '"', ".", "("}]
    return bool(back) and "place_word" in back[0].tags


def _beside_exposure(tokens: Sequence[Token], first: int, end: int) -> bool:
    back = before(tokens, first, EXPOSURE_WINDOW)
    return any("exposure" in token.tags for token in (*back, *after(tokens, end, 2)))


def _noun_chain(chain: Sequence[Wind], tokens: Sequence[Token]) -> bool:
    if len(chain) > 1:
        return True
    wind = chain[0]
    previous = next(before(tokens, wind.first, 1), None)
    following = next(after(tokens, wind.after, 1), None)
    if previous is None or previous.text == ",":
        apart = following is None or following.text == ","
        return apart and (previous is None or len(wind.value) > 1)
    if previous.text in {"на", "към"} and (following is None or following.text != "от"):
        return any(
            not group("facing_rooms").isdisjoint(token.tags)
            for token in before(tokens, wind.first, EXPOSURE_WINDOW)
        )
    return False


def _adjective(chain: Sequence[Wind], tokens: Sequence[Token]) -> bool:
    ahead = list(after(tokens, chain[-1].after, 3))
    if any("town_part" in token.tags for token in ahead[:2]):
        return False
    if any(not group("facing").isdisjoint(token.tags) for token in ahead):
        return True
    return chain[0].masculine
