"""Which of the things that were found are only mentioned, and say nothing of this flat."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import dropwhile, pairwise, takewhile
from typing import Any, Final

from sale_sofia.descriptions.clauses import same_clause
from sale_sofia.descriptions.grammar import ADJECTIVES, ARTICLES
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.readers import is_of_a_twin
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import (
    CLAUSE_MOST_TOKENS,
    COUNT_WINDOW,
    NOUN_LETTERS,
    OF_ONE_FLAT,
    OFFER_WINDOW,
    OFFER_WORDS,
)
from sale_sofia.descriptions.words import Token, group, load_rules_file

# In which frames adverts state a fact. Words beside it that they do not have there only speak of a thing.

_VERBS: Final = frozenset({"verb", "does", "will", "past"})
_MEASURED: Final = frozenset({"area", "area_built", "total_floors"})
_PARTICIPLES: Final = ("ен", "ена", "ено", "ени", "ан", "ана", "ано", "ани")


def is_out_of_frame(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether words stand beside a fact that adverts do not state it with: "асансьор за товари в склада"."""
    frame = load_rules_file("frames.yaml").get(one.field)
    # "The lift" is there, whatever is said of it.
    is_there = one.field == "elevator" and tokens[one.first].text.endswith((*ARTICLES, "а"))
    if frame is None or one.status == "negated" or is_there:
        return False
    back, ahead = _ahead_of(one, tokens), _behind(one, tokens)
    then = list(dropwhile(lambda token: token.text in _BE, ahead))
    if then != ahead and _is_told_otherwise(one, ahead[0], then):
        return True
    then = list(dropwhile(lambda token: "only" in token.tags, then))
    if "за" in frame.get("then", ()) and tagged(then[:1], {"за"}) and then[1:]:
        return not tagged(then[1:3], group("for_the_flat"))  # "тераса за всички"
    return not (
        _may_stand(back[:1], "led_by", frame, begins=len(back) == 1)
        and _may_stand(then[:1], "then", frame, begins=False)
    )


def _is_told_otherwise(one: Candidate, verb: Token, told: Sequence[Token]) -> bool:
    """Whether a fact is the subject of something else: "80 кв.м са малко", "етаж -1 е паркинг"."""
    if one.field in _MEASURED:
        return verb.text == "са"
    if one.field == "floor" and tagged(told[:1], group("measured_rooms")):
        return True
    return tagged(told[:1], {"only"}) and not tagged(told[1:2], _NUMBERS)  # "с три спални е само мезонетът"


def _may_stand(beside: Sequence[Token], side: str, frame: Mapping[str, Any], *, begins: bool) -> bool:
    """Whether what stands next to a fact can be meant there; a capital that begins a clause marks no name."""
    if not beside or "word" not in beside[0].tags:
        return True
    token = beside[0]
    if "preposition" in token.tags:
        return token.text in frame.get(side, (token.text,))
    is_name = token.text.isascii() or (token.is_capital and not begins) or len(token.text) < NOUN_LETTERS
    known = group("beside_facts").union(frame.get("beside", token.tags))
    return is_name or token.text.endswith(ADJECTIVES) or not token.tags.isdisjoint(known)


def _behind(one: Candidate, tokens: Sequence[Token]) -> list[Token]:
    """What its clause says behind a thing, but for what is glued to it and a last word that a portal cut."""
    here = tokens[one.after - 1].clause
    nearest = tokens[one.after : one.after + CLAUSE_MOST_TOKENS]
    ahead = list(takewhile(lambda token: token.clause == here and "end" not in token.tags, nearest))
    end = one.after + len(ahead)
    is_cut = tagged(tokens[end : end + 1], {"..", "...", "…"})
    is_glued = bool(ahead) and ahead[0].start == tokens[one.after - 1].end  # "82 кв.мСъстои се"
    return ahead[is_glued : len(ahead) - is_cut]


def _ahead_of(one: Candidate, tokens: Sequence[Token]) -> list[Token]:
    """What its clause says before a thing and its adjectives and number, the nearest first."""
    back, here = before(tokens, one.first, COUNT_WINDOW), tokens[one.first].clause
    return list(dropwhile(_describes, (token for token in back if token.clause == here)))


