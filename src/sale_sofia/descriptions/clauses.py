"""Whom a clause is about and in what mood: determined before any rule runs.

A text is cut into clauses. Each has an owner, its topic: this flat, a room of it, its building, a part
of either (a roof, a door, the yard), another flat or its people, the district, or an optional extra. And each
has a mood: stated, denied, planned, possible, or former. A rule reads a fact only from clauses of the owners
and moods that `rules/clauses.yaml` names for its field. By default, where every word is understood, a clause
is about this flat, and stated; where an unknown word may be its subject, the owner is unknown and no rule
reads it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict

from sale_sofia.descriptions.grammar import ARTICLES, find_heads, find_strangers, is_doubtful, restore_nouns
from sale_sofia.descriptions.patterns import PatternIndex, tagged
from sale_sofia.descriptions.settings import (
    ARTICLE_LETTERS,
    CLAUSE_MOST_TOKENS,
    LED_IN_TOKENS,
    LIST_TOKENS,
    OFFER_WINDOW,
    OFFER_WORDS,
    QUESTION_TOKENS,
    RECENT_YEARS,
)
from sale_sofia.descriptions.words import Prepared, Token, group, load_rules_file, tokenize

Owner = Literal["flat", "room", "building", "part", "other", "district", "extra", "unknown"]
Mood = Literal["stated", "planned", "possible", "former", "denied"]


def read_clauses(prepared: Prepared) -> list[Token]:
    """The tokens of a text, each with the number of its clause, its owner and its mood."""
    tokens = restore_nouns(tokenize(prepared))
    carried: Carried = _NOTHING
    previous = 0
    for number, (first, end) in enumerate(_cut(tokens)):
        if first and tokens[first].sentence != tokens[first - 1].sentence:
            carried, previous = _NOTHING, first
        if first:
            carried = _carry_on(tokens, first, carried)
            _inherit_mood(tokens, first, end)
        for token in tokens[first:end]:
            token.clause = number
        cues = list(_find_cues(tokens, first, end))
        owner = _mark_subjects(tokens, first, end, carried)
        carried = _mark_owners(tokens, first, end, cues, owner)
        _abstain(tokens, first, end)
        if first and _may_be_denied(tokens, first):
            _give((token for token in tokens[first:end] if token.owner in _OURS), "unknown")
        for cue, place, behind in cues:
            if cue.says in _STRENGTH:
                reached = max(previous, first - CLAUSE_MOST_TOKENS)
                _spread_mood(tokens, cue, (place, behind), (reached, first, end))
        _abstain_in_doubt(tokens, first, end, cues)
        if tagged(tokens[first:end], _facts()):
            previous = first
        _abstain_before_not(tokens, first, end)
        if first:
            _look_back(tokens, first, end)
        _give_away(tokens, first)
        _doubt(tokens, end - 1)
    return tokens


@cache
def takes(field: str) -> tuple[frozenset[str], frozenset[str]]:
    """The owners and moods of the clauses that a field is read from."""
    table = _table()["takes"]
    entry = table.get(field, table["traps"])
    return frozenset(entry["owners"]), frozenset(entry["moods"])


def is_taken(field: str, token: Token) -> bool:
    """Whether the field may be read from this token's clause."""
    owners, moods = takes(field)
    return token.owner in owners and token.mood in moods


def may_be_taken(field: str, token: Token) -> bool:
    """Like `is_taken`, but also for clauses the rules do not understand: a model may."""
    return is_taken(field, token) or (token.owner == "unknown" and token.mood in takes(field)[1])


