"""The questions in words."""

from collections.abc import Sequence
from typing import Final

from sale_sofia.config.llm import TEXT_CHARACTERS_ASKED

Message = dict[str, str]
_TASK: Final = (
    "You read Bulgarian property adverts. For each field asked, give the value that the text states about "
    "the flat on offer, and as quote the exact words of the text that state it, copied letter by letter. "
    'If the text does not state it, the value is "unknown" (an empty list for lists) and the quote is empty. '
    "Numbers are written in digits. Never guess."
)
_REPAIR: Final = "That answer cannot be used: {problems}. Answer again, as JSON of the same shape."


def question(text: str, fields: Sequence[str]) -> list[Message]:
    """The first messages: what to do, and the text."""
    asked = f"Fields: {', '.join(fields)}.\nText:\n{text[:TEXT_CHARACTERS_ASKED]}"
    return [{"role": "system", "content": _TASK}, {"role": "user", "content": asked}]


def repair(messages: Sequence[Message], answer: str, problems: Sequence[str]) -> list[Message]:
    """The messages of the second and last try."""
    complaint = _REPAIR.format(problems="; ".join(problems))
    said = {"role": "assistant", "content": answer[:TEXT_CHARACTERS_ASKED]}
    return [*messages, said, {"role": "user", "content": complaint}]