def _describes(token: Token) -> bool:
    if not token.tags.isdisjoint({"preposition", "verb", "does"}):
        return False
    is_adjective = "plain" in token.tags and token.text.endswith(ADJECTIVES)
    return is_adjective or not token.tags.isdisjoint(_NUMBERS | {"underground", "outdoor"})


def is_not_offered(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a place for a car is spoken of, and not in words that offer one: "паркомясто се чака"."""
    clause = same_clause(tokens, one.first)
    if tagged(clause, group("parking_gone") | group("parking_terms")):
        return tagged(clause, group("parking_gone"))
    if tagged(_ahead_of(one, tokens)[:1], {"за", "на", "от"}) and not tagged(clause, group("flats")):
        return True  # "място за гараж", "цената на гараж"
    verbs = (token for token in _behind(one, tokens) if not token.tags.isdisjoint(_VERBS))
    return any(token.text not in group("parking_verbs") for token in verbs)


def is_held_by_another(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether its clause goes on to say whose a thing is: "климатикът в хола е на наемателя"."""
    ahead, belongs = _behind(one, tokens), group("belongs")
    for number in (place for place, token in enumerate(ahead) if token.text in belongs):
        owner = [word for word in ahead[number + 1 : number + 4] if word.text not in {"собственост", "се"}]
        if tagged(owner[:1], {"на", "за"}):
            return tagged(owner[1:2], group("people"))
    return False


def is_undone(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the terrace" is another floor's, or what nobody knows: "терасата е затворена"."""
    ahead = _behind(one, tokens)
    if not tokens[one.after - 1].text.endswith(ARTICLES):
        return False
    if tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], {"ordinal", "last"}):  # "терасите на първия етаж"
        return True
    told = ahead[1:2] if tagged(ahead[:1], _BE) else []
    return tagged(told, {"plain"}) and told[0].text.endswith(_PARTICIPLES) and "harmless" not in told[0].tags


# Whose a thing is that was found: this flat's, or somebody else's, or one that is far off.

_BE: Final = frozenset({"е", "са"})
_EXIST: Final = frozenset({"има", "имат"})
_DISTANCES: Final = frozenset({"metre", "minute", "kilometre", "крачки"})
_BUILDINGS: Final = frozenset({"building", "house", "storeys", "storeyed"})
_SINGLE: Final = frozenset({"storage", "parking_type", "parking_status"})


