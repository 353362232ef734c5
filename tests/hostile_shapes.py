"""Pages made to be hard to parse, each of one shape and of any size.

`SHAPES` names every shape: what a page of it holds between its head and its end, made for a number of bytes.
A reader of pages may refuse one, and may never need more than a little longer for one twice as long. `HIDDEN`
are bad shapes that look harmless to who does not parse: only who can end the parser is safe from them.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count

HEAD = "<!DOCTYPE html><html><head><title>имот</title></head><body>"
END = "</body></html>"
Shape = Callable[[int], str]


def page(name: str, size: int) -> bytes:
    """A page of this shape with about so many bytes; it ends as a whole page does."""
    shape = SHAPES.get(name) or HIDDEN[name]
    return f"{HEAD}{shape(max(0, size - len(HEAD) - len(END)))}{END}".encode()


def sizes(least: int = 10_000, most: int = 5_000_000) -> list[int]:
    """Bytes, doubling from the least; the most is the last."""
    doubled = [least]
    while doubled[-1] * 2 < most:
        doubled.append(doubled[-1] * 2)
    return [*doubled, most]


def _repeat(piece: str) -> Shape:
    return lambda size: piece * (size // len(piece))


def _numbered(piece: str) -> Shape:
    """The piece again and again, with a number of its own in place of #."""
    return lambda size: _filled(size, (piece.replace("#", f"{number:x}") for number in count()))


def _filled(size: int, pieces: Iterator[str]) -> str:
    made, length = [], 0
    while length < size:
        made.append(next(pieces))
        length += len(made[-1])
    return "".join(made)


def _between(first: str, piece: Shape, last: str) -> Shape:
    return lambda size: first + piece(max(0, size - len(first) - len(last))) + last


