"""Which words of a clause can be its subject, and which of them are unknown.

This is not a parser of Bulgarian, but word order says enough: an adjective leads to the noun behind it, a
preposition governs the one noun that follows, a capital inside a sentence marks a name, and a verb in the
first or second person has the seller or the buyer as its subject. A word that is in no list and in none of
these places is a stranger: perhaps somebody else, or somebody else's verb.
"""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Final

from sale_sofia.descriptions.patterns import tagged
from sale_sofia.descriptions.settings import (
    CLAUSE_MOST_TOKENS,
    OWN_TOKENS,
    PAST_LETTERS,
    STRANGER_LETTERS,
)
from sale_sofia.descriptions.words import Token, group, load_rules_file, meaning

ADJECTIVES: Final = (
    "ен", "ена", "ено", "ени", "на", "но", "ни", "ния", "ният", "ната", "ното", "ните", "ият", "нат",
    "ски", "ска", "ско", "ския", "ската", "ското", "ските", "щ", "ща", "що", "щи", "щата", "щият",
    "ов", "ова", "ово", "ови", "ев", "ева", "ево", "еви", "ив", "ива", "иво", "иви", "аво", "ави",
    "ан", "ана", "ано", "ани", "ит", "ита", "ито", "ити", "ъл", "тла", "пла", "ък", "ка", "ки", "ра", "ро",
    "ри", "ър",
)  # fmt: skip
"""Endings of adjectives and of participles."""
_VERBS: Final = ("ава", "ява", "ува", "ива", "жва", "ква")
"""Endings of the third person that look like those of adjectives."""
_FIRST_PERSONS: Final = ("ем", "им", "аме", "яме", "ате", "яте", "ете")
"""Endings of the first and second person: "живеем", "качвате" are ours or yours."""
_HARMLESS: Final = (
    "ен", "ан", "щ", "що", "щи", "ирана", "ирани",  # adjectives and participles by themselves
    *_FIRST_PERSONS,
)  # fmt: skip
_PAST: Final = ("хме", "хте", "аха", "иха", "яха", "оха", "аше", "яше", "еше")
"""Endings of verbs in the past tense."""
_PERFECT: Final = ("ал", "ала", "ало", "али", "ил", "ила", "ило", "или", "ял", "яла", "яло", "яли", "ели")
"""Endings of what somebody has done: "е живяло", "са правили"."""
_BE: Final = frozenset({"е", "са", "съм", "сме", "си", "сте", "се"})
_ADVERBS: Final = ("но", "ко", "во", "ро", "ски")
"""Endings of adverbs; nouns that end so are rare inside a clause without a preposition."""
_PLURALS: Final = ("овете", "евете", "щата", "щите")
"""Endings of nouns that look like some of the harmless ones."""
_PARTICIPLES: Final = ("ена", "ено", "ени", "ана", "ано", "ани")
ARTICLES: Final = ("ът", "ят", "та", "то", "те")
_EXIST: Final = frozenset({"има", "имат"})
_BEFORE_NOUNS: Final = _EXIST | {"че"}
_WORD: Final = re.compile("[а-я]+")
_JOINS: Final = frozenset({"и", "или", "/", "+", "-"})
_LEADS: Final = frozenset({"word", "num", "ordinal", "decade"})
_DETERMINERS: Final = frozenset({"determiner", "count", "ours"})
_NO_LEADS: Final = frozenset({"preposition", "verb", "does"})
_NO_NOUNS: Final = frozenset({"verb", "does", "harmless", "preposition"})
_NOTHING: Final = frozenset({"plain", "word"})
_OBJECTS: Final = frozenset({"го", "ги", "я"})
_NO_DOUBTS: Final = frozenset({"made", "harmless", "verb", "lacking", "not"})
_OUTSIDE: Final = frozenset({'"', "към", "между", "не", "..", "..."})
"""A word beside one of these is a name, or refers back: "две бани и тоалетни към тях"."""
_AGENCY_DOES: Final = frozenset({"sells", "lets", "offering"})
_OTHERS_DO: Final = frozenset({"occupies", "seeks", "lives"})
"""Known verbs that say nothing about this flat unless it is their subject."""


def find_heads(tokens: Sequence[Token], first: int, end: int) -> Iterator[tuple[int, bool]]:
    """The places of a clause's words that are not adjectives and not governed by a preposition.

    Owners of what the clause is about count too, and are marked: "терасата на кафенето", "в мола има …".
    """
    governed = was_governed = may_own = False
    for place in range(first, end):
        token = tokens[place]
        if "preposition" in token.tags:
            may_own = _may_own(tokens, place, end) and place > first and not was_governed
            governed = True
        elif token.text in _JOINS:
            governed = was_governed
        elif token.text == ":":
            governed = was_governed = False
        elif token.text == "да":  # what can be done with it; the subject came before
            return
        elif "word" in token.tags and not _leads_on(tokens, place, end):
            if _is_unknown(token) and _is_harmless(tokens, place, is_first=place == first):
                continue
            is_owner = governed and (may_own or _holds(tokens, place))
            if is_owner or not governed:
                yield place, is_owner
            was_governed, governed = governed, False


