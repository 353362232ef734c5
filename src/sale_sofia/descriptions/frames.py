"""The frames in which a thing is said to be the flat's: in another one that is known, it is only spoken of."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import dropwhile
from typing import Final, NamedTuple

from sale_sofia.descriptions.clauses import is_taken, same_clause
from sale_sofia.descriptions.grammar import ADJECTIVES
from sale_sofia.descriptions.patterns import after, before, tagged
from sale_sofia.descriptions.rulebook import Candidate
from sale_sofia.descriptions.settings import CLAUSE_MOST_TOKENS, COUNT_WINDOW, NOUN_LETTERS
from sale_sofia.descriptions.words import Token, group, load_rules_file

_BE: Final = frozenset({"е", "са"})
_OF_A_HOUSE: Final = frozenset({"construction", "elevator", "metro_near", "heating", "floor", "area", "area_built"})
_MEASURED: Final = frozenset({"area", "area_built", "total_floors"})
_EXIST: Final = frozenset({"има", "имат"})
_NUMBERS: Final = frozenset({"num", "count"})
_ARTICLES: Final = ("ът", "ят", "та", "то", "те")
_PARTICIPLES: Final = ("ен", "ена", "ено", "ени", "ан", "ана", "ано", "ани")


class Frame(NamedTuple):
    """What may stand next to a fact; no prepositions: any, `beside` None: anything."""

    led_by: frozenset[str]
    then: frozenset[str]
    beside: frozenset[str] | None


@cache
def _frames() -> Mapping[str, Frame]:
    table = dict(load_rules_file("frames.yaml"))
    everywhere = frozenset(table.pop("everywhere"))
    return {
        field: Frame(
            frozenset(frame.get("led_by", ())),
            frozenset(frame.get("then", ())),
            everywhere.union(frame["beside"]) if "beside" in frame else None,
        )
        for field, frame in table.items()
    }


def _behind(one: Candidate, tokens: Sequence[Token]) -> list[Token]:
    """What its clause says behind a thing, but for a last word that a portal cut."""
    ahead = after(tokens, one.after, CLAUSE_MOST_TOKENS)
    is_cut = tagged(tokens[one.after + len(ahead) : one.after + len(ahead) + 1], {"..", "...", "…"})
    here = tokens[one.after - 1].clause
    if ahead and ahead[0].start == tokens[one.after - 1].end:
        ahead = ahead[1:]  # glued: "82 кв.мСъстои се"
    return [token for token in ahead[: -1 if is_cut else None] if token.clause == here]


def _ahead_of(one: Candidate, tokens: Sequence[Token]) -> list[Token]:
    """What its clause says before a thing and its adjectives and number, the nearest first."""
    back = [
        token for token in before(tokens, one.first, COUNT_WINDOW) if token.clause == tokens[one.first].clause
    ]
    return list(dropwhile(_describes, back))


def _describes(token: Token) -> bool:
    if not token.tags.isdisjoint({"preposition", "verb", "does"}):
        return False
    if not token.tags.isdisjoint(_NUMBERS | {"underground", "outdoor"}):
        return True
    return "plain" in token.tags and token.text.endswith(ADJECTIVES)


def is_out_of_frame(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether words stand beside a fact that adverts do not state it with: "асансьор за товари в склада"."""
    frame = _frames().get(one.field)
    if frame is None or one.status == "negated" or _is_there_anyhow(one, tokens):
        return False
    back, ahead = _ahead_of(one, tokens), _behind(one, tokens)
    then = list(dropwhile(lambda token: token.text in _BE, ahead))
    if one.field in _MEASURED and tagged(ahead[:1], {"са"}):
        return True  # "80 кв.м са малко"
    if one.field == "floor" and len(then) < len(ahead) and tagged(then[:1], group("measured_rooms")):
        return True  # "етаж -1 е паркинг"
    if len(then) < len(ahead) and tagged(then[:1], {"only"}) and not tagged(then[1:2], _NUMBERS):
        return True  # "с три спални е само мезонетът"
    then = list(dropwhile(lambda token: "only" in token.tags, then))
    if tagged(then[:1], {"за"}) and then[1:] and not tagged(then[1:3], group("for_the_flat")):
        return one.field not in _OF_A_HOUSE  # "тераса за всички"
    return not (
        _may_stand(back[:1], frame.led_by, frame, begins=len(back) == 1)
        and _may_stand(then[:1], frame.then, frame, begins=False)
    )


