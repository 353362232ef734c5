"""Where the car stands, and whether that place is in the price."""

from collections.abc import Iterator, Sequence

from sale_sofia.config.llm import PARKING_WINDOW
from sale_sofia.llm.candidates import Candidate, after, before, is_negated
from sale_sofia.llm.tokens import Token
from sale_sofia.llm.vocabulary import group


def find_parking(tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Kinds of parking, and on what terms."""
    for place, token in enumerate(tokens):
        end = _end(tokens, place, token)
        if end and not is_negated(tokens, place, end) and not _is_elsewhere(tokens, place):
            for kind in _kinds(tokens, place, end):
                yield Candidate("parking_type", kind, "stated", place, end, 1)
            yield Candidate("parking_status", _terms(tokens, place, end), "stated", place, end, 1)
        elif "park_word" in token.tags and _is_free(tokens, place):
            yield Candidate("parking_status", "free", "stated", place - 1, place + 1, 0)
            yield from _free_kind(tokens, place)
        elif not end and _has_a_price(tokens, place, token):
            yield Candidate("parking_status", "optional_purchase", "stated", place, place + 1, 0)


def _end(tokens: Sequence[Token], place: int, token: Token) -> int:
    """Behind the words that mean a place for a car; 0: these do not."""
    if not token.tags.isdisjoint({"garage", "parking"}) and token.text != "паркинг":
        return place + 1
    following = next(after(tokens, place + 1, 1), None)
    if token.text in {"парко", "паркинг"}:
        if following and "spot" in following.tags:
            return place + 2
        return place + 1 if token.text == "парко" and following is None else 0
    if not token.tags.isdisjoint({"garages", "parkings"}) and _is_counted(tokens, place):
        return place + 1
    return 0


def _is_free(tokens: Sequence[Token], place: int) -> bool:
    return any(token.text in group("parking_free") for token in before(tokens, place, 2))


def _free_kind(tokens: Sequence[Token], place: int) -> Iterator[Candidate]:
    near = frozenset().union(*(token.tags for token in after(tokens, place + 1, 4)))
    kind = "yard" if "yard" in near else "street" if not near.isdisjoint(group("parking_street")) else None
    if kind:
        yield Candidate("parking_type", kind, "stated", place, place + 1, 1)


def _has_a_price(tokens: Sequence[Token], place: int, token: Token) -> bool:
    """Whether it has one of its own: "цената на паркомястото е 30 000 евро"."""
    if token.tags.isdisjoint({"garages", "parkings"}):
        return False
    priced = any("price" in one.tags for one in before(tokens, place, 3))
    return priced and any("money" in one.tags for one in after(tokens, place, PARKING_WINDOW))


def _is_counted(tokens: Sequence[Token], place: int) -> bool:
    near = before(tokens, place, 2)
    return tokens[place].text in {"паркоместа", "паркомяста"} or any(
        not token.tags.isdisjoint({"count", "whole"}) for token in near
    )


def _is_elsewhere(tokens: Sequence[Token], place: int) -> bool:
    """Whether it is not part of the offer: "над гаражи"."""
    back = list(before(tokens, place, 4))
    in_a_garage = any(token.text in {"в", "във"} for token in back[:2]) and any(
        "parking" in token.tags for token in back
    )
    return in_a_garage or any(not group("parking_elsewhere").isdisjoint(token.tags) for token in back[:2])


def _kinds(tokens: Sequence[Token], place: int, end: int) -> Iterator[str]:
    tags = frozenset().union(*(token.tags for token in before(tokens, place, 3)))
    around = tags.union(*(token.tags for token in after(tokens, end, 3)))
    following = [token.text for token in after(tokens, end, 1)]
    if not tokens[place].tags.isdisjoint({"garage", "garages"}):
        yield "underground_garage" if "underground" in tags else "garage"
        return
    if "underground" in tags or (following in (["в"], ["във"]) and "underground" in around):
        yield "underground_space"
    if "outdoor" in tags or "yard" in around:
        yield "outdoor_space"


def _terms(tokens: Sequence[Token], place: int, end: int) -> str:
    back = list(before(tokens, place, PARKING_WINDOW))
    ahead = list(after(tokens, end, PARKING_WINDOW))
    near = frozenset().union(*(token.tags for token in (*back, *ahead)))
    if _is_included(back, ahead):
        return "included"
    if (
        _is_excluded([token.text for token in (*back, *ahead)])
        or "possible" in frozenset().union(*(token.tags for token in back))
        or _costs_extra(near)
    ):
        return "optional_rent" if _for_rent(near) else "optional_purchase"
    return "included"


def _is_included(back: Sequence[Token], ahead: Sequence[Token]) -> bool:
    near = (*reversed(back), *ahead)
    texts = [token.text for token in near]
    if _is_excluded(texts):
        return False
    return any("included" in token.tags for token in near) or ("цената" in texts and "в" in texts)


def _costs_extra(near: frozenset[str]) -> bool:
    return not group("parking_extra").isdisjoint(near) or {"separate", "price"} <= near


def _is_excluded(texts: Sequence[str]) -> bool:
    return "извън" in texts or ("не" in texts and any(text.startswith(("включ", "влиза")) for text in texts))


def _for_rent(near: frozenset[str]) -> bool:
    return not near.isdisjoint(group("parking_rent")) and "buy" not in near
