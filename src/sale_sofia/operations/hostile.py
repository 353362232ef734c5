"""Tries a site file on pages, data and texts made to be slow to read, each of one shape and of any size.

A reader may refuse a page, but its time must grow in proportion to the page's size.
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
    """The piece repeated between two others; each # in it becomes another number."""

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
    """Tags nested as deep as the size allows."""

    def make(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return opening * depth + middle + closing * depth

    return make


def halves(first: str, second: str) -> Shape:
    """One piece repeated for half the size, then the other."""
    return lambda size: repeated(first)(size // 2) + repeated(second)(size // 2)


def _shape(written: str | list[str] | Mapping[str, list[str]]) -> Shape:
    """The shape of an entry of hostile.yaml: a piece, [piece, first, last], or {nested or halves: parts}."""
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
    "attributes of many tags": repeated("<p " + "".join(f"a{number} " for number in range(100)) + "b#></p>"),
    "paragraphs after formatting": lambda size: (
        "<p>" + repeated("<b a=#>")(size // 2) + repeated("<p>x")(size // 2)
    ),
    "formatting, few over many": lambda size: (
        repeated("<b a=#>")(size // 20) + repeated("<p>x")(size * 19 // 20)
    ),
}
HEAD: Final = "<!DOCTYPE html><html><head><title>имот</title></head><body>"
END: Final = "</body></html>"


# How the time of a reading grows with the size: in proportion, or worse. A child process makes the readings,
# and is killed if one takes too long: a reading that hangs costs its own verdict and no other.

_MEGABYTE = 1_000_000
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class ReadTrial:
    """A reader and a shape of what it reads."""

    name: str
    make: Callable[[int], Any]
    read: Callable[[Any], object]


@dataclass(slots=True)
class Growth:
    """The CPU time of a trial for each size, and what is wrong with it."""

    name: str
    seconds: dict[int, float] = field(default_factory=dict)
    fault: str | None = None


def measure_trials(
    trials: Sequence[ReadTrial], sizes: Sequence[int] = fixed.GROWTH_SIZES
) -> Iterator[Growth]:
    """The verdict on each trial, in their order.

    What looks slow is tried once more, in another process: on a busy machine one measurement may be wrong,
    but what is really slow is slow twice.
    """
    done, again = 0, False
    while done < len(trials):
        for growth in _measure_in_child(trials[done:], sizes):
            again = growth.fault is not None and not again
            if not again:
                done += 1
                yield growth


def _measure_in_child(trials: Sequence[ReadTrial], sizes: Sequence[int]) -> Iterator[Growth]:
    """Verdicts of one child process, up to the first fault."""
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
            if growth.fault:  # the child is in an unknown state: end it
                return
    finally:
        child.kill()
        child.join()
        ours.close()


def _measure_all(trials: Sequence[ReadTrial], sizes: Sequence[int], pipe: Connection) -> None:
    gc.freeze()  # collections between readings skip what is loaded
    keep_memory(fixed.GROWTH_KEPT_BYTES)  # giving memory back would be a leap in time
    for trial in trials:
        pipe.send(_measure(trial, sizes))


def _measure(trial: ReadTrial, sizes: Sequence[int]) -> Growth:
    """Measure the trial at each size, until something is wrong."""
    growth = Growth(trial.name)
    for size in sizes:
        sample = trial.make(size)
        growth.seconds[size] = _seconds(trial, sample)
        growth.fault = fault_of(growth.seconds)
        for _ in range(fixed.GROWTH_TRIES - 1):
            if growth.fault and growth.seconds[size] < fixed.GROWTH_MEGABYTE_SECONDS:
                growth.seconds[size] = min(growth.seconds[size], _seconds(trial, sample))
                growth.fault = fault_of(growth.seconds)
        if growth.fault:
            break
    return growth


def _seconds(trial: ReadTrial, sample: object) -> float:
    gc.collect()
    gc.disable()  # its collections would be leaps in time
    began = time.process_time()
    trial.read(sample)
    elapsed = time.process_time() - began
    gc.enable()
    return elapsed


def fault_of(seconds: dict[int, float]) -> str | None:
    """What is wrong with these times; None if they grow in proportion."""
    for (less, shorter), (more, longer) in pairwise(seconds.items()):
        times = longer / max(shorter, fixed.GROWTH_FLOOR_SECONDS)
        if times > fixed.GROWTH_MOST:
            return f"{more} bytes take {times:.1f} times as long as {less}"
    for size, elapsed in seconds.items():
        if elapsed > fixed.GROWTH_MEGABYTE_SECONDS * max(1, size / _MEGABYTE):
            return f"{size} bytes take {elapsed:.1f} s"
    return None


# A portal's reader against pages, data and texts made to be hard to read: trials for `measure_trials`.

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


def site_trials(site: TableSite) -> list[ReadTrial]:
    """All trials of a portal's site file."""
    return [*pattern_trials(site.config), *page_trials(site)]


def pattern_trials(config: SiteConfig) -> Iterator[ReadTrial]:
    """Each of its patterns on the texts made for it."""
    patterns = (
        getattr(model, name) for model in _models(config) for name in _PATTERNS_OF.get(type(model), ())
    )
    for pattern in dict.fromkeys(filter(None, patterns)):
        for piece in pieces_for(pattern, re.DOTALL):
            name = f"the pattern {pattern!r} on {piece[0]!r} with {piece[1]!r} repeated"
            yield ReadTrial(name, partial(text_of, piece), partial(_find_all, compiled(pattern)))


def _find_all(pattern: re.Pattern[str], text: str) -> None:
    for _ in pattern.finditer(text):
        pass


def _models(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        value = [getattr(value, name) for name in type(value).model_fields]
    elif isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            yield from _models(part)


def page_trials(site: TableSite) -> Iterator[ReadTrial]:
    """The portal's reader on pages of every shape, those of its own selectors among them."""

    def trial(name: str, shape: Shape, head: str = "", end: str = "") -> ReadTrial:
        def make(size: int) -> Page:
            body = f"{head}{shape(size)}{end}".encode("utf-8", "replace")
            return Page(f"https://{site.config.hosts[0]}/", body)

        return ReadTrial(name, make, partial(_read_all, site))

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
    """Elements that the portal's own selectors find: repeated, nested, and full of text."""
    fields = (getattr(model, "css", None) for model in _models(config))
    cards = (table.cards for table in config.searches.values() if table.json_ is None)
    for css in dict.fromkeys([*filter(None, fields), *cards]):
        opening, closing = element(css)
        yield f"{css} again and again", repeated(f"{opening}1 x{closing}")
        yield f"{css} in each other", repeated(opening)
        yield f"{css} in each other, closed", nested(opening, closing)
        yield f"{css} full of text", repeated("1 x\n", opening, closing)


def element(css: str) -> tuple[str, str]:
    """The tags of an element that a plain selector finds, by the last part of the selector."""
    last = css.split(",", maxsplit=1)[0].split(":not", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    matches = list(_COMPOUND.finditer(last))
    tag = next((match["tag"] for match in matches if match["tag"]), "div")
    classes = " ".join(match["cls"] for match in matches if match["cls"])
    attributes = [_ATTRIBUTE.match(match["attr"]) for match in matches if match["attr"]]
    more = "".join(f' {pair["name"]}="{pair["value"] or 1}"' for pair in attributes if pair)
    ids = "".join(f' id="{match["id"]}"' for match in matches if match["id"])
    return f'<{tag}{ids} class="{classes}"{more} href="/1" content="1">', f"</{tag}>"


def _read_all(site: TableSite, page: Page) -> None:
    """Read the page in every way that the site file has, whatever the page is."""
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
