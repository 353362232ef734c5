"""The text of a message: a one-line subject and a plain body, in Bulgarian or English."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple
from unicodedata import category
from urllib.parse import urlsplit

from sale_sofia.alerts import settings
from sale_sofia.alerts.store import Item
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.words import Language, Said, dictionary

# Makes the text of a portal harmless: one short line without control characters or markup.

_ALLOWED_IN_URL: Final = re.compile(r"https?://[A-Za-z0-9\-._~:/?#@!$&'*+,;=%]+")
_OBEYED: Final = str.maketrans(
    {"@": "＠", "<": "‹", ">": "›", "`": "'", "*": "∗", "[": "(", "]": ")", "|": "/"}
)
"""Characters with which chats mention people, make links or format text, and their look-alikes."""


def one_line(text: object, longest: int = settings.LONGEST_WORD) -> str:
    """The text in one line without control characters; a longer one is cut."""
    plain = "".join(" " if category(sign)[0] in "CZ" else sign for sign in str(text))
    joined = " ".join(plain.split())
    return joined if len(joined) <= longest else f"{joined[: longest - 1]}…"


def harmless(text: object, longest: int = settings.LONGEST_WORD) -> str:
    """As `one_line`, and without the markup of chats."""
    return one_line(text, longest).translate(_OBEYED)


def safe_url(url: object) -> str | None:
    """The address of an advert, if it is a plain web address; else None."""
    text = str(url)
    if len(text) > settings.LONGEST_URL or not _ALLOWED_IN_URL.fullmatch(text):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    return text if parts.hostname and parts.username is None else None


_KINDS: Final = ("viewing", "new", "cut", "cheaper", "rise", "back", "gone", "incident", "incident_end")
"""The order of kinds in a message of several items."""
_SIGNATURE: Final = "sale-sofia"
_LED: Final = ": {url}"
"""The end of a line with a link."""
_SHARED: Final = {"property_type": "type", "breaker": "condition", "criterion": "criterion"}
"""Names that the dashboard has too; those of alerts themselves go before them."""
Words = Mapping[str, Any]


class Text(NamedTuple):
    """What is sent."""

    subject: str
    body: str


@cache
def words_of(language: Language) -> Words:
    """The texts of the catalogue that alerts use, by section and name."""
    words: dict[str, Any] = {"language": language}
    for key, texts in dictionary().items():
        kind, _, name = key.partition(".")
        section, _, name = name.partition(".") if kind == "alert" else (_SHARED.get(kind), "", name)
        if section:
            words.setdefault(section, {})[name] = texts[language]
    return words


Links = Callable[[int], Mapping[str, str]]
"""Of a property: where a message leads to see, to keep and to reject it."""


Buttons = Sequence[tuple[str, str]]
"""What stands on a button below a message, and where it leads."""


def no_links(_property_id: int) -> Mapping[str, str]:
    """A message that leads nowhere."""
    return {}


def word_message(
    items: Sequence[Item],
    language: Language,
    links: Links = no_links,
    longest: int = settings.LONGEST_BODY,
) -> Text:
    """The message of these items; the same items and links always give the same text.

    Of several items it has as many as fit into `longest` characters, and says how many more there are.
    """
    words = {**words_of(language), "links": links if len(items) <= settings.MOST_WITH_LINKS else no_links}
    if len(items) == 1:
        subject, body = _subject(items[0], words), "\n".join(_lines(items[0], words))
    else:
        counts = Counter(item.kind for item in items)
        counted = ", ".join(f"{words['kind'][kind]} {counts[kind]}" for kind in _KINDS if counts[kind])
        subject = f"{words['subject']['many'].format(count=len(items))}: {counted}"
        most = range(min(len(items), settings.MOST_IN_MESSAGE), -1, -1)
        bodies = ("\n".join(_groups(items, shown, counts, words)) for shown in most)
        body = next(body for body in bodies if len(body) <= longest)
    return Text(one_line(f"{_SIGNATURE}: {subject}", settings.LONGEST_SUBJECT), body[: settings.LONGEST_BODY])


def headline(item: Item, language: Language) -> str:
    """The subject line of an item."""
    return _subject(item, words_of(language))


def photo_of(items: Sequence[Item]) -> str | None:
    """The address of the picture that belongs to a message of one flat."""
    return safe_url(items[0].facts.get("photo")) if len(items) == 1 else None


def buttons_of(items: Sequence[Item], language: Language, links: Links) -> Buttons:
    """The links of a message about one flat as buttons; none for several, as they would be ambiguous."""
    if len(items) != 1 or items[0].property_id is None or "starts_at" in items[0].facts:
        return ()
    line = words_of(language)["line"]
    return [(line[name].removesuffix(_LED), url) for name, url in links(items[0].property_id).items()]


def word_test(language: Language) -> Text:
    """A message that says only that it has come."""
    words = words_of(language)
    return Text(f"{_SIGNATURE}: {words['subject']['test']}", words["line"]["test"])


def _groups(items: Sequence[Item], shown: int, counts: Mapping[str, int], words: Words) -> Iterator[str]:
    ordered = sorted(items, key=lambda item: (_KINDS.index(item.kind), -(item.facts.get("points") or 0.0)))
    for kind, some in groupby(ordered[:shown], key=lambda item: item.kind):
        yield f"== {words['kind'][kind]} ({counts[kind]}) =="
        for item in some:
            yield from ("", _subject(item, words), *_lines(item, words))
        yield ""
    if more := len(items) - shown:
        yield words["line"]["more"].format(count=more)


def _subject(item: Item, words: Words) -> str:
    facts = item.facts
    if item.incident_id is not None:
        family = words["incident"].get(facts["kind"].partition("_")[0], facts["kind"])
        kind = words["incident"].get(facts["kind"], family)
        return str(words["subject"][item.kind].format(kind=kind, site=harmless(facts["site"])))
    if str(facts["rooms"]) in words["rooms"] and facts["property_type"] in {None, "apartment"}:
        parts = [words["rooms"][str(facts["rooms"])]]
    else:
        parts = [words["type"].get(facts["property_type"] or "other", words["type"]["other"])]
    if facts["neighbourhood"]:
        parts.append(harmless(facts["neighbourhood"]))
    if facts["area_sqm"]:
        parts.append(words["line"]["area"].format(area=_number(facts["area_sqm"], words)))
    if facts["price_eur"]:
        parts.append(_money(facts["price_eur"], words))
    when = _moment(facts["starts_at"]) if "starts_at" in facts else ""
    return str(words["subject"][item.kind].format(what=", ".join(parts), when=when))


def _lines(item: Item, words: Words) -> Iterator[str]:
    if "starts_at" in item.facts:
        yield from _viewing_lines(item, words)
        return
    lines = _incident_lines if item.incident_id is not None else _flat_lines
    yield from lines(item, words)
    yield words["line"]["why"].format(rules=", ".join(map(harmless, item.rules)))
    if item.property_id is not None:
        for name, url in words["links"](item.property_id).items():
            yield words["line"][name].format(url=url)


def _flat_lines(item: Item, words: Words) -> Iterator[str]:
    facts, line = item.facts, words["line"]
    yield _price(item, words)
    if about := list(_about(facts, words)):
        yield ", ".join(about)
    if ways := [line[to].format(minutes=_range(facts[to])) for to in ("metro", "centre") if facts.get(to)]:
        yield ", ".join(ways)
    if facts["points"] is not None:
        points, score = (pointed(f"{facts[name] or 0.0:.1f}", words) for name in ("points", "score"))
        yield line["score"].format(points=points, score=score, known=f"{facts['known'] or 0.0:.0%}")
    if best := [words["criterion"][name] for name in facts.get("best", ()) if name in words["criterion"]]:
        yield line["best"].format(names=", ".join(best))
    if facts["unknown"]:
        names = (words["condition"].get(name, name) for name in facts["unknown"])
        yield line["unknown"].format(names=", ".join(map(harmless, names)))
    if facts["portals"]:
        yield line["portals"].format(names=", ".join(map(harmless, facts["portals"])))
    if url := safe_url(facts["url"]):
        yield url
    if photo := safe_url(facts.get("photo")):
        yield line["photo"].format(url=photo)


def _viewing_lines(item: Item, words: Words) -> Iterator[str]:
    """What a visitor needs on the way there; texts of people are made harmless too."""
    facts, line = item.facts, words["line"]
    yield line["viewing"].format(when=_moment(facts["starts_at"]), minutes=facts["minutes"])
    yield from (
        line[name].format(text=harmless(facts[name]))
        for name in ("place", "agent", "phone", "remarks")
        if facts[name]
    )
    yield from ([", ".join(about)] if (about := list(_about(facts, words))) else [])
    if url := safe_url(facts["url"]):
        yield url


def _price(item: Item, words: Words) -> str:
    facts, line = item.facts, words["line"]
    new, old = _with_vat(facts["price_eur"], facts["vat"], words), facts.get("old_eur")
    if facts.get("price_from") and facts["price_eur"]:
        new = line["from"].format(price=new)
    if not old or not facts["price_eur"]:
        return str(line["price"].format(price=new))
    # Between portals by what is paid: one may ask without VAT, the other with it.
    change = facts.get("change", facts["price_eur"] / old - 1)
    percent = pointed(f"{change:+.1%}", words).replace("-", "−")
    if item.kind == "cheaper":
        place = {"site": harmless(facts["site"]), "other": harmless(facts["other_site"])}
        there = _with_vat(old, facts.get("other_vat"), words)
        return str(line["cheaper"].format(new=new, old=there, percent=percent, **place))
    return str(line["change"].format(old=_money(old, words), new=new, percent=percent))


def _with_vat(amount: float | None, vat: str | None, words: Words) -> str:
    return " ".join(filter(None, [_money(amount, words), words["vat"].get(vat or "none", "")]))


def _about(facts: Words, words: Words) -> Iterator[str]:
    line = words["line"]
    if facts.get("eur_sqm"):
        yield line["per_sqm"].format(price=_money(facts["eur_sqm"], words))
    if facts["area_sqm"]:
        yield line["area"].format(area=_number(facts["area_sqm"], words))
    if facts["floor"] is not None:
        floor = line["ground"] if facts["floor"] == 0 else line["floor"].format(floor=facts["floor"])
        above = facts["floor"] and facts["floors_total"]
        yield line["floor_of"].format(floor=facts["floor"], total=facts["floors_total"]) if above else floor
    if facts["neighbourhood"]:
        yield harmless(facts["neighbourhood"])


def _incident_lines(item: Item, words: Words) -> Iterator[str]:
    facts, line = item.facts, words["line"]
    yield harmless(Said.of(facts["message"]).in_words(words["language"]), settings.LONGEST_ERROR)
    yield line["since"].format(moment=_moment(facts["opened_at"]))
    if facts["closed_at"] is not None:
        minutes = round((facts["closed_at"] - facts["opened_at"]) / 60)
        yield line["until"].format(moment=_moment(facts["closed_at"]), minutes=minutes)
    if facts["job_id"]:
        yield line["job"].format(job=harmless(facts["job_id"]))


def _money(amount: float | None, words: Words) -> str:
    return "?" if amount is None else f"€ {_number(amount, words)}"


def _number(amount: float, words: Words) -> str:
    """Thousands separated by a space, a decimal only where there is one."""
    whole = round(amount) if abs(amount) >= 1000 else round(amount, 1)  # noqa: PLR2004 - as people write
    text = f"{whole:,.0f}" if float(whole).is_integer() else f"{whole:,.1f}"
    return pointed(text.replace(",", " "), words)


def pointed(number: str, words: Words) -> str:
    """The number with the decimal sign of the language."""
    return number if words["language"] == "en" else number.replace(".", ",")


def _range(minutes: Sequence[float]) -> str:
    least, most = minutes
    return f"{least:.0f}" if least == most else f"{least:.0f}–{most:.0f}"


def _moment(moment: float) -> str:
    return f"{datetime.fromtimestamp(moment, UTC).astimezone(SOFIA):%d.%m.%Y %H:%M}"
