"""Which of the things that were found are only mentioned, and say nothing of this flat."""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import dropwhile, pairwise
from typing import Final

from sale_sofia.descriptions.belongings import (
    is_elsewhere,
    is_not_our_floor,
    is_not_the_flats,
    is_of_a_thing,
    is_only_spoken_of,
    leads_elsewhere,
)
from sale_sofia.descriptions.clauses import same_clause
from sale_sofia.descriptions.frames import (
    is_held_by_another,
    is_not_offered,
    is_out_of_frame,
    is_undone,
)
from sale_sofia.descriptions.grammar import ADJECTIVES
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.readers import is_of_a_twin
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import CLAUSE_MOST_TOKENS, OFFER_WINDOW, OFFER_WORDS
from sale_sofia.descriptions.words import Token, group

_THINGS: Final = frozenset({
    "bedrooms", "bathrooms", "wc_separate", "balconies", "has_balcony", "storage", "parking_type",
    "parking_status", "furnishing",
})  # fmt: skip
_MASCULINE: Final = ("ен", "ан", "ов", "ев", "ив", "ав", "ък", "ър", "ъл", "ям", "щ", "ски")
_NUMBERS: Final = frozenset({"num", "count"})
_OFFERED_TERMS: Final = frozenset({"parking_type", "parking_status"})
"""Of these an "или" offers both."""
_MADE: Final = frozenset({"convert", "made", "merged", "обединен", "обединени"})