def _halves(first: Shape, second: Shape) -> Shape:
    """Half the size of the one, then half of the other."""
    return lambda size: first(size // 2) + second(size // 2)


def _nested(opening: str, closing: str) -> Shape:
    def made(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + closing * depth

    return made


def _select(options: Shape) -> Shape:
    return _between("<select>", options, "</select>")


SHAPES: Mapping[str, Shape] = {
    # One tag.
    "attributes": _between("<div ", _numbered("a#=1 "), "></div>"),
    "attributes without values": _between("<div ", _numbered("a# "), "></div>"),
    "attributes split by slashes": _between("<div ", _numbered("a#/"), "></div>"),
    "attributes after quotes": _between("<div ", _numbered('a#=""'), "></div>"),
    "attributes split by lines": _between("<div", _numbered("\na#\n"), "></div>"),
    "attributes of an end tag": _between("<div></div ", _numbered("a# "), ">"),
    "the same attribute": _between("<div ", _repeat("a=1 "), "></div>"),
    "an attribute's long name": _between("<div ", _repeat("a"), "></div>"),
    "an attribute's long value": _between('<div a="', _repeat("x"), '"></div>'),
    "tags in an attribute's value": _between('<div a="', _repeat("<b>"), '"></div>'),
    "attributes of many tags": _numbered("<p " + "".join(f"a{one} " for one in range(100)) + "b#></p>"),
    "a tag that never ends": _between("<div a='", _numbered("a# "), ""),
    "a long name": _between("<", _repeat("x"), ">"),
    "attributes added to html": _numbered("<html a#>"),
    "attributes added to body": _numbered("<body a#>"),
    # Nesting, and tags that are not closed.
    "nested blocks": _nested("<div>", "</div>"),
    "nested spans": _nested("<span>", "</span>"),
    "open blocks": _repeat("<div>"),
    "open spans": _repeat("<span>"),
    "open unknown": _numbered("<x#>"),
    "open paragraphs": _repeat("<p>"),
    "open items": _repeat("<li>"),
    "open lists": _repeat("<ul><li>"),
    "open terms": _repeat("<dl><dd><dt>"),
    "open headings": _repeat("<h1>"),
    "open buttons": _repeat("<button>"),
    "open forms": _repeat("<form>"),
    "open rubies": _repeat("<ruby><rt>"),
    "open objects": _repeat("<object>"),
    "paragraphs under blocks": _halves(_repeat("<div>"), _repeat("<p>")),
    "paragraphs under spans": _halves(_repeat("<span>"), _repeat("<p>")),
    "items under spans": _halves(_repeat("<span>"), _repeat("<li>")),
    "ends under spans": _halves(_repeat("<span>"), _repeat("</p>")),
    "ends of another name": _halves(_repeat("<div>"), _repeat("</x>")),
    "ends of nothing": _repeat("</div>"),
    "ends of paragraphs": _repeat("</p>"),
    "breaks by ends": _repeat("</br>"),
    # Formatting: what is open is opened again in every block.
    "open bold": _repeat("<b>"),
    "open links": _repeat("<a>"),
    "open links with blocks": _repeat("<a><div>"),
    "open fonts": _numbered("<font a=#>"),
    "paragraphs after formatting": lambda size: (
        "<p>" + _numbered("<b a=#>")(size // 2) + _repeat("<p>x")(size // 2)
    ),
    "formatting under paragraphs": _halves(_numbered("<b a=#>"), _repeat("<p>")),
    "formatting over paragraphs": _repeat("<p><b><i><u>"),
    "formatting, few over many": lambda size: (
        _numbered("<b a=#>")(size // 20) + _repeat("<p>x")(size * 19 // 20)
    ),
    "numbered formatting over paragraphs": _numbered("<p><b a=#>"),
    "numbered links in cells": _numbered("<table><td><a a=#>"),
    "formatting closed late": _nested("<b><div>", "</b>"),
    "formatting crossed": _repeat("<b><i></b></i>"),
    "formatting crossed over blocks": _repeat("<b><p></b>"),
    "numbered formatting crossed": _numbered("<b a=#><p></b>"),
    "links under blocks": _halves(_repeat("<div>"), _repeat("<a></a>")),
    "links crossed": _repeat("<a><p></a>"),
    "unbroken lines": _repeat("<nobr>"),
    "formatting before text": _halves(_numbered("<i a=#>"), _repeat("</p>x")),
    # Tables: what does not belong there is put before them.
    "nested tables": _repeat("<table><tr><td>"),
    "open tables": _repeat("<table>"),
    "text in a table": _between("<table>", _repeat("x<tr>"), "</table>"),
    "blocks in a table": _between("<table>", _repeat("<div>"), "</table>"),
    "formatting in a table": _between("<table>", _numbered("<b a=#>"), "</table>"),
    "paragraphs in a table": _between("<table>", _repeat("<p>x"), "</table>"),
    "rows": _between("<table>", _repeat("<tr><td>"), "</table>"),
    "text in nested tables": _repeat("<table>x"),
    "captions": _repeat("<table><caption>"),
    "columns": _between("<table>", _repeat("<col>"), "</table>"),
    # Lists to choose from.
    "options": _select(_repeat("<option>")),
    "options in capitals": _select(_repeat("<OPTION>")),
    "options with text": _select(_repeat("<option>x</option>")),
    "groups": _select(_repeat("<optgroup>")),
    "groups of options": _select(_repeat("<optgroup><option>")),
    "selects": _repeat("<select><option></select>"),
    "open selects": _repeat("<select>"),
    "nested in options": _select(_repeat("<option><div>")),
    "options outside": _repeat("<option>"),
    "lines in a select": _select(_repeat("<hr>")),
    # Other worlds.
    "nested drawings": _nested("<svg>", "</svg>"),
    "open drawings": _repeat("<svg><g>"),
    "drawings left": _repeat("<svg><desc><p>"),
    "formulas": _repeat("<math><mi>"),
    "ends in a drawing": _between("<svg>", _repeat("<g></x>"), "</svg>"),
    "templates": _repeat("<template>"),
    "closed templates": _nested("<template>", "</template>"),
    "framesets": _repeat("<frameset>"),
    "noscript": _repeat("<noscript>"),
    # Text.
    "plain text": _repeat("x"),
    "lines": _repeat("\n"),
    "entities": _repeat("&amp;"),
    "long entities": _repeat("&CounterClockwiseContourIntegral;"),
    "broken entities": _repeat("&"),
    "half entities": _repeat("&notit"),
    "numbers as entities": _repeat("&#1078;"),
    "an endless number": _between("&#", _repeat("9"), ";"),
    "entities in an attribute": _between('<a b="', _repeat("&amp"), '"></a>'),
    "comments": _repeat("<!---->"),
    "broken comments": _repeat("<!-"),
    "a comment": _between("<!--", _repeat("--!-"), "-->"),
    "an open comment": _between("<!--", _repeat("<!--"), ""),
    "declarations": _repeat("<!x>"),
    "instructions": _repeat("<?x>"),
    "CDATA": _repeat("<![CDATA[x]]>"),
    "CDATA in a drawing": _between("<svg>", _repeat("<![CDATA[x]]>"), "</svg>"),
    "doctypes": _repeat("<!DOCTYPE html>"),
    "opening signs": _repeat("<"),
    "closing signs": _repeat(">"),
    "quotes": _repeat("\"'"),
    "scripts": _repeat("<script></script>"),
    "an open script": _between("<script>", _repeat("<!--<script>"), ""),
    "a script with ends": _between("<script>", _repeat("</scrip"), "</script>"),
    "styles": _repeat("<style>a{}</style>"),
    "titles": _repeat("<title>x</title>"),
    "text areas": _repeat("<textarea>"),
    "plaintext": _repeat("<plaintext>"),
    "images": _repeat("<img><br><hr>"),
    "inputs": _repeat("<input type=hidden>"),
}

HIDDEN: Mapping[str, Shape] = {
    "attributes around tags": _between(
        "<div ", _numbered('v#="<b>" ' + "".join(f"a{one}x# " for one in range(200))), "></div>"
    ),
    "formatting closed elsewhere": _numbered("<p><b a=#><object></b></object>"),
}
