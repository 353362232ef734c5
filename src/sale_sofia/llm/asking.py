"""One description put to the model: a question, at most one repair, and only what can be shown to be said."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sale_sofia.llm.answers import Judgement, judge_text
from sale_sofia.llm.attributes import Attributes
from sale_sofia.llm.prepared import prepare
from sale_sofia.llm.prompt import Message, question, repair
from sale_sofia.llm.values import json_schema
from sale_sofia.llm.versions import rules_version
from sale_sofia.resilience.timeout_budget import TimeoutBudget


class Model(Protocol):
    """Whatever answers."""

    async def ask(self, messages: Sequence[Message], schema: Mapping[str, Any], budget: TimeoutBudget) -> str:
        """The model's words."""


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


async def ask_model(model: Model, text: str, fields: Sequence[str], budget: TimeoutBudget) -> Judgement:
    """What the model says of the fields and the text bears out.

    Raises:
        ServiceOllama: it failed.
        ModelBusy: it may not be asked now.
    """
    schema, messages = json_schema(fields), question(text, fields)
    answer = await model.ask(messages, schema, budget)
    first = judge_text(answer, fields, text)
    if not first.problems:
        return first
    second = judge_text(
        await model.ask(repair(messages, answer, first.problems), schema, budget), fields, text
    )
    return Judgement({**first.attributes, **second.attributes}, second.problems)


def merged(dictionary: Attributes, answered: Attributes) -> Attributes:
    """The dictionary's result with the model's answers where it was in conflict or said nothing."""
    open_ones = {name: one for name, one in answered.items() if _yields(dictionary, name)}
    return {**dictionary, **open_ones}


def _yields(dictionary: Attributes, name: str) -> bool:
    return name not in dictionary or dictionary[name].status == "conflict"
