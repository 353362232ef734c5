"""The page of a report: every figure is on it, and no text of a portal is anything but a text."""

import re
from html.parser import HTMLParser
from typing import Any

from hostile_adverts import ENDLESS, SCRIPT, TURNED
from sale_sofia.history.runs.report_page import duration, number, percent, report_page, size
from tables import each_row

USUAL = {
    "runs": 7, "requests": 1300, "adverts": 1200.0, "failure_share": 0.01, "requests_ratio": 1.02,
    "adverts_ratio": 0.5,
}  # fmt: skip
SUMMARY = {
    "run_seconds": 3725.4, "pages_done": 600, "pages_failed": 12, "pages_open": 3, "failure_share": 0.0196,
    "adverts": 612345, "new": 41, "held_back": 7, "changed": 32, "unchanged": 527, "requests": 1326,
    "circuit_open_seconds": 75.0, "block_share": 0.031, "bytes": 45_600_000, "retries": 9,
    "limiter_waits": 70, "limiter_wait_seconds": 12.0,
    "response_seconds": {"count": 1326, "mean": 0.4, "p50": 0.31, "p95": 1.25, "p99": None},
}  # fmt: skip


def session(text: str = "30 s", url: str | None = "https://www.imot.bg/obiava-1") -> dict[str, Any]:
    """A report with this text wherever a text can stand."""
    run = {
        "job_id": "imot.bg-1", "site": "imot.bg", "state": "COMPLETE", "created_at": 0.0, "started_at": 0.0,
        "finished_at": 3725.4, "error": text, "health": {"state": "degraded", "reasons": [text]},
        "summary": SUMMARY, "coverage": {"line": f"612 of 700 seen {text}"},
        "domains": {"imot.bg": {"verdicts": {"ok": 1285, text: 41}}},
        "top_errors": [
            {
                "class": text, "failed_pages": 12, "failed_requests": 2,
                "example": {"url": url, "message": text},
            }
        ],
        "comparison": USUAL, "comparison_long": {**USUAL, "runs": 12, "adverts": 1000.0},
        "incidents": [{"kind": "collapse", "opened_at": 0.0, "message": text}],
    }  # fmt: skip
    return {"generated_at": 7200.0, "health": "degraded", "summary": SUMMARY, "runs": [run]}


class Reader(HTMLParser):
    """What a browser would make of a page: its words, its elements and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"[\s\u202f]+", " ", " ".join(self.words))


def test_every_figure_is_on_the_page() -> None:
    text = Reader(report_page(session())).text
    for told in (
        "Crawl report: imot.bg", "degraded", "job imot.bg-1, COMPLETE",
        "began 1970-01-01 02:00, ended 1970-01-01 03:02",
        "adverts 612 345", "new 41 (7 held back)", "changed 32", "unchanged 527",
        "pages failed 12 (2.0 %)", "pages open 3",
        "requests 1 326", "took 1 h 2 min", "blocked 3.1 %", "circuit open 1 min 15 s", "retries 9",
        "waited for our turn 12 s", "read 45.6 MB", "50 % within 0.31 s", "95 % within 1.25 s",
        "99 % within –",
        "this run median of 7 median of 12", "adverts 612 345 1 200 (50.0 %) 1 000 (50.0 %)",
        "requests 1 326 1 300 (102.0 %) 1 300 (102.0 %)", "pages failed 2.0 % 1.0 % 1.0 %",
        "imot.bg: ok 1 285, 30 s 41", "30 s : 12 pages, 2 requests; https://www.imot.bg/obiava-1 : 30 s",
        "collapse , since 1970-01-01 02:00: 30 s", "written 1970-01-01 04:00",
    ):  # fmt: skip
        assert told in text, told


def test_a_first_run_and_no_run_are_told_as_such() -> None:
    first = session()
    first["runs"][0] |= {"comparison": None, "comparison_long": None, "finished_at": None, "error": None}
    told = Reader(report_page(first)).text
    assert "there is nothing to compare it with" in told
    assert "ended not yet" in told
    empty = {"generated_at": 0.0, "health": "healthy", "summary": SUMMARY, "runs": []}
    told = Reader(report_page(empty)).text
    assert "Crawl report: no run yet" in told
    assert "healthy" not in told.partition("}")[2].rpartition("}")[2]


def test_several_runs_are_told_together_first() -> None:
    two = session()
    two["runs"] *= 2
    two["summary"] = {**SUMMARY, "adverts": 7}
    text = Reader(report_page(two)).text
    assert text.index("adverts 7 ") < text.index("adverts 612 345")


HARMFUL = (
    SCRIPT,
    "\"><script>alert('harm')</script>",
    "'onmouseover='alert(1)",
    "</style><script>x</script>",
)


@each_row("text", [*HARMFUL, TURNED, ENDLESS])
@each_row("url", ["javascript:alert('harm')", "data:text/html,<script>x</script>", None])
def test_a_hostile_text_is_only_a_text(text: str, url: str | None) -> None:
    page = report_page(session(text, url))
    known = Reader(report_page(session()))
    found = Reader(page)
    assert found.tags <= known.tags
    assert {name for name, _ in found.attributes} <= {name for name, _ in known.attributes}
    assert not [value for name, value in found.attributes if name == "href"]
    assert not [name for name, _ in found.attributes if name.startswith("on")]
    assert not set("\u202e\u2066\u200f\0") & set(page)
    assert len(page) < 20_000


@each_row("text", ["30 s", *HARMFUL])
def test_a_page_needs_nothing_and_nobody(text: str) -> None:
    page = Reader(report_page(session(text)))
    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    assert [value for name, value in page.attributes if name in {"src", "srcset", "action"}] == []
    assert [value for name, value in page.attributes if name == "href"] == ["https://www.imot.bg/obiava-1"]
    style = report_page(session(text)).partition("<style>")[2].partition("</style>")[0]
    assert "@media (prefers-color-scheme: dark)" in style
    assert "url(" not in style
    assert "@import" not in style


def test_numbers_are_readable() -> None:
    spaced = [number(1234567), number(None), percent(0.12345), percent(None)]
    assert [one.replace("\u202f", " ") for one in spaced] == ["1 234 567", "–", "12.3 %", "–"]
    times = [duration(value) for value in (None, 0.4, 59.6, 3599, 90_000)]
    assert [one.replace("\u202f", " ") for one in times] == [
        "–",
        "0 s",
        "1 min 0 s",
        "59 min 59 s",
        "25 h 0 min",
    ]
    sizes = [size(value) for value in (999, 1000, 2_500_000, 7_000_000_000)]
    assert [one.replace("\u202f", " ") for one in sizes] == ["999 B", "1.0 kB", "2.5 MB", "7.0 GB"]