def _is_there_anyhow(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the lift" is there whatever is said of it: "асансьорът тръгва от партера"."""
    return one.field == "elevator" and tokens[one.first].text.endswith(_ARTICLES)


def _may_stand(
    beside: Sequence[Token], prepositions: AbstractSet[str], frame: Frame, *, begins: bool
) -> bool:
    """Whether what stands next to a fact can be meant there; a capital that begins a clause marks no name."""
    if not beside or "word" not in beside[0].tags:
        return True
    token = beside[0]
    if "preposition" in token.tags:
        return not prepositions or token.text in prepositions
    is_name = token.text.isascii() or (token.is_capital and not begins) or len(token.text) < NOUN_LETTERS
    return (
        frame.beside is None
        or is_name
        or token.text.endswith(ADJECTIVES)
        or not token.tags.isdisjoint(frame.beside)
    )


def is_not_offered(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a place for a car is spoken of, and not in words that offer one: "паркомясто се чака"."""
    clause = same_clause(tokens, one.first)
    if tagged(clause, group("parking_terms")):
        return tagged(clause, group("parking_gone"))
    back, ahead = _ahead_of(one, tokens), _behind(one, tokens)
    if tagged(back[:1], {"за", "на", "от"}) and not tagged(clause, group("flats")):
        return True  # "място за гараж", "цената на гараж"
    verbs = [token for token in ahead if not token.tags.isdisjoint({"verb", "does", "will", "past"})]
    return any(token.text not in group("parking_verbs") for token in verbs) or tagged(
        clause, group("parking_gone")
    )


def is_held_by_another(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether its clause goes on to say whose a thing is: "климатикът в хола е на наемателя"."""
    ahead = _behind(one, tokens)
    for number, token in enumerate(ahead[:-2]):
        if token.text not in group("belongs"):
            continue
        owner = ahead[number + 1 :]
        if tagged(owner[:1], {"собственост", "се"}):
            owner = owner[1:]
        if tagged(owner[:1], {"на", "за"}) and tagged(owner[1:2], group("people")):
            return True
    return False


def is_in_another_place(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether the clause began with where a thing is, and that is not here: "в офиса има климатик"."""
    clause = same_clause(tokens, one.first)
    places = [number for number, token in enumerate(clause) if token.text in _EXIST | _BE]
    if not places or not tagged(clause[:1], {"в", "във", "при", "на"}):
        return False
    where = [token for token in clause[1 : places[0]] if "word" in token.tags]
    if not where or clause[places[0]].start > tokens[one.first].start:
        return False
    noun = next((token for token in where if not token.text.endswith(ADJECTIVES)), where[-1])
    return "place" in noun.tags or noun.tags.isdisjoint(group("where_things_are") | group("in_the_house"))


def is_undone(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether "the terrace" is told to be something that nobody knows: "терасата е затворена"."""
    ahead = _behind(one, tokens)
    if not any(tokens[place].text.endswith(_ARTICLES) for place in (one.first, one.after - 1)):
        return False
    if tagged(ahead[:1], {"на"}) and tagged(ahead[1:2], {"ordinal", "last"}):
        return True  # "терасите на първия етаж"
    if not tagged(ahead[:1], _BE):
        return False
    told = list(dropwhile(lambda token: "only" in token.tags, ahead[1:]))[:1]
    return tagged(told, {"plain"}) and told[0].text.endswith(_PARTICIPLES) and "harmless" not in told[0].tags


def is_taken_back(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether a "но" goes on to say of the same thing what is not understood: "…, но мебелите се изнасят"."""
    here = tokens[one.after - 1]
    ahead = after(tokens, one.after, CLAUSE_MOST_TOKENS)
    but = next((token.clause for token in ahead if token.text == "но" and token.clause != here.clause), None)
    words = frozenset(load_rules_file("questions.yaml")[one.field])
    told = [token for token in ahead if token.clause == but and not token.tags.isdisjoint(words)]
    return any(
        token.mood != "possible" and (not is_taken(one.field, token) or token.text.endswith(_ARTICLES))
        for token in told
    )


def is_beside_another(one: Candidate, tokens: Sequence[Token]) -> bool:
    """Whether it is told of something else that the metro is near it: "офис до метрото"."""
    places = [place for place in range(one.first, one.after) if "metro" in tokens[place].tags]
    if not places:
        return False
    back = [
        token for token in before(tokens, places[0], 4) if token.clause == tokens[places[0]].clause
    ]
    if not tagged(back[:1], {"до", "при", "край", "срещу"}):
        return False
    back = back[2:] if tagged(back[1:2], {"near"}) else back[1:]
    return tagged(back[:1], group("near_the_metro"))
