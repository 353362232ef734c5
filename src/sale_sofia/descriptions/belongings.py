"""Whose a thing is that was found: this flat's, or somebody else's, or one that is far off."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from sale_sofia.descriptions.clauses import same_clause
from sale_sofia.descriptions.grammar import ADJECTIVES
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import NOUN_LETTERS, OF_ONE_FLAT
from sale_sofia.descriptions.words import Token, group

_BE: Final = frozenset({"е", "са"})
_EXIST: Final = frozenset({"има", "имат"})
_NUMBERS: Final = frozenset({"num", "count"})
_DISTANCES: Final = frozenset({"metre", "minute", "kilometre", "крачки"})
_BUILDINGS: Final = frozenset({"building", "house", "storeys", "storeyed"})
_SINGLE: Final = frozenset({"storage", "parking_type", "parking_status"})
_ARTICLES: Final = ("ът", "ят", "та", "то", "те")


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
    is_the_one = tokens[one.first].text.endswith(_ARTICLES)
    clause = same_clause(tokens, one.first)
    return is_the_one and (tagged(clause, {"not"}) or not tagged(clause, group("belonging")))


def is_of_a_thing(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether something else is sold or let: "давам под наем паркомясто"."""
    clause = same_clause(tokens, one.first)
    ahead = after(tokens, one.after, 2)
    return tagged(ahead, group("sold_besides")) and not tagged(clause, group("flats") | {"house", "sqm"})