def is_anothers(field: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether this place is about something other than this flat: "офис на втори етаж"."""
    first, end = _bounds(tokens, place)
    clause = tokens[first:end]
    if tagged(clause, _elsewhere(field)) and not tagged(clause, {"flat", "roomed"}):
        return True
    if field in _POINTING and _is_in_a_subject(tokens, first, end, place):
        return True
    if field in _MEASURED and tagged(clause, _several()) and not tagged(clause, {"roomed", *_SINGLE}):
        return True
    nouns = _foreign_nouns(field)
    if not nouns or tagged(clause, _OFFERS):
        return False
    opening = [token for token in clause[:2] if "contrast" not in token.tags]
    is_place = field == "floor" and tagged(opening[:1], {"preposition"})  # "на втория етаж има офис"
    if field == "elevator" and place > first and tokens[place - 1].text == "и":
        return False  # "паркомясто и асансьор"
    heads = find_heads(tokens, first, end if is_place else place)
    return any(
        tokens[head].tags & nouns and tokens[head].tags.isdisjoint(_our_subjects()) for head, _ in heads
    )


def _is_in_a_subject(tokens: Sequence[Token], first: int, end: int, place: int) -> bool:
    """Whether it only qualifies the subject of a following verb: "цените край метрото са …"."""
    if tagged(tokens[first:place], {"verb"}) or not tagged(tokens[place + 1 : end], _PREDICATES):
        return False
    heads = [head for head, _ in find_heads(tokens, first, place)]
    if not heads or tokens[heads[-1]].tags & _possible_subjects():
        return False
    between = tokens[heads[-1] + 1 : place]
    return tagged(between[:1], {"preposition"}) and not tagged(between, _SIGNS | {"verb", ":", "-"})


@cache
def _possible_subjects() -> frozenset[str]:
    return _whole_subjects() | {"offers", "sells", "lets", "verb", "does", "offering"}


@cache
def _several() -> frozenset[str]:
    return _words_of("several_flats")


@cache
def _elsewhere(field: str) -> frozenset[str]:
    return frozenset(_table()["foreign"]["anywhere"].get(field, ()))


@cache
def _foreign_nouns(field: str) -> frozenset[str]:
    foreign = _table()["foreign"]
    if field not in foreign["fields"]:
        return frozenset()
    return frozenset(foreign["nouns"]) - frozenset(load_rules_file("questions.yaml")[field])


def _bounds(tokens: Sequence[Token], place: int) -> tuple[int, int]:
    number = tokens[place].clause
    first, end = place, place + 1
    while first and tokens[first - 1].clause == number:
        first -= 1
    while end < len(tokens) and tokens[end].clause == number:
        end += 1
    return first, end


def same_clause(tokens: Sequence[Token], place: int) -> Sequence[Token]:
    """All tokens of the clause of the token at a place."""
    first, end = _bounds(tokens, place)
    return tokens[first:end]


# The table.


class Cue(BaseModel):
    """Words that set an owner or a mood, and how far they reach; the file explains each key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    says: Owner | Mood
    patterns: tuple[str, ...]
    reach: Literal["ahead", "clause", "sentence", "rest"] = "ahead"
    only: frozenset[str] = frozenset()
    until: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    subject: bool = False
    back: Literal["end", "clause", "before", "only", "all", "sentence"] = "end"


Found = tuple[Cue, int, int]
"""A cue, its place, and the place behind it."""


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = load_rules_file("clauses.yaml")
    return table


@cache
def _words_of(name: str) -> frozenset[str]:
    return frozenset(_table()[name])


@cache
def _subjects() -> Mapping[Owner, frozenset[str]]:
    return {owner: frozenset(tags) for owner, tags in _table()["subjects"].items()}


@cache
def _cues() -> PatternIndex[Cue]:
    cues = [Cue.model_validate(entry) for entry in (*_table()["owners"], *_table()["moods"])]
    return PatternIndex((pattern, cue) for cue in cues for pattern in cue.patterns)


@cache
def _facts() -> frozenset[str]:
    """The tags of words about a field, without those that occur in any kind of sentence."""
    questions = load_rules_file("questions.yaml")
    speaking = frozenset(tag for words in questions.values() for tag in words)
    return speaking - {"year", "decade", "erected", "room"} - frozenset(questions["deal"])


def _find_cues(tokens: Sequence[Token], first: int, end: int) -> Iterator[Found]:
    index = _cues()
    for place in range(first, end):
        for cue, behind, _ in index.matches(tokens, place):
            following = tokens[behind : behind + 2]
            if cue.unless and (tagged(following, cue.unless) or _is_urging(following)):
                continue
            if cue.subject and tagged(tokens[max(0, place - 1) : place], {"preposition", "verb"}):
                continue
            if cue.says == "former" and _is_recent(tokens[place:behind]):
                continue
            if cue.says == "possible" and _is_the_offer(tokens[behind : behind + OFFER_WINDOW]):
                continue
            yield cue, place, behind


def _is_urging(following: Sequence[Token]) -> bool:
    """Whether a "не" only urges the reader: "не пропускайте", "не се колебайте"."""
    return any(token.text.endswith(("йте", "ете")) for token in following)


def _is_recent(tokens: Sequence[Token]) -> bool:
    """Whether it was recent enough to count: "ремонтиран преди две години"."""
    return tagged(tokens, {"years"}) and any(
        isinstance(token.value, int) and token.value <= RECENT_YEARS for token in tokens
    )


def _is_the_offer(following: Sequence[Token]) -> bool:
    """Whether the possibility is to buy the flat: "възможност да придобиете двустаен апартамент"."""
    return tagged(following[:3], {"buy", "owning"}) and tagged(
        following[1:], _subjects()["flat"] | _subjects()["building"]
    )


# Where clauses begin and end.

_SIGNS: Final = frozenset({",", "(", ")"})
_NUMBERS: Final = frozenset({"num", "count"})
_CLOSING: Final = frozenset({"и", "или", "нито"})
_NO_ITEMS: Final = frozenset(
    {"end", "verb", "contrast", "now", "relative", "preposition", "num", "-", "(", ":"}
)


def _cut(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The start and end of each clause; together they cover every token."""
    first, without = 0, False
    for place in range(1, len(tokens)):
        ends_denial = without and tokens[place].tags & _words_of("after_without")
        if ends_denial or place - first == CLAUSE_MOST_TOKENS or _begins_clause(tokens, place):
            yield first, place
            first, without = place, False
        without = without or tokens[place].text == "без"
    if tokens:
        yield first, len(tokens)


def _begins_clause(tokens: Sequence[Token], place: int) -> bool:
    token, last = tokens[place], tokens[place - 1]
    if last.text == "," and "ordinal" in token.tags and tagged(tokens[max(0, place - 3) : place - 2], {"на"}):
        return False  # "на последния, девети етаж"
    if "end" in last.tags or last.text in _SIGNS or _is_free_sign(tokens, place - 1):
        return True
    if token.tags & _words_of("cuts"):
        return not (token.text == "а" and "building" in last.tags)  # "вход А е с Акт 16"
    if token.text != "и" or last.text == "така":  # "така и не сложиха"
        return False
    following = tokens[place + 1 : place + 3]
    if tagged(following[:1], {"preposition"}):  # "… и на 4 минути"
        return tagged(following[1:], _NUMBERS)
    return tagged(following[:1], _words_of("after_and")) and not tagged(following[:1], {"year"})


def _is_free_sign(tokens: Sequence[Token], place: int) -> bool:
    """Whether a dash or slash separates clauses, which one in "2-ри" or "метро - 5 минути" does not."""
    if tokens[place].text not in {"-", "/"} or not 0 < place < len(tokens) - 1:
        return False
    following = [
        token for token in tokens[place + 1 : place + 3] if token.text not in {"на", "около", "само"}
    ]
    if tagged(following[:1], _NUMBERS):
        return False
    return tokens[place - 1].end < tokens[place].start and tokens[place].end < tokens[place + 1].start


def _goes_on(tokens: Sequence[Token], first: int) -> bool:
    """Whether an "и" with a number only extends the clause before: "беше с три стаи и две бани"."""
    return tokens[first].text == "и" and tagged(tokens[first + 1 : first + 2], _NUMBERS | {"preposition"})


def _is_led_in(tokens: Sequence[Token], first: int) -> bool:
    """Whether a few words before, without a fact, set the mood of this: "в бъдеще - газ"."""
    before, _ = _bounds(tokens, first - 1)
    led_in = tokens[before:first]
    return (
        len(led_in) <= LED_IN_TOKENS
        and led_in[0].sentence == tokens[first].sentence
        and tokens[first - 1].text in {"-", ":"}
        and not tagged(led_in, _facts())
    )


def _is_listed(tokens: Sequence[Token], first: int) -> bool:
    """Whether a list continues that a verb began: "ще има асансьор, мазе и гараж"."""
    if tokens[first - 1].text != "," or tokens[first - 1].sentence != tokens[first].sentence:
        return False
    before, _ = _bounds(tokens, first - 1)
    if tagged(tokens[before:first], {":"}) and tokens[first - 1].mood in _LIMITING:
        return not tagged(tokens[first : first + 2], _NO_ITEMS)  # "възможности за отопление: ТЕЦ, газ"
    return tagged(tokens[before:first], _words_of("list_verbs")) and _is_closed(tokens, first)


def _is_closed(tokens: Sequence[Token], first: int) -> bool:
    """Whether a list of things goes on here to its "и"."""
    for token in tokens[first : first + LIST_TOKENS]:
        if token.text in _CLOSING:
            return True
        if token.tags & _NO_ITEMS or token.sentence != tokens[first].sentence:
            return False
    return False


def _inherit_mood(tokens: Sequence[Token], first: int, end: int) -> None:
    """Give a clause the mood of the one before if it only continues it."""
    mood = tokens[first - 1].mood
    # "без преходи и две тераси": these are there.
    goes_on = mood != "denied" and (_goes_on(tokens, first) or _is_led_in(tokens, first))
    if "now" in tokens[first].tags:  # "имот с потенциал: сега двустаен"
        return
    if goes_on or _is_listed(tokens, first):
        _raise_mood(tokens[first:end], mood)
    if tokens[first - 1].text == "," and _is_condition(tokens, first - 1):
        _raise_mood(tokens[first:end], "possible")


def _is_condition(tokens: Sequence[Token], place: int) -> bool:
    """Whether what follows depends on a condition: "ако се закупи и таванът, площта е …"."""
    clause = same_clause(tokens, place)
    is_begun = clause[0].text == "ако" and clause[0].sentence == tokens[place + 1].sentence
    return is_begun and not any(token.text.endswith("те") for token in clause)  # "ако търсите тристаен, …"


# The owner of a clause: by its subject, then by other words.

Carried = tuple[str, str]
"""The owner of the next clause of the sentence, and how far that reaches."""
_NOTHING: Final[Carried] = ("flat", "")
_FULL_ARTICLES: Final = ("ът", "ят")
_VERB_ENDINGS: Final = ("ува", "ват", "жва", "ира", "ират")
_NO_THINGS: Final = frozenset({"told_of", "relative", "ours", "same", "preposition"})
_ADJECTIVES: Final = frozenset({"storeys", "storeyed", "new_built"})
_NEAR_SUBJECTS: Final = frozenset({"district", "part"})
_TURNS: Final = frozenset({"contrast", "now", "ours", "this_one", "sells", "lets", "offers", "offering"})
_ANY_BUILDING: Final = frozenset({"сграда", "къща", "вила"})
_RESUMING: Final = frozenset({"verb", "will"})
_HANDED_OVER: Final = frozenset({"предава", "предават"})
_CARRIED_BY_DASH: Final = frozenset({"district", "part", "room", "other"})
_NOT_OURS: Final = frozenset({"other", "district", "unknown"})
_HANGING: Final = frozenset({"че", "на", "в", "във", "с", "със"})
_PREDICATES: Final = frozenset({"е", "са", "има", "имат", "беше", "бяха"})
_POINTING: Final = frozenset(
    {"floor", "metro_near", "deal", "heating", "storage", "construction", "elevator"}
)
"""Fields whose words also tell several things apart."""
_ASIDE: Final = frozenset({"с", "със", "без", "като"})
_WHOLES: Final = frozenset({"roomed", "storeys", "sells", "lets"})
_ADDING: Final = frozenset({"-", "(", ":"})
_INTRODUCING: Final = frozenset({"contrast", "и", "е", "са"})
_MEASURED: Final = frozenset({"area", "area_built", "floor"})
_SINGLE: Final = frozenset(
    {"апартамент", "апартамента", "апартаментът", "жилище", "жилището", "имот", "имота", "имотът"}
)
_SHARED: Final = frozenset({"общ", "обща", "общо", "общи"})
_PRONOUNS: Final = frozenset({"го", "я", "ги"})
_OFFERING: Final = frozenset({"offering"})
_OFFERS: Final = frozenset({"offering", "sells", "lets"})
_OURS: Final = frozenset({"flat", "building", "part", "room"})
_PRESUPPOSED: Final = frozenset({"lift", "the_terrace"})
_LATE_SUBJECTS: Final = frozenset({"district", "part", "building", "room"})


def _carry_on(tokens: Sequence[Token], first: int, carried: Carried) -> Carried:
    """The owner of a clause by what joins it to the one before: a dash, a "който", an "и" with a number."""
    owner = tokens[first - 1].owner
    if tokens[first - 1].text == "-" and owner in _CARRIED_BY_DASH:
        carried = (owner, "sentence")
    if (
        tokens[first - 1].text == ","
        and owner == "other"
        and not tokens[first].tags & (_TURNS | _HANDED_OVER)
    ):
        carried = (owner, carried[1])  # "търси двустаен, тухла, до метро"
    if tokens[first - 1].text == "," and tokens[first].tags & _RESUMING:
        carried = _resumed(tokens, first, carried)
    if "relative" in tokens[first].tags and owner in _NOT_OURS:  # "до магазин, който продава хляб"
        carried = (owner, "rest")
    if tokens[first].text == "без" and "word" in tokens[first - 1].tags:  # "фасада без балкони"
        carried = (owner, "sentence")
    if owner == "unknown" and tokens[first].text in _HANGING and _follows_opening(tokens, first):
        carried = (owner, "")
    if _goes_on(tokens, first):
        carried = (owner, "rest" if owner == "other" else carried[1])
    return carried


def _resumed(tokens: Sequence[Token], first: int, carried: Carried) -> Carried:
    """The owner behind a "който …" between commas: "дворът, който ползват всички, е около 700 кв.м"."""
    inner, _ = _bounds(tokens, first - 1)
    if not inner or "relative" not in tokens[inner].tags:
        return carried
    subject = tokens[inner - 1]
    is_same = subject.sentence == tokens[first].sentence and subject.owner in _CARRIED_BY_DASH
    return (subject.owner, "sentence") if is_same else carried


def _follows_opening(tokens: Sequence[Token], first: int) -> bool:
    """Whether the clause before began the sentence: "нотариусът, на третия етаж"."""
    opening, _ = _bounds(tokens, first - 1)
    return opening == 0 or tokens[opening - 1].sentence != tokens[first].sentence


def _mark_subjects(tokens: Sequence[Token], first: int, end: int, carried: Carried) -> Carried:
    """Set the owner of the words after each subject; returns the owner at the end of the clause."""
    owner, reach = carried
    in_phrase = has_verb = False
    subjects = 0
    for place in range(first, end):
        token = tokens[place]
        subject = _subject(tokens, place, may_be_thing=not subjects and place - first < 2)  # noqa: PLR2004
        if subject and not in_phrase and reach != "rest":
            owner, reach = subject, ""
            # "Тухлена ограда", "на партера има магазин": the words before it are about it too.
            if not subjects and subject in (_LATE_SUBJECTS if has_verb else _NEAR_SUBJECTS):
                _give(tokens[first:place], owner)
            subjects += 1
        token.owner = owner
        has_verb = has_verb or "verb" in token.tags
        if _ends_phrase(tokens, place) or (subject and not token.tags & _ADJECTIVES):
            in_phrase = False
        elif "preposition" in token.tags:
            in_phrase = True
    return owner, reach


def _subject(tokens: Sequence[Token], place: int, *, may_be_thing: bool) -> Owner | None:
    tags = tokens[place].tags
    for owner, words in _subjects().items():
        if not tags.isdisjoint(words):
            return owner
    return "part" if may_be_thing and _is_thing(tokens, place) else None


def _begins(tokens: Sequence[Token], place: int) -> bool:
    return place == 0 or tokens[place - 1].sentence != tokens[place].sentence


def _is_thing(tokens: Sequence[Token], place: int) -> bool:
    """Whether an unknown noun with an article is or does something: "пътят е", "хазяинът има"."""
    token = tokens[place]
    if "plain" not in token.tags or token.tags & _NO_THINGS or len(token.text) < ARTICLE_LETTERS:
        return False
    if token.text.endswith(_FULL_ARTICLES):  # only a subject has it
        return True
    following = tokens[place + 1 : place + 3]
    is_named = token.text.endswith(ARTICLES) and (tagged(following, {"verb"}) or _is_doing(following[1:]))
    return is_named or _is_doing(following[:1])


def _is_doing(following: Sequence[Token]) -> bool:
    """Whether an unknown word has the ending of a verb: "практикува", "обслужва"."""
    return tagged(following, {"plain"}) and following[0].text.endswith(_VERB_ENDINGS)


def _ends_phrase(tokens: Sequence[Token], place: int) -> bool:
    """Whether a verb or a colon ends a prepositional phrase; the "се" of "новострояща се" does not."""
    if tokens[place].text == "се" and place and tokens[place - 1].text.endswith(("щ", "ща", "що", "щи")):
        return False
    return "verb" in tokens[place].tags or tokens[place].text == ":"


def _mark_owners(
    tokens: Sequence[Token], first: int, end: int, cues: Sequence[Found], carried: Carried
) -> Carried:
    """Set the owners given by other words; returns what is carried to the next clause of the sentence."""
    owner, reach = carried
    for cue, place, behind in cues:
        if cue.says in _STRENGTH:
            continue
        start = {"ahead": place, "rest": behind}.get(cue.reach, first)
        if cue.says in _NOT_OURS and (lead := _leads_aside(tokens, first, place)):
            start = max(start, lead)
        reached = (token for token in tokens[start:end] if not cue.only or token.tags & cue.only)
        # What a neighbour offers is not an extra of this offer.
        _give((token for token in reached if cue.says != "extra" or token.owner != "other"), cue.says)
        if cue.reach in {"sentence", "rest"}:
            owner, reach = cue.says, cue.reach
    return (owner, reach) if reach else _NOTHING


def _leads_aside(tokens: Sequence[Token], first: int, place: int) -> int:
    """The place of the preposition that leads from this flat or its building to others; 0: none.

    "Двустаен апартамент с обща тераса с другите апартаменти" still is one of two rooms.
    """
    leads = (index for index in range(place - 1, first, -1) if "preposition" in tokens[index].tags)
    lead = next(leads, 0)
    is_aside = lead and tokens[lead].text in _ASIDE and place - lead <= OFFER_WORDS
    if not is_aside or tagged(tokens[lead:place], {"verb"}):
        return 0
    return lead if tokens[first].tags & _WHOLES or _begins_with_ours(tokens, first, lead) else 0


def _is_contrasted(tokens: Sequence[Token], first: int) -> bool:
    """Whether a clause contrasts this flat with one mentioned before: "…, този е празен"."""
    opening = [token for token in tokens[first : first + 3] if "contrast" not in token.tags]
    return tagged(opening[:1], _words_of("this_one")) and tagged(opening[1:2], {"verb", "-"})


def _give_away(tokens: Sequence[Token], first: int) -> None:
    """Give what the sentence said before of a flat (or of one of several buildings) to another one."""
    if not _is_contrasted(tokens, first):
        return
    nearest = tokens[max(0, first - CLAUSE_MOST_TOKENS) : first]  # bounded, to keep the time linear
    earlier = [token for token in nearest if token.sentence == tokens[first].sentence]
    is_flat = tagged(earlier, {"flat", "roomed"})
    _give((token for token in earlier if token.owner == "flat" and is_flat), "other")
    if tagged(tokens[first : first + 2], {"нашата", "тази"}):
        _give((token for token in earlier if token.owner == "building"), "other")


# What is not understood has an unknown owner.


def _abstain(tokens: Sequence[Token], first: int, end: int) -> None:
    """Set the owner of a clause with unknown words to unknown, unless its subject is ours."""
    if "relative" in tokens[first].tags and _begins(tokens, first):  # "който иска мазе, доплаща"
        _give((token for token in tokens[first:end] if token.owner in _OURS), "unknown")
        return
    strangers = list(find_strangers(tokens, first, end))
    if not strangers or tagged(tokens[first:end], _OFFERING):
        return
    clause = tokens[first:end]
    if not any(is_owner for _, is_owner in strangers):
        if _begins_with_ours(tokens, first, strangers[0][0]):
            return
        if _is_presupposed(clause[0]):
            clause = clause[1:]
    _give((token for token in clause if token.owner in _OURS), "unknown")


def _may_be_denied(tokens: Sequence[Token], first: int) -> bool:
    """Whether a "без" before a comma may deny this list too: "без мазе, гараж и асансьор"."""
    before, _ = _bounds(tokens, first - 1)
    denied = tokens[before : first - 1]
    return (
        tokens[first - 1].text == ","
        and [token.text for token in denied[:1]] == ["без"]
        and all(token.tags & _facts() for token in denied[1:])
        and not tokens[first].tags.isdisjoint(group("asked_by_name"))
        and _is_closed(tokens, first)
    )


def _abstain_in_doubt(tokens: Sequence[Token], first: int, end: int, cues: Sequence[Found]) -> None:
    """Set the owner to unknown if a clause has words that adverts state no facts with: "дали е тухла …"."""
    explained = frozenset(place for _, start, behind in cues for place in range(start, behind))
    if tagged(tokens[first:end], _OFFERING) or not is_doubtful(tokens, first, end, explained):
        return
    is_there = _is_presupposed(tokens[first]) and not tagged(tokens[first + 1 : first + 2], _PRONOUNS)
    doubted = tokens[first + 1 if is_there else first : end]
    _give((token for token in doubted if token.owner in _OURS and token.mood != "denied"), "unknown")


def _is_presupposed(token: Token) -> bool:
    """Whether a thing exists whatever is said about it: "асансьорът тръгва от …"."""
    return not token.tags.isdisjoint(_PRESUPPOSED) and token.text.endswith(ARTICLES)


def _abstain_before_not(tokens: Sequence[Token], first: int, end: int) -> None:
    """Set the owner of what precedes a "не" to unknown, whatever is denied: "асансьор така и не сложиха"."""
    place = next((place for place in range(first, end) if "not" in tokens[place].tags), first)
    preceding = tokens[first:place]
    if tagged(tokens[place:end], _facts()) or _begins_with_ours(tokens, first, place):
        return
    if any(token.tags & _facts() and token.text.endswith(ARTICLES) for token in preceding):
        return  # "асансьорът не работи": there is one
    _give((token for token in preceding if token.owner in _OURS and token.mood != "denied"), "unknown")


def _look_back(tokens: Sequence[Token], first: int, end: int) -> None:
    """Apply what a clause says about the one before: that the flat is there, that it is shared or denied."""
    before, _ = _bounds(tokens, first - 1)
    if tokens[before].sentence != tokens[first].sentence:
        return
    opening = [token for token in tokens[first:end] if not token.tags & _INTRODUCING]
    if _has_the_flat(tokens, first, end):
        _give((token for token in tokens[before:first] if token.owner == "unknown"), "flat")
    elif (
        opening
        and opening[0].text in _SHARED
        and (tagged(opening[1:2], {"за"}) or not tagged(opening, _NUMBERS))
    ):
        _give((token for token in tokens[before:first] if token.owner in _OURS), "building")
    elif tagged(opening[:1], {"not"}) and tagged(opening[1:2], _PRONOUNS):
        _give((token for token in tokens[before:first] if token.owner in _OURS), "unknown")
    elif (
        (tokens[first - 1].text in _ADDING or _is_short_offer(tokens[first:end]))
        and not tagged(opening, _facts())
        and not _is_whole(tokens, before)
    ):
        mood = max((token.mood for token in opening), key=_STRENGTH.__getitem__, default="stated")
        if mood in _LIMITING:  # "газ - възможност", "климатик (по желание)"
            _raise_mood(tokens[before:first], mood)
    elif tokens[first].text == "но" and not tagged(opening, _facts()):
        if opening and opening[-1].owner == "other":  # "има Акт 16, но за друг вход"
            earlier = tokens[before:first]
            _give((token for token in earlier if token.owner in _OURS and token.mood != "denied"), "other")
        mood = max((token.mood for token in opening), key=_STRENGTH.__getitem__, default="stated")
        if mood in _LIMITING:  # "ремонтиран е, но преди 20 години"
            _raise_mood(tokens[before:first], mood)


def _is_short_offer(clause: Sequence[Token]) -> bool:
    """Whether a clause only says that something is optional: "гараж, по желание"."""
    return len(clause) <= OFFER_WORDS and tagged(clause, {"possible"})


def _is_whole(tokens: Sequence[Token], place: int) -> bool:
    """Whether a clause names the flat or building: what may be done with it is no fact about it."""
    return tagged(same_clause(tokens, place), _subjects()["flat"] | _subjects()["building"])


def _has_the_flat(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether a clause says that the flat is in the place named before: "…, където е жилището"."""
    return tagged(tokens[first : first + 2], {"relative"}) and any(
        token.tags & _subjects()["flat"] and token.text.endswith(ARTICLES) for token in tokens[first:end]
    )


def _begins_with_ours(tokens: Sequence[Token], first: int, end: int) -> bool:
    """Whether a clause begins with "апартаментът", "сградата", "кухнята", "собственикът" or the like."""
    for token in tokens[first:end]:
        if "preposition" in token.tags:
            return False
        is_definite = token.text.endswith((*ARTICLES, "а")) and token.text not in _ANY_BUILDING
        if is_definite and not token.tags.isdisjoint(_whole_subjects()):
            return True
    return False


@cache
def _our_subjects() -> frozenset[str]:
    subjects = _subjects()
    return subjects["flat"] | subjects["building"] | subjects["room"] | {"holder"}


@cache
def _whole_subjects() -> frozenset[str]:
    subjects = _subjects()
    return (
        subjects["flat"] | subjects["building"] | {"holder", "living", "kitchen", "the_bedroom", "the_bath"}
    )


def _give(tokens: Iterable[Token], owner: str) -> None:
    for token in tokens:
        token.owner = owner


# The mood of a clause.

_STRENGTH: Final[Mapping[str, int]] = {"stated": 0, "planned": 1, "possible": 2, "former": 3, "denied": 4}
"""Of two moods for the same words the stronger one counts: "не се очаква Акт 16" is denied."""
_COPULAS: Final = frozenset({"е", "са"})
_LIMITING: Final = frozenset({"planned", "possible", "former"})


def _doubt(tokens: Sequence[Token], end: int) -> None:
    """Make the mood of a short question possible: it states nothing."""
    last = tokens[end - 1]
    # A lost sign is often a "?" too: "обща площ 84 м?", "? Без комисиона".
    is_question = tokens[end].text == "?" and last.end == tokens[end].start and "word" in last.tags
    nearest = tokens[max(0, end - QUESTION_TOKENS - 1) : end]
    question = [token for token in nearest if token.sentence == tokens[end].sentence]
    if not is_question or "metre" in last.tags or len(question) > QUESTION_TOKENS:
        return
    _raise_mood(question, "possible")


def _spread_mood(
    tokens: Sequence[Token], cue: Cue, span: tuple[int, int], bounds: tuple[int, int, int]
) -> None:
    """Give the mood of a cue to the words it reaches."""
    place, behind = span
    previous, first, end = bounds
    start = place
    stop = next((n for n in range(min(behind, place + 2), end) if tokens[n].tags & cue.until), end)
    if cue.back == "only":
        stop = place
    elif cue.back == "all":
        start, stop = first, end
    elif cue.back == "sentence":
        reached = range(first, max(-1, first - CLAUSE_MOST_TOKENS), -1)
        _raise_mood(tokens[next((n for n in reached if _begins(tokens, n)), first) : end], cue.says)
        return
    ends_clause = cue.says != "possible" and not any(
        "word" in token.tags and token.text not in _COPULAS for token in tokens[behind:end]
    )
    if (cue.back != "end" or ends_clause) and not tagged(tokens[place:end], _facts()):
        start, stop = first, end
        # "ТЕЦ - не", "сградата е с ТЕЦ, жилището не е".
        is_alone = ends_clause and (end - first <= 2 or tagged(tokens[first:end], _subjects()["flat"]))  # noqa: PLR2004
        is_empty = not tagged(tokens[first:end], _facts())
        # "68 кв.м, в които не влизат терасите" denies no area.
        if (cue.back == "before" or is_alone) and is_empty and not tagged(tokens[previous:first], {"sqm"}):
            nearest = _bounds(tokens, first - 1)[0] if first and tokens[first - 1].text == "-" else first
            about = tokens[nearest:first]  # "мазето е включено, таванът - не"
            is_another = about and not tagged(about[:1], {"preposition"}) and not _is_whole(tokens, nearest)
            start = nearest if is_another else previous
    _raise_mood(tokens[start:stop], cue.says)


def _raise_mood(tokens: Iterable[Token], mood: str) -> None:
    for token in tokens:
        if _STRENGTH[mood] > _STRENGTH[token.mood]:
            token.mood = mood
