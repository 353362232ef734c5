"""Which of the things that were found are only mentioned, and say nothing of this flat."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import dropwhile
from typing import Final

from sale_sofia.descriptions.clauses import same_clause
from sale_sofia.descriptions.grammar import ADJECTIVES
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.readers import is_of_a_twin
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import (
    CLAUSE_MOST_TOKENS,
    NOUN_LETTERS,
    OFFER_WINDOW,
    OFFER_WORDS,
)
from sale_sofia.descriptions.words import Token, group

_THINGS: Final = frozenset(
    {"bedrooms", "bathrooms", "wc_separate", "balconies", "has_balcony", "storage", "parking_type"}
    | {"parking_status", "furnishing"}
)
_QUALITIES: Final = frozenset({"construction", "furnishing", "condition", "storage"})
_THERE: Final = _THINGS | {"heating", "elevator", "metro_near"}
_MASCULINE: Final = ("ен", "ан", "ов", "ев", "ив", "ав", "ък", "ър", "ъл", "ям", "щ", "ски")
_BE: Final = frozenset({"е", "са"})
_OF_A_BUILDING: Final = frozenset({"total_floors", "construction", "year", "year_range"})
_NUMBERS: Final = frozenset({"num", "count"})
_DISTANCES: Final = frozenset({"metre", "minute", "kilometre", "крачки"})
_METRO: Final = frozenset({"metro_near", "metro_minutes", "metro_distance_m"})
_OFFERED_TERMS: Final = frozenset({"parking_type", "parking_status"})
"""Of these an "или" offers both."""
_MADE: Final = frozenset({"convert", "made", "merged", "обединен", "обединени"})
_ARTICLES: Final = ("ът", "ят", "та", "то", "те")


def is_only_mentioned(one: Candidate, found: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether a text names a thing without saying that this flat has it, or that it is so."""
    if _is_one_of_two(one, found, tokens) or (one.status == "negated" and _is_of_one_kind(one, tokens)):
        return True
    is_there = one.field in _THINGS and one.status != "negated" and tokens[one.first].mood != "denied"
    if is_there and (_is_far(one, tokens) or _is_owned(one, tokens) or _is_named(one, tokens)):
        return True
    if one.field in _QUALITIES and _leads_elsewhere(one, tokens):
        return True
    if one.field in _THERE and _is_there_only(one, tokens):
        return True
    if one.field in {"elevator", "storage"} and one.status != "negated" and _is_for_others(one, tokens):
        return True
    if one.field == "floor":
        return tagged(before(tokens, one.first, 1), group("not_to_the_floor")) or (
            _is_owned(one, tokens, {"building", "house", "storeys", "storeyed"})
        )
    if one.field == "deal":
        return _is_of_a_thing(one, tokens)
    if one.field in _OF_A_BUILDING:
        return is_of_a_twin(one, tokens) or _is_anothers_building(one, tokens)
    if one.field in _METRO:
        return _is_idle(one, tokens)
    if one.field == "rooms":
        return _is_led_to(one, tokens) or _is_one_of_two_flats(one, tokens)
    return one.field == "storage" and _is_only_spoken_of(one, tokens)


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


