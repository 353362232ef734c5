"""Which of the facts that were found are only mentioned, and say nothing about this flat."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import dropwhile, pairwise, takewhile
from typing import Any, Final

from sale_sofia.descriptions.clauses import same_clause
from sale_sofia.descriptions.grammar import ADJECTIVES, ARTICLES
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.readers import has_a_flat, is_of_a_twin
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

# The frames in which adverts state a fact. With other words beside it, a fact is only mentioned.

_VERBS: Final = frozenset({"verb", "does", "will", "past"})
_MEASURED: Final = frozenset({"area", "area_built", "total_floors"})
_PARTICIPLES: Final = ("ен", "ена", "ено", "ени", "ан", "ана", "ано", "ани")


def is_out_of_frame(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the words beside a fact are none that adverts state it with: "асансьор за товари в склада"."""
    frame = load_rules_file("frames.yaml").get(fact.field)
    # "The lift" exists, whatever is said about it.
    is_there = fact.field == "elevator" and tokens[fact.first].text.endswith((*ARTICLES, "а"))
    if frame is None or fact.status == "negated" or is_there:
        return False
    back, ahead = _ahead_of(fact, tokens), _behind(fact, tokens)
    then = list(dropwhile(lambda token: token.text in _BE, ahead))
    if then != ahead and _is_mere_subject(fact, ahead[0], then):
        return True
    then = list(dropwhile(lambda token: "only" in token.tags, then))
    if "за" in frame.get("then", ()) and tagged(then[:1], {"за"}) and then[1:]:
        return not tagged(then[1:3], group("for_the_flat"))  # "тераса за всички"
    return not (
        _may_stand(back[:1], "led_by", frame, begins=len(back) == 1)
        and _may_stand(then[:1], "then", frame, begins=False)
    )


def _is_mere_subject(fact: Candidate, verb: Token, rest: Sequence[Token]) -> bool:
    """Whether a fact is only the subject of a statement: "80 кв.м са малко", "етаж -1 е паркинг"."""
    if fact.field in _MEASURED:
        return verb.text == "са"
    if fact.field == "floor" and tagged(rest[:1], group("measured_rooms")):
        return True
    return tagged(rest[:1], {"only"}) and not tagged(rest[1:2], _NUMBERS)  # "с три спални е само мезонетът"


def _may_stand(beside: Sequence[Token], side: str, frame: Mapping[str, Any], *, begins: bool) -> bool:
    """Whether the word next to a fact is allowed there; a capital that begins a clause marks no name."""
    if not beside or "word" not in beside[0].tags:
        return True
    token = beside[0]
    if "preposition" in token.tags:
        return token.text in frame.get(side, (token.text,))
    is_name = token.text.isascii() or (token.is_capital and not begins) or len(token.text) < NOUN_LETTERS
    allowed = group("beside_facts").union(frame.get("beside", token.tags))
    return is_name or token.text.endswith(ADJECTIVES) or not token.tags.isdisjoint(allowed)


def _behind(fact: Candidate, tokens: Sequence[Token]) -> list[Token]:
    """The rest of the clause behind a fact, without a word glued to it or a last word that a portal cut."""
    here = tokens[fact.after - 1].clause
    nearest = tokens[fact.after : fact.after + CLAUSE_MOST_TOKENS]
    ahead = list(takewhile(lambda token: token.clause == here and "end" not in token.tags, nearest))
    end = fact.after + len(ahead)
    is_cut = tagged(tokens[end : end + 1], {"..", "...", "…"})
    is_glued = bool(ahead) and ahead[0].start == tokens[fact.after - 1].end  # "82 кв.мСъстои се"
    return ahead[is_glued : len(ahead) - is_cut]


def _ahead_of(fact: Candidate, tokens: Sequence[Token]) -> list[Token]:
    """The clause before a fact and its adjectives and number, the nearest word first."""
    back, here = before(tokens, fact.first, COUNT_WINDOW), tokens[fact.first].clause
    return list(dropwhile(_describes, (token for token in back if token.clause == here)))


def _describes(token: Token) -> bool:
    if not token.tags.isdisjoint({"preposition", "verb", "does"}):
        return False
    is_adjective = "plain" in token.tags and token.text.endswith(ADJECTIVES)
    return is_adjective or not token.tags.isdisjoint(_NUMBERS | {"underground", "outdoor"})


