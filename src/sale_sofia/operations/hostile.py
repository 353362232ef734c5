"""Pages made to be hard to parse, each of one shape and of any size.

A reader of pages may refuse one, and may never need more than a little longer for one twice as long. `HIDDEN`
are bad shapes that look harmless to who does not parse: only who can end the parser is safe from them.
"""

import gc
import multiprocessing
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from multiprocessing.connection import Connection
from typing import Any, Final
from urllib.parse import urljoin

from pydantic import BaseModel

from sale_sofia.crawl.visit.apart import keep_memory
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page, PageError
from sale_sofia.telemetry.settings import (
    GROWTH_FLOOR_SECONDS,
    GROWTH_KEPT_BYTES,
    GROWTH_LIMIT_SECONDS,
    GROWTH_MEGABYTE_SECONDS,
    GROWTH_MOST,
    GROWTH_SIZES,
    GROWTH_TRIES,
)
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.patterns import compiled, pieces_for, text_of
from sale_sofia.websites.site_file import CARD, JsonTable, Link, SiteConfig, SitemapTable, SplitTable, Urls

# Texts and data of every shape known to be hard to read, each of any size.

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


# How the time of a reading grows with what is read: in proportion, or worse. Each reading is made in a
# child process, which is ended where it takes too long: one that hangs costs its own verdict and no other.

_MEGABYTE = 1_000_000
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Trial:
    """One reader and one shape of what it reads."""

    name: str
    make: Callable[[int], Any]
    read: Callable[[Any], object]


@dataclass(slots=True)
class Growth:
    """The CPU time of a trial for each size, and what is wrong with it."""

    name: str
    seconds: dict[int, float] = field(default_factory=dict)
    fault: str | None = None


def growths(trials: Sequence[Trial], sizes: Sequence[int] = GROWTH_SIZES) -> Iterator[Growth]:
    """The verdict on each trial, in their order.

    What looks slow is tried once more, in another process: on a machine that others use every moment may be
    a bad one, but what is slow is slow twice.
    """
    done, again = 0, False
    while done < len(trials):
        for growth in _by_a_child(trials[done:], sizes):
            again = growth.fault is not None and not again
            if not again:
                done += 1
                yield growth


