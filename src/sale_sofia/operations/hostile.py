"""A site file tried on pages, data and texts made to be hard to read, each of one shape and of any size.

A reader of pages may refuse one, and may never need more than a little longer for one twice as long.
"""

import gc
import multiprocessing
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from itertools import count, pairwise
from multiprocessing.connection import Connection
from typing import Any, Final
from urllib.parse import urljoin

from pydantic import BaseModel

from sale_sofia.crawl.visit.apart import keep_memory
from sale_sofia.listings.normalise import normalise
from sale_sofia.listings.page import Page, PageError
from sale_sofia.settings.files import read_yaml
from sale_sofia.telemetry import settings as fixed
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.patterns import compiled, pieces_for, text_of
from sale_sofia.websites.site_file import CARD, JsonTable, Link, SiteConfig, SitemapTable, SplitTable, Urls

Shape = Callable[[int], str]


def repeated(piece: str, first: str = "", last: str = "") -> Shape:
    """The piece again and again between two others; a # in it is a number of its own each time."""

    def make(size: int) -> str:
        left = size - len(first) - len(last)
        if "#" not in piece:
            return first + piece * max(1, left // len(piece)) + last
        pieces, numbers = [first], count()
        while left > 0:
            pieces.append(piece.replace("#", f"{next(numbers):x}"))
            left -= len(pieces[-1])
        return "".join([*pieces, last])

    return make


def nested(opening: str, closing: str, middle: str = "") -> Shape:
    """As deep as the size allows."""

    def make(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return opening * depth + middle + closing * depth

    return make


def halves(first: str, second: str) -> Shape:
    """Half the size of the one piece again and again, then half of the other."""
    return lambda size: repeated(first)(size // 2) + repeated(second)(size // 2)


def _shape(written: str | list[str] | Mapping[str, list[str]]) -> Shape:
    """A piece, or one with what stands before and behind it, is repeated; the others name what they are."""
    if isinstance(written, Mapping):
        ((kind, parts),) = written.items()
        return nested(*parts) if kind == "nested" else halves(*parts)
    return repeated(written) if isinstance(written, str) else repeated(*written)


_SHAPES: Final[Mapping[str, Mapping[str, Shape]]] = {
    kind: {name: _shape(written) for name, written in shapes.items()}
    for kind, shapes in read_yaml(files(__package__).joinpath("hostile.yaml").read_text("utf-8")).items()
}
TEXTS: Final = _SHAPES["texts"]
JSONS: Final = _SHAPES["json"]
HTML: Final[Mapping[str, Shape]] = {
    **_SHAPES["html"],
    "attributes of many tags": repeated("<p " + "".join(f"a{one} " for one in range(100)) + "b#></p>"),
    "paragraphs after formatting": lambda size: (
        "<p>" + repeated("<b a=#>")(size // 2) + repeated("<p>x")(size // 2)
    ),
    "formatting, few over many": lambda size: (
        repeated("<b a=#>")(size // 20) + repeated("<p>x")(size * 19 // 20)
    ),
}
HEAD: Final = "<!DOCTYPE html><html><head><title>имот</title></head><body>"
END: Final = "</body></html>"


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


def growths(trials: Sequence[Trial], sizes: Sequence[int] = fixed.GROWTH_SIZES) -> Iterator[Growth]:
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
            growth = Growth(trial.name)
            try:
                if ours.poll(fixed.GROWTH_LIMIT_SECONDS):
                    growth = ours.recv()
                else:
                    growth.fault = f"took more than {fixed.GROWTH_LIMIT_SECONDS:g} s and was ended"
            except EOFError:
                growth.fault = "its process died"
            yield growth
            if growth.fault:  # whatever it left behind is left with the child
                return
    finally:
        child.kill()
        child.join()
        ours.close()


def _measure_all(trials: Sequence[Trial], sizes: Sequence[int], told: Connection) -> None:
    gc.freeze()  # what is loaded is not looked through between the readings
    keep_memory(fixed.GROWTH_KEPT_BYTES)  # the size from which on it is given back would be a leap in time
    for trial in trials:
        told.send(_measure(trial, sizes))


def _measure(trial: Trial, sizes: Sequence[int]) -> Growth:
    """The trial at each size, until something is wrong."""
    growth = Growth(trial.name)
    for size in sizes:
        given = trial.make(size)
        growth.seconds[size] = _seconds(trial, given)
        growth.fault = fault_of(growth.seconds)
        for _ in range(fixed.GROWTH_TRIES - 1):
            if growth.fault and growth.seconds[size] < fixed.GROWTH_MEGABYTE_SECONDS:
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
        times = longer / max(shorter, fixed.GROWTH_FLOOR_SECONDS)
        if times > fixed.GROWTH_MOST:
            return f"{more} bytes take {times:.1f} times as long as {less}"
    for size, taken in seconds.items():
        if taken > fixed.GROWTH_MEGABYTE_SECONDS * max(1, size / _MEGABYTE):
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


def site_trials(site: TableSite) -> list[Trial]:
    """Everything that is tried of a portal's site file."""
    return [*pattern_trials(site.config), *page_trials(site)]


def pattern_trials(config: SiteConfig) -> Iterator[Trial]:
    """Each of its patterns on the texts made for it."""
    patterns = (
        getattr(model, name) for model in _models(config) for name in _PATTERNS_OF.get(type(model), ())
    )
    for pattern in dict.fromkeys(filter(None, patterns)):
        for piece in pieces_for(pattern, re.DOTALL):
            name = f"the pattern {pattern!r} on {piece[0]!r} with {piece[1]!r} repeated"
            yield Trial(name, partial(text_of, piece), partial(_all_found, compiled(pattern)))


def _all_found(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


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

    def trial(name: str, shape: Shape, head: str = "", end: str = "") -> Trial:
        def make(size: int) -> Page:
            body = f"{head}{shape(size)}{end}".encode("utf-8", "replace")
            return Page(f"https://{site.config.hosts[0]}/", body)

        return Trial(name, make, partial(_read_all, site))

    for name, shape in {**HTML, **TEXTS, **dict(_own_shapes(site.config))}.items():
        yield trial(f"a page of {name}", shape, HEAD, END)
    for name, table in site.config.json_.items():
        for kind, shape in JSONS.items():
            if table.body:
                yield trial(f"data of {name}: {kind}", shape)
            elif table.after:
                begin = pieces_for(table.after, re.DOTALL)[0][1]
                yield trial(f"data of {name}: {kind}", shape, f"{HEAD}<script>{begin}", f"</script>{END}")
    if site.config.sitemap:
        for name, shape in _SHAPES["sitemaps"].items():
            yield trial(f"a sitemap of {name}", shape)


def _own_shapes(config: SiteConfig) -> Iterator[tuple[str, Shape]]:
    """What the portal's own selectors find, very often and very long."""
    fields = (getattr(model, "css", None) for model in _models(config))
    cards = (table.cards for table in config.searches.values() if table.json_ is None)
    for css in dict.fromkeys([*filter(None, fields), *cards]):
        opening, closing = element(css)
        yield f"{css} again and again", repeated(f"{opening}1 x{closing}")
        yield f"{css} in each other", repeated(opening)
        yield f"{css} in each other, closed", nested(opening, closing)
        yield f"{css} full of text", repeated("1 x\n", opening, closing)


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


def _read_all(site: TableSite, page: Page) -> None:
    """Every way in which the site file reads a page, whatever the page is."""
    sitemap = site.config.sitemap
    path = pieces_for(sitemap.path, re.DOTALL)[0][1] if sitemap else ""
    with suppress(PageError):
        normalise(site.listing(page))
    with suppress(PageError):
        for card in site.search(page).cards:
            _ = card.facts
    with suppress(PageError):
        site.search(Page(urljoin(page.url, path), page.body))
    with suppress(PageError):
        document = site.open(page)
        for name in site.config.listing.rows:
            document.rows(name)
        for link in _models(site.config):
            if isinstance(link, Link) and link.json_ != CARD and link.row is None:
                document.texts(link)
