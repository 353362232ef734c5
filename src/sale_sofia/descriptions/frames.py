"""In which frames adverts state a fact. Words beside it that they do not have there only speak of a thing."""

from collections.abc import Mapping, Sequence
from itertools import dropwhile, takewhile
from typing import Any, Final

from sale_sofia.descriptions.clauses import same_clause
from sale_sofia.descriptions.grammar import ADJECTIVES
from sale_sofia.descriptions.patterns import before, tagged
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import CLAUSE_MOST_TOKENS, COUNT_WINDOW, NOUN_LETTERS
from sale_sofia.descriptions.words import Token, group, load_rules_file

_BE: Final = frozenset({"е", "са"})
_NUMBERS: Final = frozenset({"num", "count"})
_VERBS: Final = frozenset({"verb", "does", "will", "past"})
_MEASURED: Final = frozenset({"area", "area_built", "total_floors"})
_ARTICLES: Final = ("ът", "ят", "та", "то", "те")
_PARTICIPLES: Final = ("ен", "ена", "ено", "ени", "ан", "ана", "ано", "ани")


def is_out_of_frame(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether words stand beside a fact that adverts do not state it with: "асансьор за товари в склада"."""
    frame = load_rules_file("frames.yaml").get(one.field)
    # "The lift" is there, whatever is said of it.
    is_there = one.field == "elevator" and tokens[one.first].text.endswith((*_ARTICLES, "а"))
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
    if not tokens[one.after - 1].text.endswith(_ARTICLES):
        return False
    if tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], {"ordinal", "last"}):  # "терасите на първия етаж"
        return True
    told = ahead[1:2] if tagged(ahead[:1], _BE) else []
    return tagged(told, {"plain"}) and told[0].text.endswith(_PARTICIPLES) and "harmless" not in told[0].tags