def is_not_offered(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a parking place is mentioned without being offered: "паркомясто се чака"."""
    clause = same_clause(tokens, fact.first)
    ahead = after(tokens, fact.after, 3)
    if tagged(ahead[:1], {"-", ":"}) and tagged(ahead[1:], group("parking_gone")):  # "паркоместа - изчерпани"
        return True
    if tagged(clause, group("parking_gone") | group("parking_terms")):
        return tagged(clause, group("parking_gone"))
    if tagged(_ahead_of(fact, tokens)[:1], {"за", "на", "от"}) and not tagged(clause, group("flats")):
        return True  # "място за гараж", "цената на гараж"
    verbs = (token for token in _behind(fact, tokens) if not token.tags.isdisjoint(_VERBS))
    return any(token.text not in group("parking_verbs") for token in verbs)


def is_held_by_another(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether its clause goes on to name another owner: "климатикът в хола е на наемателя"."""
    ahead, belongs = _behind(fact, tokens), group("belongs")
    for number in (place for place, token in enumerate(ahead) if token.text in belongs):
        owner = [word for word in ahead[number + 1 : number + 4] if word.text not in {"собственост", "се"}]
        if tagged(owner[:1], {"на", "за"}):
            return tagged(owner[1:2], group("people"))
    return False


def is_undone(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the terrace" is on another floor, or an unknown participle follows: "терасата е затворена"."""
    ahead = _behind(fact, tokens)
    if not tokens[fact.after - 1].text.endswith(ARTICLES):
        return False
    if tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], {"ordinal", "last"}):  # "терасите на първия етаж"
        return True
    words = ahead[1:2] if tagged(ahead[:1], _BE) else []
    return (
        tagged(words, {"plain"}) and words[0].text.endswith(_PARTICIPLES) and "harmless" not in words[0].tags
    )


# To whom a thing belongs: to this flat, to somebody else, or it is far away.

_BE: Final = frozenset({"е", "са"})
_EXIST: Final = frozenset({"има", "имат"})
_DISTANCES: Final = frozenset({"metre", "minute", "kilometre", "крачки"})
_BUILDINGS: Final = frozenset({"building", "house", "storeys", "storeyed"})
_DISTANCED: Final = frozenset({"metro_minutes", "metro_distance_m"})
_FLOOR_NUMBERS: Final = frozenset({"whole", "count", "ordinal"})
_SINGLE: Final = frozenset({"storage", "parking_type", "parking_status"})


