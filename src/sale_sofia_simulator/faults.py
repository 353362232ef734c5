"""What goes wrong on purpose: by a share of the requests, the same for the same seed."""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from importlib.resources import files
from random import Random
from typing import Any, Final, NamedTuple

from sale_sofia.settings.files import read_yaml
from sale_sofia_simulator.pieces import fill
from sale_sofia_simulator.text import BGN_PER_EUR, spaced

FAULTS = ("429", "503", "slow", "reset", "captcha", "challenge", "truncate", "cut")
CAPTCHA_PAGES = (fill("fault_cloudflare").encode(), fill("fault_recaptcha").encode())


class Fault(NamedTuple):
    """One thing going wrong; `variant` picks among the forms it has."""

    name: str
    variant: int = 0


def parse_faults(text: str) -> dict[str, float]:
    """The shares in `429:0.02,slow:0.05`; anything else is a `ValueError` of one sentence."""
    rates: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, share = part.partition(":")
        if name in rates:
            raise ValueError(f"the fault {name} is given twice in {text!r}")
        try:
            rates[name] = float(share)
        except ValueError:
            rates[name] = -1.0
        if name not in FAULTS or not 0 <= rates[name] <= 1:
            forms = f"a share from 0 to 1 and a name of {', '.join(FAULTS)}"
            raise ValueError(f"{part!r} is no fault: write name:share, {forms}")
    if sum(rates.values()) > 1:
        raise ValueError(f"the shares of the faults {text!r} add up to more than 1")
    return rates


class FaultPlan:
    """Decides by (seed, path, how often the path was asked): a repeated request has a new chance."""

    def __init__(self, rates: dict[str, float], seed: str) -> None:
        self._rates = rates
        self._seed = seed
        self._requests: Counter[str] = Counter()

    def next(self, path: str) -> Fault | None:
        """What goes wrong with this request, mostly nothing."""
        if not self._rates:
            return None
        self._requests[path] += 1
        rng = Random(f"{self._seed}:{path}:{self._requests[path]}")
        draw = rng.random()
        for name, share in self._rates.items():
            draw -= share
            if draw < 0:
                return Fault(name, rng.randrange(len(CAPTCHA_PAGES)))
        return None


# A page that lets only browsers through: its script works out a cookie and loads the page again.

COOKIE = "passed"
SCRIPT_PATH = "/challenge/pass.js"
_SEED, _FACTOR, _MODULUS = 17, 31, 1_000_003

CHALLENGE_PAGE = fill("fault_challenge", script=SCRIPT_PATH).encode()
"""It also asks for pictures, styles and a foreign script, which a polite visitor leaves alone."""
CHALLENGE_SCRIPT = fill(
    "fault_challenge.js", cookie=COOKIE, seed=_SEED, factor=_FACTOR, modulus=_MODULUS
).encode()


def has_passed(headers: Mapping[str, str]) -> bool:
    """Whether the visitor has worked out its cookie, and is still the browser that did."""
    worked = _SEED
    for sign in headers.get("User-Agent", ""):
        worked = (worked * _FACTOR + ord(sign)) % _MODULUS
    return f"{COOKIE}={worked}" in re.split(r";\s*", headers.get("Cookie", ""))


# Layouts a portal may change to overnight: what is served is another page, what is true stays the same.


class Served(NamedTuple):
    """A page about to be sent, as text."""

    text: str
    path: str
    is_listing: bool


class Layout(NamedTuple):
    """One change of one portal."""

    site: str
    says: str
    change: Callable[[Served], str]
    drifts: bool = True
    """Whether it must be found; what sellers do with their adverts is no drift."""


_AREA_AND_PRICE = re.compile(
    r'(?P<head>(?P<area>\d+) м<sup>2</sup>(?:(?!<strong class="price">).)*?<strong class="price">\s*)'
    r"(?P<price>\d[\d ]*)(?P<mid> <small>€</small>\s*)(?P<lev><br/> \d[\d ]*(?P<after> <small>BGN))?",
    re.DOTALL,
)
_NET_SUMS = re.compile(r'<header class="blue-header clearfix">.*?</header>', re.DOTALL)
_NET_SUM = re.compile(r"<strong>(?P<sum>\d[\d ]*) (?P<sign>€|BGN)</strong>")
_NET_AREA = re.compile(r'<h2 itemprop="name">[^<]*, (\d+) м<sup>')
_HOMES_PRICE = re.compile(r'("currency": "EUR", "value": ")([\d,]+)(")')
_IMOT_CARD = re.compile(r'<div class="item ([^"]*)" id="ida(\w+)"')


def _replacing(row: Mapping[str, Any]) -> Callable[[Served], str]:
    """Other words in the same places: on every page, or of so many adverts on one, always the same."""
    pairs = [(re.compile(old, re.DOTALL), new) for old, new in row.get("matched", ())]

    def change(page: Served) -> str:
        text = page.text
        if "one_of" in row and not (page.is_listing and _is_chosen(page.path, row["one_of"])):
            return text
        for old, new in row.get("replaced", ()):
            text = text.replace(old, new)
        for pattern, new in pairs:
            text = pattern.sub(new, text)
        return text

    return change


def _is_chosen(name: str, of: int) -> bool:
    """Whether it is the one of so many that changes, always the same."""
    return zlib.crc32(name.encode()) % of == 0


def _half_of_cards(page: Served) -> str:
    def other(match: re.Match[str]) -> str:
        return f'<div class="tile {match[1]}" data-ida="{match[2]}"' if _is_chosen(match[2], 2) else match[0]

    return _IMOT_CARD.sub(other, page.text)


def _per_sqm(page: Served) -> str:
    """The price of a square metre where the price was."""

    def each(match: re.Match[str]) -> str:
        whole = int(match["sum"].replace(" ", ""))
        return f"<strong>{spaced(round(whole / int(area[1])))} {match['sign']}</strong>" if area else match[0]

    def card(match: re.Match[str]) -> str:
        price = round(int(match["price"].replace(" ", "")) / int(match["area"]))
        lev = f"<br/> {spaced(round(price * BGN_PER_EUR))}{match['after']}" if match["lev"] else ""
        return f"{match['head']}{spaced(price)}{match['mid']}{lev}"

    if not page.is_listing:
        return _AREA_AND_PRICE.sub(card, page.text)
    area = _NET_AREA.search(page.text)
    return _NET_SUMS.sub(lambda sums: _NET_SUM.sub(each, sums[0]), page.text)


def _dearer(page: Served) -> str:
    """All prices three tenths higher."""

    def more(match: re.Match[str]) -> str:
        return f"{match[1]}{round(int(match[2].replace(',', '')) * 1.3):,}{match[3]}"

    return _HOMES_PRICE.sub(more, page.text)


_CHANGES: Final[Mapping[str, Callable[[Served], str]]] = {
    "half-cards": _half_of_cards,
    "per-sqm": _per_sqm,
    "dearer": _dearer,
}
LAYOUTS: Final = {
    name: Layout(
        row["site"], row["says"], _CHANGES.get(name) or _replacing(row), drifts=row.get("drifts", True)
    )
    for name, row in read_yaml(files(__package__).joinpath("layouts.yaml").read_text("utf-8")).items()
}
"""Every layout by its name; those that are more than other words in the same places are in `_CHANGES`."""
