"""Asks the model about one description, with at most one repair; only answers with a valid quote count."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from sale_sofia.crawl.resilience.timeout_budget import TimeoutBudget
from sale_sofia.descriptions.clauses import is_anothers, may_be_taken, read_clauses, takes
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.fields import (
    ATTRIBUTE_FIELDS,
    RANGES,
    Attribute,
    Attributes,
    check_value,
    json_schema,
)
from sale_sofia.descriptions.mentions import is_only_mentioned
from sale_sofia.descriptions.patterns import tagged
from sale_sofia.descriptions.rulebook import LIST_FIELDS, Candidate, Status, rules_version
from sale_sofia.descriptions.settings import QUOTE_CHARACTERS, TEXT_CHARACTERS_ASKED
from sale_sofia.descriptions.words import Prepared, Token, load_rules_file, prepare, tokenize

if TYPE_CHECKING:
    from sale_sofia.descriptions.ollama import OllamaModel

_TASK: Final = (
    "You read Bulgarian property adverts. For each field asked, give the value that the text states about "
    "the flat on offer, and as quote the exact words of the text that state it, copied letter by letter. "
    'If the text does not state it, the value is "unknown" (an empty list for lists) and the quote is empty. '
    "Numbers are written in digits. Never guess."
)
_REPAIR: Final = "That answer cannot be used: {problems}. Answer again, as JSON of the same shape."


# What the rules leave open: fields in conflict, and words about this flat that no rule explained.


def open_fields(text: str, attributes: Attributes) -> tuple[str, ...]:
    """The fields worth asking the model about, in the order of `ATTRIBUTE_FIELDS`."""
    tokens = read_clauses(prepare(text))

    def is_open(name: str) -> bool:
        if name in attributes:
            return attributes[name].status == "conflict"
        return name not in _words("never_asked_for_words") and any(
            token.tags & _words(name) and may_be_taken(name, token) for token in tokens
        )

    return tuple(filter(is_open, ATTRIBUTE_FIELDS))


@cache
def _words(name: str) -> frozenset[str]:
    return frozenset(load_rules_file("questions.yaml")[name])


# The model's answer judged: a value counts if it is well-formed, allowed, and its quote says it of this flat.


class FieldAnswer(BaseModel):
    """One field of the model's answer."""

    model_config = ConfigDict(extra="ignore", strict=True)

    value: Any
    quote: str


@dataclass(slots=True)
class AnswerJudgement:
    """The valid attributes of an answer, and a sentence for each invalid one."""

    attributes: Attributes = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def judge_text(answer: str, fields: Sequence[str], text: str) -> AnswerJudgement:
    """Judge the text of an answer."""
    try:
        loaded = json.loads(answer)
    except (ValueError, RecursionError):
        return AnswerJudgement(problems=["the answer is not JSON"])
    return judge(loaded, fields, text)


def judge(loaded: object, fields: Sequence[str], text: str) -> AnswerJudgement:
    """Judge a parsed answer field by field, so that one bad field does not spoil the others."""
    if not isinstance(loaded, dict):
        return AnswerJudgement(problems=["the answer is not an object"])
    judgement = AnswerJudgement()
    prepared = prepare(text)
    tokens = read_clauses(prepared)
    for name in fields:
        try:
            attribute = _judge_field(name, loaded.get(name), prepared, tokens)
        except ValueError as error:
            judgement.problems.append(str(error))
        else:
            if attribute is not None:
                judgement.attributes[name] = attribute
    return judgement


def _judge_field(name: str, raw: object, prepared: Prepared, tokens: Sequence[Token]) -> Attribute | None:
    try:
        answer = FieldAnswer.model_validate(raw)
    except ValidationError:
        raise ValueError(f'{name}: {{"value": …, "quote": …}} is needed') from None
    value = check_value(name, answer.value)
    if value is None:
        return None
    spans = list(_find(answer.quote, prepared))
    if not spans:
        raise ValueError(f"{name}: the quote is not in the text")
    quote = prepared.quote(*spans[0])
    if not _is_said_by(name, value, quote):
        raise ValueError(f"{name}: the quote does not say {value!r}")
    if not any(_is_of_this_flat(name, value, tokens, start, end) for start, end in spans):
        raise ValueError(f"{name}: the text says it of something else, or denies it")
    return Attribute(value, "stated", quote, "model")