def _by_a_child(trials: Sequence[Trial], sizes: Sequence[int]) -> Iterator[Growth]:
    """As many verdicts as one child comes to; the last may be that it was ended."""
    ours, theirs = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_measure_all, args=(trials, sizes, theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        for trial in trials:
            growth = _received(ours, trial)
            yield growth
            if growth.fault:  # whatever it left behind is left with the child
                return
    finally:
        child.kill()
        child.join()
        ours.close()


def _received(told: Connection, trial: Trial) -> Growth:
    growth = Growth(trial.name)
    try:
        if told.poll(GROWTH_LIMIT_SECONDS):
            given: Growth = told.recv()
            return given
    except EOFError:
        growth.fault = "its process died"
        return growth
    growth.fault = f"took more than {GROWTH_LIMIT_SECONDS:g} s and was ended"
    return growth


def _measure_all(trials: Sequence[Trial], sizes: Sequence[int], told: Connection) -> None:
    gc.freeze()  # what is loaded is not looked through between the readings
    keep_memory(GROWTH_KEPT_BYTES)  # the size from which on it is given back would be a leap in time
    for trial in trials:
        told.send(measured(trial, sizes))


def measured(trial: Trial, sizes: Sequence[int]) -> Growth:
    """The trial at each size, until something is wrong."""
    growth = Growth(trial.name)
    for size in sizes:
        given = trial.make(size)
        growth.seconds[size] = _seconds(trial, given)
        growth.fault = fault_of(growth.seconds)
        for _ in range(GROWTH_TRIES - 1):
            if growth.fault and growth.seconds[size] < GROWTH_MEGABYTE_SECONDS:
                growth.seconds[size] = min(growth.seconds[size], _seconds(trial, given))
                growth.fault = fault_of(growth.seconds)
        if growth.fault:
            break
    return growth


def _seconds(trial: Trial, given: object) -> float:
    gc.collect()
    gc.disable()  # its rounds come by leaps that are no growth of the reading's
    began = time.process_time()
    trial.read(given)
    taken = time.process_time() - began
    gc.enable()
    return taken


def fault_of(seconds: dict[int, float]) -> str | None:
    """What is wrong with these times; None where they grow as they may."""
    for (less, shorter), (more, longer) in pairwise(seconds.items()):
        times = longer / max(shorter, GROWTH_FLOOR_SECONDS)
        if times > GROWTH_MOST:
            return f"{more} bytes take {times:.1f} times as long as {less}"
    for size, taken in seconds.items():
        if taken > GROWTH_MEGABYTE_SECONDS * max(1, size / _MEGABYTE):
            return f"{size} bytes take {taken:.1f} s"
    return None


# A portal's reader against pages, data and texts made to be hard to read: trials for `growths`.

_PATTERNS_OF: Final[Mapping[type[BaseModel], tuple[str, ...]]] = {
    Link: ("match",),
    JsonTable: ("after", "pieces"),
    Urls: ("listing", "search", "project"),
    SplitTable: ("at",),
    SitemapTable: ("path", "follow", "adverts"),
}
_COMPOUND: Final = re.compile(
    r"(?P<tag>^[a-z][a-z0-9]*)|#(?P<id>[\w-]+)|\.(?P<cls>[\w-]+)|\[(?P<attr>[^\[\]]+)\]"
)
_ATTRIBUTE: Final = re.compile(r"(?P<name>[\w:-]+)(?:[~|^$*]?=[\"']?(?P<value>[^\"']*)[\"']?)?")
_SITEMAPS: Final[Mapping[str, Shape]] = {
    "entries": repeated("<url><loc>https://x.bg/#</loc></url>", "<urlset>", "</urlset>"),
    "open entries": repeated("<url>", "<urlset>", "</urlset>"),
    "open sitemaps": repeated("<sitemap><url>", "<urlset>", "</urlset>"),
    "crossed entries": repeated("<url></sitemap>", "<urlset>", "</urlset>"),
    "spaces": repeated(" ", "<urlset><url><loc>", "</url></urlset>"),
    "addresses": repeated("<loc>", "<urlset><url>", "</url></urlset>"),
    "remarks": repeated("<!---->", "<urlset></urlset>", "x"),
    "ended remarks": repeated("-->", "<urlset></urlset>"),
}


def site_trials(site: TableSite) -> list[Trial]:
    """Everything that is tried of a portal's site file."""
    return [*pattern_trials(site.config), *page_trials(site)]


def pattern_trials(config: SiteConfig) -> Iterator[Trial]:
    """Each of its patterns on the texts made for it."""
    for pattern in dict.fromkeys(patterns_of(config)):
        for piece in pieces_for(pattern, re.DOTALL):
            name = f"the pattern {pattern!r} on {piece[0]!r} with {piece[1]!r} repeated"
            yield Trial(name, partial(text_of, piece), partial(_all_found, compiled(pattern)))


def _all_found(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


def patterns_of(config: SiteConfig) -> Iterator[str]:
    """Every regular expression of a site file."""
    for model in _models(config):
        for name in _PATTERNS_OF.get(type(model), ()):
            if pattern := getattr(model, name):
                yield pattern


def _models(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        value = [getattr(value, name) for name in type(value).model_fields]
    elif isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _models(one)


def page_trials(site: TableSite) -> Iterator[Trial]:
    """The portal's reader on pages of every shape, those of its own selectors among them."""
    shapes = {**HTML, **TEXTS, **dict(_own_shapes(site.config))}
    read = partial(read_all, site)
    for name, shape in shapes.items():
        yield Trial(f"a page of {name}", partial(_page, site, shape), read)
    for name, shape in _data_shapes(site.config):
        yield Trial(f"data of {name}", partial(_data, site, shape), read)
    if site.config.sitemap:
        for name, shape in _SITEMAPS.items():
            yield Trial(f"a sitemap of {name}", partial(_data, site, shape), read)


def _page(site: TableSite, shape: Shape, size: int) -> Page:
    return _data(site, lambda wanted: f"{HEAD}{shape(wanted)}{END}", size)


def _data(site: TableSite, shape: Shape, size: int) -> Page:
    return Page(f"https://{site.config.hosts[0]}/", shape(size).encode("utf-8", "replace"))


def _own_shapes(config: SiteConfig) -> Iterator[tuple[str, Shape]]:
    """What the portal's own selectors find, very often and very long."""
    for css in dict.fromkeys(_selectors(config)):
        opening, closing = element(css)
        yield f"{css} again and again", repeated(f"{opening}1 x{closing}")
        yield f"{css} in each other", repeated(opening)
        yield f"{css} in each other, closed", nested(opening, closing)
        yield f"{css} full of text", repeated("1 x\n", opening, closing)


def _selectors(config: SiteConfig) -> Iterator[str]:
    for model in _models(config):
        css = getattr(model, "css", None)
        if css:
            yield css
    yield from (table.cards for table in config.searches.values() if table.json_ is None)


def element(css: str) -> tuple[str, str]:
    """The tags of an element that a plain selector finds: what stands last in it, as far as it says."""
    last = css.split(",", maxsplit=1)[0].split(":not", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    found = list(_COMPOUND.finditer(last))
    tag = next((one["tag"] for one in found if one["tag"]), "div")
    classes = " ".join(one["cls"] for one in found if one["cls"])
    given = [_ATTRIBUTE.match(one["attr"]) for one in found if one["attr"]]
    more = "".join(f' {one["name"]}="{one["value"] or 1}"' for one in given if one)
    ids = "".join(f' id="{one["id"]}"' for one in found if one["id"])
    return f'<{tag}{ids} class="{classes}"{more} href="/1" content="1">', f"</{tag}>"


def _data_shapes(config: SiteConfig) -> Iterator[tuple[str, Shape]]:
    for name, table in config.json_.items():
        for kind, shape in JSONS.items():
            if table.body:
                yield f"{name}: {kind}", shape
            elif table.after:
                yield f"{name}: {kind}", partial(_after, table.after, shape)


def _after(pattern: str, shape: Shape, size: int) -> str:
    begin = pieces_for(pattern, re.DOTALL)[0][1]
    return f"{HEAD}<script>{begin}{shape(size)}</script>{END}"


def read_all(site: TableSite, page: Page) -> None:
    """Every way in which the site file reads a page, whatever the page is."""
    ways: tuple[Callable[[], Any], ...] = (
        lambda: normalise(site.listing(page)),
        lambda: [card.facts for card in site.search(page).cards],
        lambda: site.search(Page(urljoin(page.url, _sitemap_path(site)), page.body)),
        lambda: _read_links(site, page),
    )
    for way in ways:
        with suppress(PageError):
            way()


def _sitemap_path(site: TableSite) -> str:
    table = site.config.sitemap
    return pieces_for(table.path, re.DOTALL)[0][1] if table else ""


def _read_links(site: TableSite, page: Page) -> None:
    document = site.open(page)
    for name in site.config.listing.rows:
        document.rows(name)
    for link in _models(site.config):
        if isinstance(link, Link) and link.json_ != CARD and link.row is None:
            document.texts(link)
