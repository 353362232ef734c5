"""Pages made to be hard to parse, each of one shape and of any size.

A reader of pages may refuse one, and may never need more than a little longer for one twice as long. `HIDDEN`
are bad shapes that look harmless to who does not parse: only who can end the parser is safe from them.
"""

from collections.abc import Mapping
from typing import Final

from sale_sofia.monitoring.hostile_shapes import Shape, nested, repeated

HEAD: Final = "<!DOCTYPE html><html><head><title>имот</title></head><body>"
END: Final = "</body></html>"


def page(name: str, size: int) -> bytes:
    """A page of this shape with about so many bytes; it ends as a whole page does."""
    shape = HTML.get(name) or HIDDEN[name]
    return f"{HEAD}{shape(max(0, size - len(HEAD) - len(END)))}{END}".encode()


def _between(first: str, piece: Shape, last: str) -> Shape:
    return lambda size: first + piece(max(0, size - len(first) - len(last))) + last


def _halves(first: Shape, second: Shape) -> Shape:
    """Half the size of the one, then half of the other."""
    return lambda size: first(size // 2) + second(size // 2)


def _select(options: Shape) -> Shape:
    return _between("<select>", options, "</select>")


HTML: Final[Mapping[str, Shape]] = {
    # One tag.
    "attributes": _between("<div ", repeated("a#=1 "), "></div>"),
    "attributes without values": _between("<div ", repeated("a# "), "></div>"),
    "attributes split by slashes": _between("<div ", repeated("a#/"), "></div>"),
    "attributes after quotes": _between("<div ", repeated('a#=""'), "></div>"),
    "attributes split by lines": _between("<div", repeated("\na#\n"), "></div>"),
    "attributes of an end tag": _between("<div></div ", repeated("a# "), ">"),
    "the same attribute": _between("<div ", repeated("a=1 "), "></div>"),
    "an attribute's long name": _between("<div ", repeated("a"), "></div>"),
    "an attribute's long value": _between('<div a="', repeated("x"), '"></div>'),
    "tags in an attribute's value": _between('<div a="', repeated("<b>"), '"></div>'),
    "attributes of many tags": repeated("<p " + "".join(f"a{one} " for one in range(100)) + "b#></p>"),
    "a tag that never ends": _between("<div a='", repeated("a# "), ""),
    "a long name": _between("<", repeated("x"), ">"),
    "attributes added to html": repeated("<html a#>"),
    "attributes added to body": repeated("<body a#>"),
    # Nesting, and tags that are not closed.
    "nested blocks": nested("<div>", "</div>"),
    "nested spans": nested("<span>", "</span>"),
    "open blocks": repeated("<div>"),
    "open spans": repeated("<span>"),
    "open unknown": repeated("<x#>"),
    "open paragraphs": repeated("<p>"),
    "open items": repeated("<li>"),
    "open lists": repeated("<ul><li>"),
    "open terms": repeated("<dl><dd><dt>"),
    "open headings": repeated("<h1>"),
    "open buttons": repeated("<button>"),
    "open forms": repeated("<form>"),
    "open rubies": repeated("<ruby><rt>"),
    "open objects": repeated("<object>"),
    "paragraphs under blocks": _halves(repeated("<div>"), repeated("<p>")),
    "paragraphs under spans": _halves(repeated("<span>"), repeated("<p>")),
    "items under spans": _halves(repeated("<span>"), repeated("<li>")),
    "ends under spans": _halves(repeated("<span>"), repeated("</p>")),
    "ends of another name": _halves(repeated("<div>"), repeated("</x>")),
    "ends of nothing": repeated("</div>"),
    "ends of paragraphs": repeated("</p>"),
    "breaks by ends": repeated("</br>"),
    # Formatting: what is open is opened again in every block.
    "open bold": repeated("<b>"),
    "open links": repeated("<a>"),
    "open links with blocks": repeated("<a><div>"),
    "open fonts": repeated("<font a=#>"),
    "paragraphs after formatting": lambda size: (
        "<p>" + repeated("<b a=#>")(size // 2) + repeated("<p>x")(size // 2)
    ),
    "formatting under paragraphs": _halves(repeated("<b a=#>"), repeated("<p>")),
    "formatting over paragraphs": repeated("<p><b><i><u>"),
    "formatting, few over many": lambda size: (
        repeated("<b a=#>")(size // 20) + repeated("<p>x")(size * 19 // 20)
    ),
    "numbered formatting over paragraphs": repeated("<p><b a=#>"),
    "numbered links in cells": repeated("<table><td><a a=#>"),
    "formatting closed late": nested("<b><div>", "</b>"),
    "formatting crossed": repeated("<b><i></b></i>"),
    "formatting crossed over blocks": repeated("<b><p></b>"),
    "numbered formatting crossed": repeated("<b a=#><p></b>"),
    "links under blocks": _halves(repeated("<div>"), repeated("<a></a>")),
    "links crossed": repeated("<a><p></a>"),
    "unbroken lines": repeated("<nobr>"),
    "formatting before text": _halves(repeated("<i a=#>"), repeated("</p>x")),
    # Tables: what does not belong there is put before them.
    "nested tables": repeated("<table><tr><td>"),
    "open tables": repeated("<table>"),
    "text in a table": _between("<table>", repeated("x<tr>"), "</table>"),
    "blocks in a table": _between("<table>", repeated("<div>"), "</table>"),
    "formatting in a table": _between("<table>", repeated("<b a=#>"), "</table>"),
    "paragraphs in a table": _between("<table>", repeated("<p>x"), "</table>"),
    "rows": _between("<table>", repeated("<tr><td>"), "</table>"),
    "text in nested tables": repeated("<table>x"),
    "captions": repeated("<table><caption>"),
    "columns": _between("<table>", repeated("<col>"), "</table>"),
    # Lists to choose from.
    "options": _select(repeated("<option>")),
    "options in capitals": _select(repeated("<OPTION>")),
    "options with text": _select(repeated("<option>x</option>")),
    "groups": _select(repeated("<optgroup>")),
    "groups of options": _select(repeated("<optgroup><option>")),
    "selects": repeated("<select><option></select>"),
    "open selects": repeated("<select>"),
    "nested in options": _select(repeated("<option><div>")),
    "options outside": repeated("<option>"),
    "lines in a select": _select(repeated("<hr>")),
    # Other worlds.
    "nested drawings": nested("<svg>", "</svg>"),
    "open drawings": repeated("<svg><g>"),
    "drawings left": repeated("<svg><desc><p>"),
    "formulas": repeated("<math><mi>"),
    "ends in a drawing": _between("<svg>", repeated("<g></x>"), "</svg>"),
    "templates": repeated("<template>"),
    "closed templates": nested("<template>", "</template>"),
    "framesets": repeated("<frameset>"),
    "noscript": repeated("<noscript>"),
    # Text.
    "plain text": repeated("x"),
    "lines": repeated("\n"),
    "entities": repeated("&amp;"),
    "long entities": repeated("&CounterClockwiseContourIntegral;"),
    "broken entities": repeated("&"),
    "half entities": repeated("&notit"),
    "numbers as entities": repeated("&#1078;"),
    "an endless number": _between("&#", repeated("9"), ";"),
    "entities in an attribute": _between('<a b="', repeated("&amp"), '"></a>'),
    "comments": repeated("<!---->"),
    "broken comments": repeated("<!-"),
    "a comment": _between("<!--", repeated("--!-"), "-->"),
    "an open comment": _between("<!--", repeated("<!--"), ""),
    "declarations": repeated("<!x>"),
    "instructions": repeated("<?x>"),
    "CDATA": repeated("<![CDATA[x]]>"),
    "CDATA in a drawing": _between("<svg>", repeated("<![CDATA[x]]>"), "</svg>"),
    "doctypes": repeated("<!DOCTYPE html>"),
    "opening signs": repeated("<"),
    "closing signs": repeated(">"),
    "quotes": repeated("\"'"),
    "scripts": repeated("<script></script>"),
    "an open script": _between("<script>", repeated("<!--<script>"), ""),
    "a script with ends": _between("<script>", repeated("</scrip"), "</script>"),
    "styles": repeated("<style>a{}</style>"),
    "titles": repeated("<title>x</title>"),
    "text areas": repeated("<textarea>"),
    "plaintext": repeated("<plaintext>"),
    "images": repeated("<img><br><hr>"),
    "inputs": repeated("<input type=hidden>"),
    # What readers look for.
    "links": repeated("<a href=#>"),
    "breaks": repeated("x<br>"),
    "classes": _between('<div class="', repeated("c# "), '"></div>'),
    "JSON-LD": repeated('<script type="application/ld+json">{"@type":"Product"}</script>'),
    "a list of JSON-LD": _between(
        '<script type="application/ld+json">[', repeated('{"@type":"x"},'), '{"@type":"Product"}]</script>'
    ),
}
"""What stands between the head of a page and its end."""

HIDDEN: Final[Mapping[str, Shape]] = {
    "attributes around tags": _between(
        "<div ", repeated('v#="<b>" ' + "".join(f"a{one}x# " for one in range(200))), "></div>"
    ),
    "formatting closed elsewhere": repeated("<p><b a=#><object></b></object>"),
}