def is_not_the_flats(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a room, a cellar, a garage or furniture is not this flat's."""
    if one.status == "negated" or tokens[one.first].mood == "denied":
        return False
    is_seen = [token.text for token in before(tokens, one.first, 1)] == ["към"] and tagged(
        before(tokens, one.first, 2), {"view"}
    )  # "изглед към тераси"
    return (
        is_seen
        or _is_of_many(one, tokens)
        or (one.field == "storage" and (_is_priced(one, tokens) or _is_a_ceiling(one, tokens)))
        or _is_far(one, tokens)
        or _is_owned(one, tokens)
        or _is_named(one, tokens)
    )


def _is_priced(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing has a price of its own: "склад - 8 000 евро"."""
    ahead = after(tokens, one.after, 5)
    is_told = tagged(ahead[:1], {"-", ":"}) and tagged(ahead[1:2], {"num"})
    return is_told and tagged(ahead, {"money", "€"}) and not tagged(ahead, {"sqm"})


def _is_a_ceiling(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "таван" is what stands above a room, or ends a house: "таван 290 см", "3 етажа и таван"."""
    ahead, back = after(tokens, one.after, 2), before(tokens, one.first, 2)
    is_made = tagged(ahead[:1], {"с", "от", "в"}) and tagged(ahead[1:2], {"plain"})
    return tokens[one.first].text == "таван" and (
        is_made or (tagged(ahead[:1], {"num"}) and not tagged(ahead, {"sqm"})) or tagged(back[1:], {"floors"})
    )


def _is_of_many(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether there are more of a thing than one flat has: "28 гаража и 10 склада"."""
    if tokens[one.first].text in group("of_many"):
        return not tagged(same_clause(tokens, one.first), group("flats") | {"ours"})
    counts = [token.value for token in before(tokens, one.first, 1) if "year" not in token.tags]
    return one.field in _SINGLE and any(isinstance(count, int) and count > OF_ONE_FLAT for count in counts)


def _is_far(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is some way off: "баня на 200 м"."""
    ahead = [token for token in after(tokens, one.after, 5) if token.text not in _BE]
    return tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], _NUMBERS) and tagged(ahead[2:3], _DISTANCES)


def _is_named(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing only stands in a name: "Изба Мелник"."""
    thing, ahead = tokens[one.after - 1], after(tokens, one.after, 1)
    if not ahead or not thing.is_capital or len(ahead[0].text) < NOUN_LETTERS:
        return False
    is_name = ahead[0].is_capital and "plain" in ahead[0].tags and not ahead[0].text.endswith(ADJECTIVES)
    return is_name and not _is_in_capitals(tokens, one.after)


def _is_in_capitals(tokens: Sequence[Token], place: int) -> bool:
    """Whether all words around are written with capitals, so that one says nothing."""
    near = [token for token in tokens[max(0, place - 3) : place + 3] if "word" in token.tags]
    return sum(token.is_capital for token in near) > 2  # noqa: PLR2004


def _is_owned(one: Candidate, tokens: Sequence[Token], also: AbstractSet[str] = frozenset()) -> bool:
    """Whether a thing is somebody else's: "склад на Кауфланд", "втората спалня е на майка ми"."""
    ahead = [token for token in after(tokens, one.after, 4) if token.text not in _BE]
    if not tagged(ahead[:1], {"на"}):
        return False
    nouns = [token for token in ahead[1:] if not token.tags.isdisjoint({"word", "sign"})]
    while len(nouns) > 1 and _is_adjective(nouns[0]):
        nouns = nouns[1:]
    return (
        bool(nouns) and "word" in nouns[0].tags and nouns[0].tags.isdisjoint(group("where_things_are") | also)
    )


def _is_adjective(token: Token) -> bool:
    return "plain" in token.tags and ("harmless" in token.tags or token.text.endswith(ADJECTIVES))


def is_not_our_floor(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether it is the floor of something else: "втори етаж на школата"."""
    return _is_owned(one, tokens, _BUILDINGS)


def is_elsewhere(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is said to be somewhere else: "подово отопление има в новите блокове"."""
    ahead = after(tokens, one.after, 5)
    if not tagged(ahead[:1], _EXIST | {"preposition"}):  # "климатична инсталация в мола"
        ahead = ahead[1:]
    if (
        one.field != "metro_near"
        and tagged(ahead[:1], {"в", "във", "при"})
        and tagged(ahead[1:2], {"place", "shared"})
    ):
        return True
    if not tagged(ahead[:1], _EXIST) or not tagged(ahead[1:2], {"в", "във", "на", "при", "само"}):
        return False
    is_ours = tagged(ahead[2:], group("where_things_are") | _BUILDINGS)
    return not is_ours or tagged(ahead[2:], group("qualified_others"))


def leads_elsewhere(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether an adjective tells of a noun that is no flat and no building: "тухлен зид", "нов мол"."""
    word, ahead = tokens[one.after - 1], tokens[one.after : one.after + 2]
    is_cut = tagged(ahead[1:], {"end"}) and ahead[1].text != "."  # by a portal: "тухлена сград .."
    if is_cut or not ahead or not word.text.endswith(ADJECTIVES) or ahead[0].clause != word.clause:
        return False
    noun = ahead[0]
    # "в новите блокове", "панелната част на квартала"
    if tagged((word, noun) if one.field == "condition" else (noun,), group("qualified_others")):
        return True
    if "plain" not in noun.tags or len(noun.text) < NOUN_LETTERS or (noun.is_capital and not word.is_capital):
        return False
    return noun.tags.isdisjoint(group("no_nouns")) and not noun.text.endswith((*ADJECTIVES, "о"))


def is_only_spoken_of(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the cellar" is spoken of and nothing says that it goes with the flat: "мазето е наводнено"."""
    is_the_one = tokens[one.first].text.endswith(ARTICLES)
    clause = same_clause(tokens, one.first)
    return is_the_one and (tagged(clause, {"not"}) or not tagged(clause, group("belonging")))


def is_of_a_thing(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether something else is sold or let: "давам под наем паркомясто"."""
    clause = same_clause(tokens, one.first)
    ahead = after(tokens, one.after, 2)
    return tagged(ahead, group("sold_besides")) and not tagged(clause, group("flats") | {"house", "sqm"})


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