def _is_far(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is some way off: "баня на 200 м"."""
    ahead = [token for token in after(tokens, one.after, 5) if token.text not in _BE]
    return tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], _NUMBERS) and tagged(ahead[2:3], _DISTANCES)


def _is_named(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing only stands in a name: "Изба Мелник"."""
    thing, ahead = tokens[one.after - 1], after(tokens, one.after, 1)
    if not ahead or not thing.is_capital or thing.text.isupper() or len(ahead[0].text) < NOUN_LETTERS:
        return False
    is_name = ahead[0].is_capital and "plain" in ahead[0].tags and not ahead[0].text.endswith(ADJECTIVES)
    return is_name and not _is_in_capitals(tokens, one.after)


def _is_in_capitals(tokens: Sequence[Token], place: int) -> bool:
    """Whether all words around are written with capitals, so that one says nothing."""
    near = [token for token in tokens[max(0, place - 3) : place + 3] if "word" in token.tags]
    return sum(token.is_capital for token in near) > 2  # noqa: PLR2004


def _is_for_others(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a lift or a store serves something else: "асансьор за товари", "склад за велосипеди"."""
    ahead = after(tokens, one.after, 2)
    if not tagged(ahead[:1], {"за"}) or len(ahead) < 2:  # noqa: PLR2004
        return False
    return "plain" in ahead[1].tags and ahead[1].tags.isdisjoint(group("no_nouns"))


def _is_there_only(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is said to be somewhere else: "подово отопление има в новите блокове"."""
    ahead = after(tokens, one.after, 5)
    if tagged(ahead[:1], {"word"}) and not tagged(ahead[:1], {"preposition"}):
        ahead = ahead if tagged(ahead[:1], {"има", "имат"}) else ahead[1:]
    if one.field != "metro_near" and tagged(ahead[:1], {"в", "във", "при"}) and tagged(ahead[1:2], {"place"}):
        return True  # "климатична инсталация в мола"
    if not tagged(ahead[:1], {"има", "имат"}) or not tagged(ahead[1:2], {"в", "във", "на", "при", "само"}):
        return False
    return not tagged(ahead[2:], group("where_things_are") | {"building", "house"}) or tagged(
        ahead[2:], {"блокове", "сгради", "къщи", "кооперации"}
    )


def _is_owned(one: Candidate, tokens: Sequence[Token], also: AbstractSet[str] = frozenset()) -> bool:
    """Whether a thing is somebody else's: "склад на Кауфланд", "втората спалня е на майка ми"."""
    ahead = [token for token in after(tokens, one.after, 4) if token.text not in _BE]
    if not tagged(ahead[:1], {"на"}):
        return False
    nouns = [token for token in ahead[1:] if not token.tags.isdisjoint({"word", "sign"})]
    while len(nouns) > 1 and "plain" in nouns[0].tags and nouns[0].text.endswith(ADJECTIVES):
        nouns = nouns[1:]
    return (
        bool(nouns) and "word" in nouns[0].tags and nouns[0].tags.isdisjoint(group("where_things_are") | also)
    )


def _leads_elsewhere(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether an adjective tells of a noun that is no flat and no building: "тухлен зид", "обзаведен магазин"."""
    word, ahead = tokens[one.after - 1], tokens[one.after : one.after + 2]
    is_cut = tagged(ahead[1:], {"end"}) and ahead[1].text != "."  # by a portal: "тухлена сград .."
    if is_cut or not ahead or not word.text.endswith(ADJECTIVES) or ahead[0].clause != word.clause:
        return False
    noun = ahead[0]
    if one.field == "condition" and not word.tags.isdisjoint(group("qualified_others")):
        return True  # "в новите блокове"
    if not noun.tags.isdisjoint(group("qualified_others")):
        return True
    if "plain" not in noun.tags or len(noun.text) < NOUN_LETTERS or (noun.is_capital and not word.is_capital):
        return False
    return noun.tags.isdisjoint(group("no_nouns")) and not noun.text.endswith((*ADJECTIVES, "о"))


def _is_anothers_building(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether several buildings are meant, or a preposition leads to one: "залепен за панелен блок"."""
    if one.field == "total_floors" and not tokens[one.after - 1].tags.isdisjoint(group("qualified_others")):
        return True
    back = list(dropwhile(_is_before_a_noun, before(tokens, one.first, OFFER_WINDOW)))
    return one.field == "construction" and tagged(back[:1], group("to_another_building"))


def _is_of_a_thing(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether something else is sold or let: "давам под наем паркомясто"."""
    clause = same_clause(tokens, one.first)
    ahead = after(tokens, one.after, 2)
    return tagged(ahead, group("sold_besides")) and not tagged(clause, group("flats") | {"house", "sqm"})


def _is_led_to(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a preposition leads to a flat of so many rooms, which is another: "свързан е с двустайния"."""
    back = list(dropwhile(_is_before_a_noun, before(tokens, one.first, OFFER_WINDOW)))
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
    listed = {tokens[place].value for place in flats if tagged(tokens[place + 1 : place + 2], {"num"})}
    return one.value in listed and len(listed) > 1


def _is_only_spoken_of(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the cellar" is spoken of and nothing says that it goes with the flat: "мазето е наводнено"."""
    is_the_one = tokens[one.first].text.endswith(_ARTICLES)
    return is_the_one and not tagged(same_clause(tokens, one.first), group("belonging"))


def _is_idle(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the metro is named, and not as something that is near: "с метрото", "ремонтът на метрото"."""
    places = [place for place in range(one.first, one.after) if "metro" in tokens[place].tags]
    if not places:
        return False
    back = [token for token in before(tokens, places[-1], 4) if token.text != '"']
    if tagged(back[:1], group("not_to_the_metro")):
        return True
    if tagged(back[:1], {"на"}) and not tagged(back[1:2], group("of_the_metro")):
        return True
    clause = same_clause(tokens, places[-1])
    is_place = clause[0].text == "до" and "metro" not in clause[-1].tags
    stops = [place for place, token in enumerate(clause) if token.text == "спирки"]
    if tagged(clause, {"kilometre"}) or any(tagged(clause[max(0, one - 1) : one], _NUMBERS) for one in stops):
        return True  # "на две спирки от метрото"
    ahead = after(tokens, places[-1] + 1, 2)
    if tagged(ahead[:1], {"е"}) and tagged(ahead[1:], {"plain"}) and not tagged(ahead[1:], group("stands")):
        return True  # "метрото е шумно"
    if tagged(clause, {"goes"}) and tagged(clause, {"с", "със"}):
        return True  # "до метро стигате с рейс"
    if is_place and tagged(tokens[places[-1] + 1 : places[-1] + 2], {"има", "имат"}):
        return True  # "до метрото има автобус"
    verbs = (token for token in same_clause(tokens, places[-1]) if "verb" in token.tags)
    return any(token.text not in group("stating") for token in verbs)
