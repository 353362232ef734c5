"""Texts and data of every shape known to be hard to read, each of any size."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

Shape = Callable[[int], str]


def repeated(piece: str, first: str = "", last: str = "") -> Shape:
    """The piece again and again between two others; a # in it is a number of its own each time."""
    if "#" not in piece:
        return lambda size: first + piece * max(1, (size - len(first) - len(last)) // len(piece)) + last
    return lambda size: first + _numbered(piece, size) + last


def _numbered(piece: str, size: int) -> str:
    made, length, numbers = [], 0, count()
    while length < size:
        made.append(piece.replace("#", f"{next(numbers):x}"))
        length += len(made[-1])
    return "".join(made)


def nested(opening: str, closing: str, middle: str = "") -> Shape:
    """As deep as the size allows."""

    def made(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return opening * depth + middle + closing * depth

    return made


TEXTS: Final[Mapping[str, Shape]] = {
    "digits": repeated("1"),
    "digits and spaces": repeated("1 "),
    "digits and dots": repeated("1.1,"),
    "spaces": repeated(" "),
    "lines": repeated("\n"),
    "tabs": repeated("\t", "1", "x"),
    "letters": repeated("я"),
    "words": repeated("стая "),
    "many words": repeated("дума# "),
    "a sentence": repeated("Продава двустаен апартамент, 65 кв.м, ет. 3 от 8, Лозенец. "),
    "commas": repeated(", "),
    "slashes": repeated("a/"),
    "dashes": repeated("-"),
    "brackets": repeated("("),
    "closed brackets": nested("(", ")"),
    "quotes": repeated("\"'"),
    "colons": repeated("a:"),
    "addresses": repeated("https://x.bg/#.jpg "),
    "accents": repeated("\u0301", "а"),
    "words with accents": repeated("а\u0301\u0301\u0301 "),
    "signs of no width": repeated("\u200b"),
    "phones": repeated("0888 123 456, "),
    "prices": repeated("99 000 € "),
    "storeys": repeated("5-ти от 8 "),
    "mixed alphabets": repeated("Cофия"),
    "not": repeated("не "),
}
"""What may stand where a text is expected."""

JSONS: Final[Mapping[str, Shape]] = {
    "nested lists": nested("[", "]"),
    "nested objects": nested('{"a":', "}", "1"),
    "open lists": repeated("["),
    "open objects": repeated('{"a":'),
    "a long list": repeated("1,", "[", "1]"),
    "many keys": repeated('"k#":1,', "{", '"z":1}'),
    "the same key": repeated('"k":1,', "{", '"z":1}'),
    "objects": repeated('{"id":1,"url":"/#"},', "[", "{}]"),
    "a long text": repeated("x", '{"a":"', '"}'),
    "escapes": repeated("\\u0416", '{"a":"', '"}'),
    "backslashes": repeated("\\\\", '{"a":"', '"}'),
    "texts in texts": repeated('\\"', '"', '"'),
    "a long number": repeated("1", '{"a":', "}"),
    "a long fraction": repeated("1", '{"a":0.', "}"),
    "spaces": repeated(" ", "{", "}"),
    "an open text": repeated("x", '{"a":"'),
}

YAMLS: Final[Mapping[str, Shape]] = {
    "brackets": repeated("["),
    "closed brackets": nested("[", "]"),
    "braces": repeated("{a: "),
    "lists in lists": repeated("- "),
    "keys of keys": repeated("? "),
    "both": repeated("- ? "),
    "indents": lambda size: "\n".join(" " * depth + "a:" for depth in range(int((2 * size) ** 0.5))),
    "a long key": repeated("a", "", ": 1"),
    "a long line": repeated("a ", 'a: "', '"'),
    "keys": repeated("k#: 1\n"),
    "items": repeated("- 1\n"),
    "flow items": repeated("a,", "[", "]"),
    "anchors": repeated("- &a# x\n"),
    "aliases": repeated("- *a\n", "- &a [1, 2, 3]\n"),
    "aliases of aliases": lambda size: (
        "- &a0 [1, 1]\n" + "".join(f"- &a{n + 1} [*a{n}, *a{n}]\n" for n in range(size // 20))
    ),
    "an alias of itself": repeated("*a,", "- &a [", "]"),
    "merged keys": repeated("  <<: *a\n", "a: &a {b: 1}\nc:\n"),
    "base sixty": repeated(":1", "a: 1"),
    "a long number": repeated("1", "a: "),
    "a date": repeated(" ", "a: 2001-01-01 ", "x"),
    "sets": repeated("a#,", "a: !!set {", "}"),
    "ordered": repeated("{a#: 1},", "a: !!omap [", "]"),
    "tags": repeated("%TAG !a#! b\n", "", "--- 1"),
    "lines of text": repeated("  x\n", "a: |\n"),
    "comments": lambda size: "#" * size,
    "empty lines": repeated("\n", "a:", " b"),
    "documents": repeated("--- 1\n"),
}