def _may_own(tokens: Sequence[Token], place: int, end: int) -> bool:
    """Whether a preposition leads to an owner: "на" between nouns with an article, any behind "има"."""
    last = tokens[place - 1]
    if last.text in _EXIST:
        return True
    if tokens[place].text != "на" or "word" not in last.tags or not last.tags.isdisjoint(_NO_NOUNS):
        return False
    return last.text.endswith(ARTICLES) or any(
        token.text.endswith(ARTICLES) for token in tokens[place + 1 : min(place + 2, end)]
    )


def _holds(tokens: Sequence[Token], place: int) -> bool:
    return any(token.text in _EXIST for token in tokens[place + 1 : place + 2])


def find_strangers(tokens: Sequence[Token], first: int, end: int) -> Iterator[tuple[int, bool]]:
    """The places of a clause's unknown words that may be its subject, its verb or an owner."""
    return ((place, owns) for place, owns in find_heads(tokens, first, end) if _is_unknown(tokens[place]))


def is_doubtful(tokens: Sequence[Token], first: int, end: int, explained: Container[int]) -> bool:
    """Whether a clause has a word that adverts state no facts with, and that no cue explains."""
    return any(place not in explained and _is_doubt(tokens, place) for place in range(first, end))


def _is_doubt(tokens: Sequence[Token], place: int) -> bool:
    token, following = tokens[place], tokens[place + 1 : place + 3]
    beside = (*tokens[max(0, place - 1) : place], *following[:1])
    if "word" not in token.tags or token.tags & _NO_DOUBTS or any(near.text in _OUTSIDE for near in beside):
        return False
    if "only" in token.tags:
        return not tagged(following, group("singled_out"))
    if token.text in _OBJECTS and following and _is_ours_to_do(following[0]):
        return False
    if len(token.text) < PAST_LETTERS:
        return "doubtful" in token.tags
    is_perfect = token.text.endswith(_PERFECT) and tagged(tokens[max(0, place - 1) : place], _BE)
    return "doubtful" in token.tags or token.text.endswith(_PAST) or (is_perfect and "plain" in token.tags)


def _is_ours_to_do(verb: Token) -> bool:
    """Whether the seller or the buyer does it ("да го наемете"), or it was done to the flat."""
    return "made" in verb.tags or verb.text.endswith(_FIRST_PERSONS)


def _is_unknown(token: Token) -> bool:
    if not token.tags.isdisjoint(_OTHERS_DO):
        return True
    return (
        token.tags - {token.text} == _NOTHING
        and len(token.text) >= STRANGER_LETTERS
        and token.text not in _pattern_words()
    )


@cache
def _pattern_words() -> frozenset[str]:
    """The words that patterns name literally."""
    table = load_rules_file("clauses.yaml")
    entries = [*table["owners"], *table["moods"]]
    for name in ("offer.yaml", "building.yaml", "inside.yaml", "around.yaml"):
        entries += load_rules_file(name)
    patterns = " ".join(pattern for entry in entries for pattern in entry["patterns"])
    return frozenset(_WORD.findall(patterns))


def _is_harmless(tokens: Sequence[Token], place: int, *, is_first: bool) -> bool:
    """Whether an unknown word is no stranger: by its ending, as a name, as a label, or cut off."""
    token, last, following = tokens[place], tokens[max(0, place - 1) : place], tokens[place + 1 : place + 3]
    if not token.tags.isdisjoint(_OTHERS_DO):
        return tagged(last, {"се"})  # "купува се отделно"
    if following and following[0].text.startswith(("..", "…", ":")):
        return True
    return (
        token.text.isascii()
        or tagged(last, {"roomed"})
        or _is_name(tokens, place)
        or (token.text.endswith(_HARMLESS) and not token.text.endswith(_PLURALS))
        or (not is_first and _is_predicate(token, last[0], following))
    )


def _is_predicate(token: Token, last: Token, following: Sequence[Token]) -> bool:
    """Whether it is an adverb, or a participle behind its verb or before a preposition."""
    if token.text.endswith(_ADVERBS):
        return last.text not in _BEFORE_NOUNS
    return token.text.endswith(_PARTICIPLES) and (
        "verb" in last.tags or tagged(following[:1], {"preposition"})
    )


def _is_name(tokens: Sequence[Token], place: int) -> bool:
    """Whether it, or a word beside it, has a capital inside a sentence: "пазар Римска стена"."""
    last, following = tokens[max(0, place - 1) : place], tokens[place + 1 : place + 3]
    if not tokens[place].is_capital:
        return bool(last) and last[0].is_capital and not _begins(tokens, place - 1)
    is_agency = tagged(following[:1], _AGENCY_DOES)  # "Явлена продава …"
    return not _begins(tokens, place) or is_agency or any(token.is_capital for token in following)


def _begins(tokens: Sequence[Token], place: int) -> bool:
    """Whether a sentence begins here."""
    return place == 0 or tokens[place - 1].sentence != tokens[place].sentence


