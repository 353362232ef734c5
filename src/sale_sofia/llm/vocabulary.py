"""The words of `rules/words.yaml`: what each form stands for, found by form, by lemma and by stem."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import simplemma

from sale_sofia.config.llm import ENDING_LETTERS, STEM_LETTERS, WORDS_REMEMBERED
from sale_sofia.config.yaml_text import read_yaml
from sale_sofia.listings.text import LOOKALIKES

Value = int | str | None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a word may stand for, the word itself among it, and the value it carries."""

    tags: frozenset[str]
    value: Value = None


@cache
def load_rules_file(name: str) -> Any:  # noqa: ANN401 - each file has a shape of its own
    """One of the YAML files of `rules/`, for reading only."""
    text = files("sale_sofia.llm").joinpath("rules", name).read_text("utf-8")
    return read_yaml(text)


@cache
def abbreviations() -> frozenset[str]:
    """Words after which a full stop ends nothing."""
    return frozenset(load_rules_file("words.yaml")["abbreviations"])


@cache
def group(name: str) -> frozenset[str]:
    """A group of tags and words of `rules/groups.yaml`."""
    return frozenset(load_rules_file("groups.yaml")[name])


@lru_cache(maxsize=WORDS_REMEMBERED)
def meaning(word: str) -> Meaning:
    """What a word in small letters stands for: by its form, else by its lemma, else by its stem."""
    table = _table()
    found = table.get(word) or _by_stem(word) or table.get(simplemma.lemmatize(word, lang="bg"))
    if found is None and word.isascii():
        found = table.get(word.translate(LOOKALIKES))
    tags, value = found or (frozenset({"plain"}), None)
    own = {"word"} if word.isascii() else {"word", word}  # a Latin word could be taken for a tag
    return Meaning(tags | own, value)


def is_listed(word: str) -> bool:
    """Whether exactly this form is in the list."""
    return word in _table()


def _by_stem(word: str) -> tuple[frozenset[str], Value] | None:
    stems = _stems()
    shortest = max(STEM_LETTERS, len(word) - ENDING_LETTERS)
    for length in range(len(word), shortest - 1, -1):
        if found := stems.get(word[:length]):
            return found
    return None


@cache
def _table() -> Mapping[str, tuple[frozenset[str], Value]]:
    return {word: found for word, found in _entries().items() if not word.endswith("*")}


@cache
def _stems() -> Mapping[str, tuple[frozenset[str], Value]]:
    return {word[:-1]: found for word, found in _entries().items() if word.endswith("*")}


@cache
def _entries() -> Mapping[str, tuple[frozenset[str], Value]]:
    data = load_rules_file("words.yaml")
    entries: dict[str, tuple[frozenset[str], Value]] = {}
    for tag, words in data["words"].items():
        for word in words:
            entries[word] = (_tags(entries, word) | {tag}, None)
    for tag, values in data["valued"].items():
        for word, value in values.items():
            entries[word] = (_tags(entries, word) | {tag}, value)
    return entries


def _tags(entries: Mapping[str, tuple[frozenset[str], Value]], word: str) -> frozenset[str]:
    return entries[word][0] if word in entries else frozenset()