def is_only_mentioned(one: Candidate, found: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether a text names a thing without saying that this flat has it, or that it is so."""
    return (
        _is_one_of_two(one, found, tokens)
        or (one.status == "negated" and _is_of_one_kind(one, tokens))
        or is_out_of_frame(one, tokens)
        or any(one.field in fields and judge(one, tokens) for fields, judge in _JUDGES)
    )


def _is_one_of_two(one: Candidate, found: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether the text leaves open which: "стара тухла или панел"."""
    here = tokens[one.first].clause
    if one.field in _OFFERED_TERMS or not tagged(same_clause(tokens, one.first), {"или"}):
        return False
    return any(
        other.field == one.field
        and other.value != one.value
        and tokens[other.first].clause == here
        and tagged(tokens[min(one.after, other.after) : max(one.first, other.first)], {"или"})
        for other in found
    )


def _is_of_one_kind(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether only things of one kind are denied, and not all of them: "без остъклени тераси"."""
    back = before(tokens, one.first, 1)
    if not back or tokens[one.first].clause != tokens[one.first - 1].clause:
        return False
    if not back[0].tags.isdisjoint({"ordinal", "twin"}):  # "вторият асансьор е спрян"
        return True
    if not tagged(before(tokens, one.first, 3), {"lacking", "not"}):
        return False
    is_kind = not back[0].tags.isdisjoint({"plain", "glazed"}) and back[0].text.endswith(ADJECTIVES)
    return is_kind and back[0].tags.isdisjoint(group("of_any_kind"))


def _is_anothers_building(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether several buildings are meant, or a preposition leads to one: "залепен за панелен блок"."""
    if one.field == "total_floors" and not tokens[one.after - 1].tags.isdisjoint(group("qualified_others")):
        return True
    back = list(dropwhile(_is_before_a_noun, before(tokens, one.first, OFFER_WINDOW)))
    return one.field == "construction" and tagged(back[:1], group("to_another_building"))


def _is_led_to(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a preposition leads to a flat of so many rooms, which is another: "свързан е с двустайния"."""
    back = list(dropwhile(_is_before_a_noun, before(tokens, one.first, OFFER_WINDOW)))
    if tagged(back[:1], {"на"}) and tagged(back[1:2], {"plain", "price", "area"}):
        return not tagged(back[1:2], group("leads_to_this"))  # "размерите на тристаен"
    if "roomed_plural" in tokens[one.first].tags:
        return tagged(back[:1], {"за"}) and not tagged(same_clause(tokens, one.first), group("offering"))
    is_the_offer = tagged(back[:1], {"за"}) and tagged(
        before(tokens, one.first, OFFER_WORDS), group("offering")
    )
    is_made = tagged(back[:1], {"в", "във"}) and tagged(same_clause(tokens, one.first), _MADE)
    return tagged(back[:1], group("to_another_flat")) and not is_the_offer and not is_made


def _is_before_a_noun(token: Token) -> bool:
    """Whether it may stand between a preposition and its noun: "за по-голям тристаен"."""
    return token.text in {"по", "най", "-"} or (
        token.tags.isdisjoint({"preposition", "verb", "count"}) and token.text.endswith(_MASCULINE)
    )


def _is_one_of_two_flats(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether two flats are offered together: "тристаен и двустаен апартамент в къща"."""
    if "roomed" not in tokens[one.first].tags:
        return False
    if _is_in_a_list(one, tokens):
        return True
    ahead, back = after(tokens, one.after, 2), before(tokens, one.first, 2)
    return any(
        tagged(beside[:1], {"и"}) and tagged(beside[1:], {"roomed"}) and beside[1].value != one.value
        for beside in (ahead, back)
    )


def _is_in_a_list(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a sentence tells numbers of several flats: "двустаен 130 000, тристаен 190 000"."""
    near = range(max(0, one.first - CLAUSE_MOST_TOKENS), min(len(tokens) - 1, one.first + CLAUSE_MOST_TOKENS))
    here = tokens[one.first].sentence
    flats = [place for place in near if "roomed" in tokens[place].tags and tokens[place].sentence == here]
    behind = {place: list(dropwhile(_is_before_a_price, tokens[place + 1 : place + 3])) for place in flats}
    listed = {tokens[place].value for place in flats if tagged(behind[place][:1], {"num"})}
    return one.value in listed and len(listed) > 1


def _is_before_a_price(token: Token) -> bool:
    return token.text in {"от", "за", "-"}


def _is_idle(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the metro is named, and not as something that is near: "с метрото", "ремонтът на метрото"."""
    places = [place for place in range(one.first, one.after) if "metro" in tokens[place].tags]
    if not places:
        return False
    back = [token for token in before(tokens, places[-1], 4) if token.text != '"']
    is_of_it = tagged(back[:1], {"на"}) and not tagged(back[1:2], group("of_the_metro"))
    if tagged(back[:1], group("not_to_the_metro")) or is_of_it:
        return True
    clause = same_clause(tokens, places[-1])
    verbs = (token for token in clause if "verb" in token.tags)
    return (
        _is_a_ride_away(clause)
        or _is_taken_along(tokens, places[-1])
        or _is_no_place(clause, after(tokens, places[-1] + 1, 2))
        or any(token.text not in group("stating") for token in verbs)
    )


def _is_a_ride_away(clause: Sequence[Token]) -> bool:
    """Whether one has to ride to the metro: "на две спирки от метрото", "до метро стигате с рейс"."""
    counted = any(
        stop.text in {"спирки", "спирка"} and not last.tags.isdisjoint(_NUMBERS | {"vehicle"})
        for last, stop in pairwise(clause)
    )
    return (
        counted
        or tagged(clause, {"kilometre"})
        or (tagged(clause, {"goes"}) and tagged(clause, {"с", "със"}))
    )


def _is_taken_along(tokens: Sequence[Token], metro: int) -> bool:
    """Whether one gets there with something: "5 мин. от метрото с тротинетка", "… с градски транспорт"."""
    ahead = after(tokens, metro + 1, 3)
    led = [token for token in ahead[1:] if token.clause == tokens[metro].clause]
    return tagged(ahead[:1], {"с", "със"}) and tagged(led, {"plain", "vehicle"}) and not tagged(led, {"walk"})


def _is_no_place(clause: Sequence[Token], ahead: Sequence[Token]) -> bool:
    """Whether it is not told where the metro is: "метрото е шумно", "до метрото има автобус"."""
    is_told = tagged(ahead[:1], {"е"}) and tagged(ahead[1:], {"plain"})
    is_way = clause[0].text == "до" and tagged(ahead[:1], {"има", "имат"})
    return is_way or (is_told and not tagged(ahead[1:], group("stands")))


_JUDGES: Final[Sequence[tuple[AbstractSet[str], Callable[[Candidate, Sequence[Token]], bool]]]] = (
    (_THINGS, is_not_the_flats),
    (_OFFERED_TERMS, is_not_offered),
    (_THINGS - {"furnishing"} | {"heating"}, is_held_by_another),
    ({"has_balcony", "heating", "storage"}, is_undone),
    (_THINGS | {"heating", "elevator", "metro_near"}, is_elsewhere),
    ({"construction", "furnishing", "condition", "storage"}, leads_elsewhere),
    ({"storage"}, is_only_spoken_of),
    ({"floor"}, is_not_our_floor),
    ({"deal"}, is_of_a_thing),
    ({"total_floors", "construction", "year", "year_range"}, is_of_a_twin),
    ({"total_floors", "construction"}, _is_anothers_building),
    ({"metro_near", "metro_minutes", "metro_distance_m"}, _is_idle),
    ({"rooms"}, _is_led_to),
    ({"rooms"}, _is_one_of_two_flats),
)
"""Which fields each of them judges."""