def _leads_on(tokens: Sequence[Token], place: int, end: int) -> bool:
    """Whether an adjective leads to the word behind it; of two unknown words the second decides."""
    if place + 1 >= end or not tokens[place].tags.isdisjoint(_NO_LEADS):
        return False
    token, following = tokens[place], tokens[place + 1]
    if following.text in _JOINS or following.tags & _NO_LEADS or not following.tags & _LEADS:
        return False
    if not token.tags.isdisjoint(_DETERMINERS) or (_is_unknown(following) and _is_unknown(token)):
        return True
    return token.text.endswith(ADJECTIVES) and not token.text.endswith(_VERBS)


# Nouns that a clause omits because the one before has them: "съседите са с две бани, ние сме с една".

_SINGULAR: Final = {"baths": "bath", "bedrooms": "bedroom", "terraces": "terrace", "toilets": "toilet"}
_COUNTED: Final = frozenset({"sqm", "metre", "minute", *_SINGULAR, *_SINGULAR.values()})
"""What a number may count without repeating the noun."""
_NUMBERS: Final = frozenset({"num", "count", "twin"})
_FLOORS: Final = frozenset({"floor", "floors", "storeys"})
_COUNTABLE: Final = _COUNTED | {"floor", "floors"}
_HAD: Final = frozenset({"lift", "terrace", "cellar", "garage", "parking", "furnished"})
"""What this flat may have or lack without repeating the noun."""
_NAMED: Final = frozenset({"act_word", "permit", "the_bath", "the_bedroom", "the_terrace", "the_toilet"})
_HAVING: Final = frozenset({"без", "няма", "нямаме", "има", "имаме", "не"})
_WAITING: Final = frozenset({"чака", "очаква", "чакаме", "очакваме"})
_BARE: Final = frozenset({"end", ",", ")", "contrast"})
_OPENING: Final = frozenset({"end", ",", "(", ":"})


def restore_nouns(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with the nouns added that a clause about this flat omits because they came before."""
    restored: list[Token] = []
    for place, token in enumerate(tokens):
        restored.append(token)
        own = _own_words(tokens, place)
        if not own or not _may_leave_out(tokens, place):
            continue
        first = place - len(own)
        nearest = tokens[max(0, first - CLAUSE_MOST_TOKENS) : first]
        before = [earlier for earlier in nearest if token.sentence - earlier.sentence <= 1]
        for noun in _left_out(token, own, before):
            tags = frozenset(_SINGULAR.get(tag, tag) for tag in noun.tags) if token.value == 1 else noun.tags
            copy = replace(noun, tags=tags, start=token.start, end=token.end, is_capital=False)
            restored.append(replace(copy, sentence=token.sentence))
    return restored


def _own_words(tokens: Sequence[Token], place: int) -> Sequence[Token]:
    """The words before a place in its clause if they refer to this flat; else none."""
    if tokens[place].tags.isdisjoint(_BARE_VALUES):
        return ()
    first = place
    while first and place - first < OWN_TOKENS and tokens[first - 1].tags.isdisjoint(_OPENING):
        first -= 1
        if "contrast" in tokens[first].tags:
            break
    own = tokens[first:place]
    if not tagged(own, group("of_this_flat")) or tagged(own, _COUNTED | _FLOORS | _HAD | _NAMED):
        return ()
    return own if not tagged(own, {"building"}) or tagged(own, _BE) else ()


_BARE_VALUES: Final = frozenset({"ordinal", "count", "whole"}) | _HAVING | _WAITING


def _may_leave_out(tokens: Sequence[Token], place: int) -> bool:
    """Whether no noun follows that the value could belong to."""
    if tokens[place].text in _WAITING:
        return True
    following = [token for token in tokens[place + 1 : place + 3] if token.text not in _BE]
    is_cut = any(token.text.startswith("..") for token in following)  # by a portal: "площ от 106. ..."
    return tagged(following[:1], _BARE) and not is_cut and "year" not in tokens[place].tags


def _left_out(token: Token, own: Sequence[Token], earlier: Sequence[Token]) -> Sequence[Token]:
    """The earlier words that a value needs; none where nothing fits."""
    if token.text in _WAITING:
        acts = [pair for pair in pairwise(earlier) if "act_word" in pair[0].tags and "whole" in pair[1].tags]
        return acts[-1] if acts else ()
    if token.text in _HAVING:
        return [noun for noun in earlier if noun.tags & _HAD][-1:]
    if "ordinal" in token.tags or tagged(own, {"building"}):
        floor = "етаж" if "ordinal" in token.tags else "етажа"
        return _as_floors([noun for noun in earlier if noun.tags & _FLOORS][-1:], floor)
    kinds = _COUNTED if tagged(own, {"flat", "ours", "us"}) else _COUNTABLE  # a flat has no storeys
    counted = [noun for last, noun in pairwise(earlier) if noun.tags & kinds and last.tags & _NUMBERS][-1:]
    return _as_floors(counted, "етажа") if tagged(counted, _FLOORS) else counted


def _as_floors(nouns: Sequence[Token], floor: str) -> list[Token]:
    return [replace(noun, text=floor, tags=meaning(floor)[0], value=None) for noun in nouns]
