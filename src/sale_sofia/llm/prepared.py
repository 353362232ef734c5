"""A description made comparable, with the way back: each place in it leads to the words as written."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from sale_sofia.listings.text import fold_lookalikes

_WIDTHLESS = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_SIGNS = str.maketrans(
    dict.fromkeys("„“”‟«»‹›'‘’‚‛`´′″", '"') | dict.fromkeys("‐‑‒–—―−", "-") | {"²": "2", "\u00a0": " "}
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text and its comparable form. `starts` leads from the second to the first; None: place by place."""

    text: str
    plain: str
    starts: list[int] | None

    def quote(self, start: int, end: int) -> str:
        """The words of the text between two places of the comparable form."""
        if self.starts is None:
            return self.text[start:end]
        return self.text[self.starts[start] : self.starts[end]]


def prepare(text: str) -> Prepared:
    """The text in small letters, look-alike letters folded, quotes and dashes of one shape."""
    if _place_by_place(text):
        plain, starts = text, None
    else:
        plain, starts = _composed(text)
    return Prepared(text, _lowered(fold_lookalikes(plain.translate(_SIGNS))), starts)


def _place_by_place(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text) and _WIDTHLESS.isdisjoint(text)


def _composed(text: str) -> tuple[str, list[int]]:
    """The composed text without characters that have no width, and where each of its characters was."""
    signs: list[str] = []
    starts: list[int] = []
    for start, cluster in _clusters(text):
        composed = "".join(sign for sign in unicodedata.normalize("NFC", cluster) if sign not in _WIDTHLESS)
        signs.append(composed)
        starts.extend([start] * len(composed))
    return "".join(signs), [*starts, len(text)]


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Each character with the marks that go on it."""
    start = 0
    for place in range(1, len(text)):
        if not unicodedata.combining(text[place]):
            yield start, text[start:place]
            start = place
    if text:
        yield start, text[start:]


def _lowered(text: str) -> str:
    """Small letters; a letter whose small form is of another length stays as it is."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(small if len(small := sign.lower()) == 1 else sign for sign in text)