def _find(quote: str, prepared: Prepared) -> Iterator[tuple[int, int]]:
    """Where the quote occurs, ignoring case, look-alike letters and white space."""
    words = prepare(quote).plain.split() if len(quote) <= QUOTE_CHARACTERS else []
    if words:
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        yield from (match.span() for match in pattern.finditer(prepared.plain))


def _is_of_this_flat(name: str, value: Any, tokens: Sequence[Token], start: int, end: int) -> bool:  # noqa: ANN401
    """Whether a word of the quote about the field stands in a clause of the right owner and mood."""
    owners, moods = takes(name)
    if value is False or value == "unfurnished":
        moods |= {"denied"}
    elif value == "optional":
        moods |= {"possible"}
    places = [place for place, token in enumerate(tokens) if start <= token.start and token.end <= end]
    return any(
        tokens[place].owner in {*owners, "unknown"}
        and tokens[place].mood in moods
        and not is_anothers(name, tokens, place)
        for place in places
        if tokens[place].tags & _words(name)
    ) and not _is_only_named(name, value, tokens, places)


def _is_only_named(name: str, value: Any, tokens: Sequence[Token], places: Sequence[int]) -> bool:  # noqa: ANN401
    """Whether the words of a quote only mention a thing, by the test that rules use."""
    speaking = [
        place for place in places if tokens[place].tags & _words(name) or tokens[place].value == value
    ]
    status: Status = "negated" if value is False else "stated"
    candidate = Candidate(name, value, status, speaking[0], speaking[-1] + 1, 1)
    return is_only_mentioned(candidate, (), tokens)


def _is_said_by(name: str, value: Any, quote: str) -> bool:  # noqa: ANN401
    """Whether the quote supports the value: it is about the field, has the number, and the rules agree."""
    tokens = tokenize(prepare(quote))
    if not tagged(tokens, _words(name)):
        return False
    if name in RANGES and not any(token.value == value for token in tokens) and value not in {0, 1}:
        return False
    read = read_description(quote).get(name)
    if read is None or read.value is None:
        return True
    return set(read.value) <= set(value) if name in LIST_FIELDS else bool(read.value == value)


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Everything an answer depends on."""

    text_hash: str
    schema_hash: str
    rules: str
    model: str

    @classmethod
    def of(cls, text: str, fields: Sequence[str], model: str) -> "AnswerKey":
        """The key of a question about these fields."""
        schema = json.dumps(json_schema(fields), sort_keys=True)
        return cls(_digest(" ".join(prepare(text).plain.split())), _digest(schema), rules_version(), model)

    @property
    def digest(self) -> str:
        """The key as one short text."""
        return _digest(f"{self.text_hash}\n{self.schema_hash}\n{self.rules}\n{self.model}")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


async def ask_model(
    model: "OllamaModel", text: str, fields: Sequence[str], budget: TimeoutBudget
) -> AnswerJudgement:
    """The model's answers that the text supports, after at most one repair.

    Raises:
        ServiceOllama: the model failed.
        ModelBusy: the model may not be asked now.
    """
    schema = json_schema(fields)
    content = f"Fields: {', '.join(fields)}.\nText:\n{text[:TEXT_CHARACTERS_ASKED]}"
    messages = [{"role": "system", "content": _TASK}, {"role": "user", "content": content}]
    answer = await model.ask(messages, schema, budget)
    first = judge_text(answer, fields, text)
    if not first.problems:
        return first
    complaint = _REPAIR.format(problems="; ".join(first.problems))
    messages += [
        {"role": "assistant", "content": answer[:TEXT_CHARACTERS_ASKED]},
        {"role": "user", "content": complaint},
    ]
    second = judge_text(await model.ask(messages, schema, budget), fields, text)
    return AnswerJudgement({**first.attributes, **second.attributes}, second.problems)


def merge_answers(dictionary: Attributes, answered: Attributes) -> Attributes:
    """The dictionary's result, with the model's answers for fields in conflict or missing."""
    settled = {name: value for name, value in dictionary.items() if value.status != "conflict"}
    return {**dictionary, **answered, **settled}
