"""A probe for a program, and as files: the pages as they were sent, and a fixture of the values read.

No phone and no seller's name is in the values: they may be attached to a report of a fault.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sale_sofia.config.probing import FIELDS, FREE_TEXTS, PERSONAL, START_CHARACTERS
from sale_sofia.listings.page import Page
from sale_sofia.scraping.probing import Look, Probe
from sale_sofia.websites.reading import Answer, search_answer

_PHONE: Final = re.compile(r"(?<!\w)\+?\d(?:[\s./()-]{0,2}\d){7,13}(?!\d)")
_MANIFEST, _TRUTH, _WHOLE = "manifest.jsonl", "truth.json", "probe.json"


class NotEmpty(ValueError):
    """A folder that holds something already."""


def without_phones(text: str) -> str:
    """The text with each number in it replaced."""
    return _PHONE.sub("[number]", text)


def make_folder(folder: Path) -> None:
    """Make the folder before anything is asked for; one with anything in it is refused and left alone.

    Raises:
        NotEmpty: it is not empty.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise NotEmpty(f"{folder} is not an empty folder; name another to keep the pages in")


def keep(folder: Path, probes: Sequence[Probe]) -> None:
    """Write the pages, `manifest.jsonl` for `sale-sofia parse --manifest`, `truth.json` and `probe.json`."""
    lines: list[Answer] = []
    truth: dict[str, Answer] = {}
    for probe in probes:
        (folder / probe.site).mkdir()
        if probe.robots:
            (folder / probe.site / "robots.txt").write_bytes(probe.robots.body)
        for name, look, body in _files(probe):
            (folder / name).write_bytes(body)
            lines.append({"site": probe.site, "file": name, **_seen(look)})
            if values := values_of(probe.site, look):
                truth[name] = values
    (folder / _MANIFEST).write_text("".join(_line(one) + "\n" for one in lines), "utf-8")
    (folder / _TRUTH).write_text(json.dumps(truth, ensure_ascii=False, indent=1) + "\n", "utf-8")
    whole = {"probes": [as_json(probe) for probe in probes]}
    (folder / _WHOLE).write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _files(probe: Probe) -> Iterator[tuple[str, Look, bytes]]:
    for look in probe.looks:
        if look.answer:
            ending = "json" if Page(look.url, look.answer.body).is_json else "html"
            yield f"{probe.site}/{look.what.replace(' ', '-')}.{ending}", look, look.answer.body


def _line(answer: Answer) -> str:
    return json.dumps(answer, ensure_ascii=False)


def as_json(probe: Probe) -> Answer:
    """Everything that was seen, for a program."""
    return {
        "site": probe.site,
        "verdict": probe.verdict,
        "reasons": probe.reasons,
        "requests": probe.requests,
        "seconds_per_request": probe.seconds_per_request,
        "robots": {
            "status": probe.robots.status if probe.robots else None,
            "allowed": probe.start_url is not None,
            "crawl_delay": probe.crawl_delay,
            "forbidden": list(probe.forbidden),
        },
        "start_url": probe.start_url,
        "new_on_next_page": probe.new_on_next_page,
        "fields": {what: {"adverts": probe.count(what), "of": len(probe.opened)} for what in FIELDS},
        "pages": [
            {"what": look.what, **_seen(look), "values": values_of(probe.site, look)} for look in probe.looks
        ],
    }


def _seen(look: Look) -> Answer:
    headers: Mapping[str, str] = look.answer.headers if look.answer else {}
    return {
        "url": look.url,
        "status": look.status,
        "content_type": headers.get("content-type"),
        "kind": look.kind,
        "problem": look.problem,
        "block": look.block,
    }


def values_of(site: str, look: Look) -> Answer | None:
    """What was read of a page, in the form of the real pages' truth; None where nothing was.

    A value that may hold somebody's number is left out, so that each one that is there is as the page has it.
    """
    if look.search:
        answer = search_answer(look.search)
        return {**answer, "cards": [_impersonal(card) for card in answer["cards"]]}
    if look.advert:
        return _listing_values(look.advert.listing.model_dump(mode="json"))
    return None if look.problem else {"site": site, "kind": look.kind, "url": look.url}


def _listing_values(dumped: Answer) -> Answer:
    photos, description = dumped.pop("photo_urls"), dumped.pop("description")
    counted = {"photo_count": len(photos), "description_start": description and _start(description)}
    return _impersonal({**dumped, **counted})


def _start(description: str) -> str:
    return _PHONE.split(description, maxsplit=1)[0][:START_CHARACTERS].rstrip()


def _impersonal(values: Mapping[str, Any]) -> Answer:
    return {name: value for name, value in values.items() if name not in PERSONAL and _is_clean(name, value)}


def _is_clean(name: str, value: Any) -> bool:  # noqa: ANN401 - facts have many types
    return name not in FREE_TEXTS or not _PHONE.search(str(value))
