"""The model's answer judged: what counts is well-formed, allowed, and said by the words it quotes."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sale_sofia.config.llm import QUOTE_CHARACTERS
from sale_sofia.llm.attributes import LIST_FIELDS, Attribute, Attributes
from sale_sofia.llm.dictionary import read_description
from sale_sofia.llm.prepared import Prepared, prepare
from sale_sofia.llm.questions import speaks_of
from sale_sofia.llm.tokens import tokenize
from sale_sofia.llm.values import RANGES, check_value


class FieldAnswer(BaseModel):
    """One field of the answer as it came."""

    model_config = ConfigDict(extra="ignore", strict=True)

    value: Any
    quote: str


@dataclass(slots=True)
class Judgement:
    """What counts of an answer, and in one sentence each what does not."""

    attributes: Attributes = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def judge_text(answer: str, fields: Sequence[str], text: str) -> Judgement:
    """Judge the model's words."""
    try:
        loaded = json.loads(answer)
    except (ValueError, RecursionError):
        return Judgement(problems=["the answer is not JSON"])
    return judge(loaded, fields, text)


def judge(loaded: object, fields: Sequence[str], text: str) -> Judgement:
    """Judge an answer that has been read: each field by itself, so that one bad field spoils no other."""
    if not isinstance(loaded, dict):
        return Judgement(problems=["the answer is not an object"])
    judgement = Judgement()
    prepared = prepare(text)
    for name in fields:
        try:
            attribute = _judge_field(name, loaded.get(name), prepared)
        except ValueError as error:
            judgement.problems.append(str(error))
        else:
            if attribute is not None:
                judgement.attributes[name] = attribute
    return judgement


def _judge_field(name: str, given: object, prepared: Prepared) -> Attribute | None:
    try:
        answer = FieldAnswer.model_validate(given)
    except ValidationError:
        raise ValueError(f'{name}: {{"value": …, "quote": …}} is needed') from None
    value = check_value(name, answer.value)
    if value is None:
        return None
    quote = _find(answer.quote, prepared)
    if quote is None:
        raise ValueError(f"{name}: the quote is not in the text")
    if not _is_said_by(name, value, quote):
        raise ValueError(f"{name}: the quote does not say {value!r}")
    return Attribute(value, "stated", quote, "model")


def _find(quote: str, prepared: Prepared) -> str | None:
    """The quote as the text has it; case, look-alike letters and white space make no difference."""
    words = prepare(quote).plain.split() if len(quote) <= QUOTE_CHARACTERS else []
    if not words:
        return None
    found = re.search(r"\s+".join(map(re.escape, words)), prepared.plain)
    return prepared.quote(found.start(), found.end()) if found else None


def _is_said_by(name: str, value: Any, quote: str) -> bool:  # noqa: ANN401
    """Whether the quote can say it: it speaks of the field, has the number, and the rules do not deny it."""
    tokens = tokenize(prepare(quote))
    if not speaks_of(name, tokens):
        return False
    if name in RANGES and not any(token.value == value for token in tokens) and value not in {0, 1}:
        return False
    read = read_description(quote).get(name)
    return read is None or read.value is None or _same(name, read.value, value)


def _same(name: str, read: Any, value: Any) -> bool:  # noqa: ANN401
    return set(read) <= set(value) if name in LIST_FIELDS else bool(read == value)