def is_not_the_flats(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a room, cellar, garage or furniture does not belong to this flat."""
    if fact.status == "negated" or tokens[fact.first].mood == "denied":
        return False
    is_seen = [token.text for token in before(tokens, fact.first, 1)] == ["към"] and tagged(
        before(tokens, fact.first, 2), {"view"}
    )  # "изглед към тераси"
    return (
        is_seen
        or _is_of_many(fact, tokens)
        or (fact.field == "storage" and (_is_priced(fact, tokens) or _is_a_ceiling(fact, tokens)))
        or _is_far(fact, tokens)
        or _is_owned(fact, tokens)
        or _is_named(fact, tokens)
    )


def _is_priced(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing has a price of its own: "склад - 8 000 евро", "склад на отделна цена"."""
    ahead = [token for token in after(tokens, fact.after, 5) if "node" not in token.tags]
    if tagged(ahead[:1], {"preposition"}) and tagged(ahead[1:2], {"separate"}) and tagged(ahead, {"price"}):
        return True
    is_labelled = tagged(ahead[:1], {"-", ":"}) and tagged(ahead[1:2], {"num"})
    return is_labelled and tagged(ahead, {"money", "€"}) and not tagged(ahead, {"sqm"})


def _is_a_ceiling(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "таван" is a ceiling, or the top of a house: "таван - 290 см", "3 етажа и таван"."""
    ahead = [token for token in after(tokens, fact.after, 3) if token.text not in {"-", ":"}]
    back = before(tokens, fact.first, 2)
    is_made = tagged(ahead[:1], {"с", "от", "в"}) and tagged(ahead[1:2], {"plain"})
    return tokens[fact.first].text == "таван" and (
        is_made or (tagged(ahead[:1], {"num"}) and not tagged(ahead, {"sqm"})) or tagged(back[1:], {"floors"})
    )


def _is_of_many(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether there are more of a thing than one flat has: "28 гаража и 10 склада"."""
    if tokens[fact.first].text in group("of_many"):
        return not tagged(same_clause(tokens, fact.first), group("flats") | {"ours"})
    counts = [token.value for token in before(tokens, fact.first, 1) if "year" not in token.tags]
    return fact.field in _SINGLE and any(isinstance(count, int) and count > OF_ONE_FLAT for count in counts)


def _is_far(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is some distance away: "баня на 200 м"."""
    ahead = [token for token in after(tokens, fact.after, 5) if token.text not in _BE]
    return tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], _NUMBERS) and tagged(ahead[2:3], _DISTANCES)


def _is_named(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is only part of a name: "Изба Мелник"."""
    thing, ahead = tokens[fact.after - 1], after(tokens, fact.after, 1)
    if not ahead or not thing.is_capital or len(ahead[0].text) < NOUN_LETTERS:
        return False
    is_name = ahead[0].is_capital and "plain" in ahead[0].tags and not ahead[0].text.endswith(ADJECTIVES)
    return is_name and not _is_in_capitals(tokens, fact.after)


def _is_in_capitals(tokens: Sequence[Token], place: int) -> bool:
    """Whether most words around are capitalised, so that a capital says nothing."""
    near = [token for token in tokens[max(0, place - 3) : place + 3] if "word" in token.tags]
    return sum(token.is_capital for token in near) > 2  # noqa: PLR2004


def _is_owned(fact: Candidate, tokens: Sequence[Token], also: AbstractSet[str] = frozenset()) -> bool:
    """Whether a thing belongs to somebody else: "склад на Кауфланд", "втората спалня е на майка ми"."""
    ahead = [token for token in after(tokens, fact.after, 4) if token.text not in _BE]
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


def is_not_our_floor(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether it is the floor of something else: "втори етаж на школата"."""
    return _is_owned(fact, tokens, _BUILDINGS)


def is_elsewhere(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a thing is said to be somewhere else: "подово отопление има в новите блокове"."""
    ahead = after(tokens, fact.after, 5)
    if not tagged(ahead[:1], _EXIST | {"preposition"}):  # "климатична инсталация в мола"
        ahead = ahead[1:]
    if (
        fact.field != "metro_near"
        and tagged(ahead[:1], {"в", "във", "при"})
        and tagged(ahead[1:2], {"place", "shared"})
    ):
        return True
    if not tagged(ahead[:1], _EXIST) or not tagged(ahead[1:2], {"в", "във", "на", "при", "само"}):
        return False
    is_ours = tagged(ahead[2:], group("where_things_are") | _BUILDINGS)
    return not is_ours or tagged(ahead[2:], group("qualified_others"))


def leads_elsewhere(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether an adjective describes neither a flat nor a building: "тухлен зид", "нов мол"."""
    word, ahead = tokens[fact.after - 1], tokens[fact.after : fact.after + 2]
    is_cut = tagged(ahead[1:], {"end"}) and ahead[1].text != "."  # by a portal: "тухлена сград .."
    if is_cut or not ahead or not word.text.endswith(ADJECTIVES) or ahead[0].clause != word.clause:
        return False
    noun = ahead[0]
    if fact.field == "furnishing" and tagged((noun,), {"bedroom", "kids", "living"}):  # "обзаведена детска"
        return True
    # "в новите блокове", "панелната част на квартала"
    if tagged((word, noun) if fact.field == "condition" else (noun,), group("qualified_others")):
        return True
    if "plain" not in noun.tags or len(noun.text) < NOUN_LETTERS or (noun.is_capital and not word.is_capital):
        return False
    return noun.tags.isdisjoint(group("no_nouns")) and not noun.text.endswith((*ADJECTIVES, "о"))


def is_only_spoken_of(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the cellar" is mentioned without being part of the flat: "мазето е наводнено"."""
    is_definite = tokens[fact.first].text.endswith(ARTICLES)
    clause = same_clause(tokens, fact.first)
    return is_definite and (tagged(clause, {"not"}) or not tagged(clause, group("belonging")))


_LETTING: Final = frozenset({"се", "под", "наем"})


def is_of_a_thing(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether something else is sold or let: "давам под наем паркомясто"."""
    clause = same_clause(tokens, fact.first)
    ahead = [token for token in _behind(fact, tokens) if token.text not in _LETTING]
    is_thing = tagged(ahead[:2], group("sold_besides")) and not tagged(ahead[:1], {"preposition"})
    return is_thing and not has_a_flat(clause) and not tagged(clause, {"house"})


_THINGS: Final = frozenset({
    "bedrooms", "bathrooms", "wc_separate", "balconies", "has_balcony", "storage", "parking_type",
    "parking_status", "furnishing",
})  # fmt: skip
_MASCULINE: Final = ("ен", "ан", "ов", "ев", "ив", "ав", "ък", "ър", "ъл", "ям", "щ", "ски")
_NUMBERS: Final = frozenset({"num", "count"})
_OFFERED_TERMS: Final = frozenset({"parking_type", "parking_status"})
"""For these fields an "или" offers both."""
_MADE: Final = frozenset({"convert", "made", "merged", "обединен", "обединени"})


def is_only_mentioned(fact: Candidate, candidates: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether a text mentions a fact without stating it of this flat."""
    return (
        _is_one_of_two(fact, candidates, tokens)
        or _is_of_two_numbers(fact, tokens)
        or (fact.status == "negated" and _is_of_one_kind(fact, tokens))
        or is_out_of_frame(fact, tokens)
        or any(fact.field in fields and judge(fact, tokens) for fields, judge in _JUDGES)
    )


def _is_one_of_two(fact: Candidate, candidates: Sequence[Candidate], tokens: Sequence[Token]) -> bool:
    """Whether the text leaves open which: "стара тухла или панел"."""
    here = tokens[fact.first].clause
    if fact.field == "heating" and _is_one_of_two_heatings(fact, tokens):
        return True
    if fact.field in _OFFERED_TERMS or not tagged(same_clause(tokens, fact.first), {"или"}):
        return False
    return any(
        other.field == fact.field
        and other.value != fact.value
        and tokens[other.first].clause == here
        and tagged(tokens[min(fact.after, other.after) : max(fact.first, other.first)], {"или"})
        for other in candidates
    )


def _is_one_of_two_heatings(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether an "или" joins it to another kind that no rule reads by itself: "по избор - ток или газ"."""
    sides = before(tokens, fact.first, 3), after(tokens, fact.after, 3)
    return any(tagged(side[:1], {"или"}) and tagged(side[1:], group("heatings")) for side in sides)


_COMPOUNDS: Final = frozenset({"count", "дву"})
_SPANS: Final = frozenset({"-", "/", "до", "или"})


def _is_of_two_numbers(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether two numbers stand where one is needed: "2/3 стаен", "на 5 и 6 етаж", "200-300 м от метро"."""
    if fact.field == "floor":
        return _is_on_two_floors(fact, tokens)
    back, number = before(tokens, fact.first, 3), tokens[fact.first]
    if len(back) < 2:  # noqa: PLR2004
        return False
    sign, other = back[0], back[1]
    is_joined = other.end == sign.start and sign.end == number.start
    if fact.field == "rooms":
        if "num" in number.tags:
            return "num" in other.tags and ((is_joined and sign.text in _SPANS) or sign.text == "или")
        is_sign = sign.text == "или" or (is_joined and sign.text in {"-", "/", ","})
        return is_sign and not other.tags.isdisjoint(_COMPOUNDS)
    if fact.field not in _DISTANCED or number.tags.isdisjoint(_NUMBERS) or other.tags.isdisjoint(_NUMBERS):
        return False
    # "Младост 1 - 5 минути до метрото": a free dash behind a name joins nothing.
    is_span = is_joined or sign.text != "-" or tagged(back[2:], {"preposition"})
    return is_span and sign.text in _SPANS


def _is_on_two_floors(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a flat is on this floor and on another one: "на 5 и 6 етаж от 6", "на етаж 2 и 3"."""
    place = next((n for n in range(fact.first, fact.after) if tokens[n].value == fact.value), fact.first)
    back, ahead = before(tokens, place, 2), after(tokens, place + 1, 5)
    if _joins_floors(back[:1], tokens[place]) and tagged(back[1:], _FLOOR_NUMBERS):
        return True
    if not _joins_floors(ahead[:1], tokens[place]) or not tagged(ahead[1:2], _FLOOR_NUMBERS):
        return False
    counted = takewhile(lambda token: token.tags.isdisjoint({"preposition", "verb", "sign"}), ahead[2:])
    is_next = ahead[1].value == fact.value + 1
    return is_next and not tagged(counted, group("counting_ends") | {"garages", "parkings"})


def _joins_floors(beside: Sequence[Token], number: Token) -> bool:
    """Whether an "и" stands beside a floor, or a dash without a space."""
    return tagged(beside, {"и"}) or (
        tagged(beside, {"-"}) and (beside[0].end == number.start or beside[0].start == number.end)
    )


def _is_of_one_kind(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether only things of one kind are denied, and not all of them: "без остъклени тераси"."""
    back = before(tokens, fact.first, 1)
    if not back or tokens[fact.first].clause != tokens[fact.first - 1].clause:
        return False
    if not back[0].tags.isdisjoint({"ordinal", "twin"}):  # "вторият асансьор е спрян"
        return True
    if not tagged(before(tokens, fact.first, 3), {"lacking", "not"}):
        return False
    is_kind = not back[0].tags.isdisjoint({"plain", "glazed"}) and back[0].text.endswith(ADJECTIVES)
    return is_kind and back[0].tags.isdisjoint(group("of_any_kind"))


def _is_anothers_building(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether other buildings are meant, or a preposition leads to one: "залепен за панелен блок"."""
    if fact.field == "total_floors" and not tokens[fact.after - 1].tags.isdisjoint(group("qualified_others")):
        return True
    back = list(dropwhile(_is_before_a_noun, before(tokens, fact.first, OFFER_WINDOW)))
    return fact.field == "construction" and tagged(back[:1], group("to_another_building"))


def _is_led_to(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a preposition leads to another flat of so many rooms: "свързан е с двустайния"."""
    back = list(dropwhile(_is_before_a_noun, before(tokens, fact.first, OFFER_WINDOW)))
    if tagged(back[:1], {"на"}) and tagged(back[1:2], {"plain", "price", "area"}):
        return not tagged(back[1:2], group("leads_to_this"))  # "размерите на тристаен"
    if "roomed_plural" in tokens[fact.first].tags:
        return tagged(back[:1], {"за"}) and not tagged(same_clause(tokens, fact.first), group("offering"))
    is_the_offer = tagged(back[:1], {"за"}) and tagged(
        before(tokens, fact.first, OFFER_WORDS), group("offering")
    )
    is_made = tagged(back[:1], {"в", "във"}) and tagged(same_clause(tokens, fact.first), _MADE)
    return tagged(back[:1], group("to_another_flat")) and not is_the_offer and not is_made


def _is_before_a_noun(token: Token) -> bool:
    """Whether it may stand between a preposition and its noun: "за по-голям тристаен"."""
    return token.text in {"по", "най", "-"} or (
        token.tags.isdisjoint({"preposition", "verb", "count"}) and token.text.endswith(_MASCULINE)
    )


def _is_one_of_two_flats(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether two flats are offered together: "тристаен и двустаен апартамент в къща"."""
    if "roomed" not in tokens[fact.first].tags:
        return False
    if _is_in_a_list(fact, tokens):
        return True
    ahead, back = after(tokens, fact.after, 2), before(tokens, fact.first, 2)
    return any(
        tagged(beside[:1], {"и"}) and tagged(beside[1:], {"roomed"}) and beside[1].value != fact.value
        for beside in (ahead, back)
    )


def _is_in_a_list(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a sentence lists several flats with numbers: "двустаен 130 000, тристаен 190 000"."""
    near = range(
        max(0, fact.first - CLAUSE_MOST_TOKENS), min(len(tokens) - 1, fact.first + CLAUSE_MOST_TOKENS)
    )
    here = tokens[fact.first].sentence
    flats = [place for place in near if "roomed" in tokens[place].tags and tokens[place].sentence == here]
    behind = {place: list(dropwhile(_is_before_a_price, tokens[place + 1 : place + 3])) for place in flats}
    listed = {tokens[place].value for place in flats if tagged(behind[place][:1], {"num"})}
    return fact.value in listed and len(listed) > 1


def _is_before_a_price(token: Token) -> bool:
    return token.text in {"от", "за", "-"}


def _is_idle(fact: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the metro is mentioned, but not as near: "с метрото", "ремонтът на метрото"."""
    places = [place for place in range(fact.first, fact.after) if "metro" in tokens[place].tags]
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
    """Whether the metro is a ride away: "на две спирки от метрото", "до метро стигате с рейс"."""
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
    """Whether the way there needs a vehicle: "5 мин. от метрото с тротинетка", "… с градски транспорт"."""
    ahead = after(tokens, metro + 1, 3)
    led = [token for token in ahead[1:] if token.clause == tokens[metro].clause]
    return tagged(ahead[:1], {"с", "със"}) and tagged(led, {"plain", "vehicle"}) and not tagged(led, {"walk"})


def _is_no_place(clause: Sequence[Token], ahead: Sequence[Token]) -> bool:
    """Whether the text does not say where the metro is: "метрото е шумно", "до метрото има автобус"."""
    is_described = tagged(ahead[:1], {"е"}) and tagged(ahead[1:], {"plain"})
    is_way = clause[0].text == "до" and tagged(ahead[:1], {"има", "имат"})
    return is_way or (is_described and not tagged(ahead[1:], group("stands")))


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
"""The fields that each function judges."""
