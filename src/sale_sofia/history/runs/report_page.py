"""A report as one HTML file: no script, nothing fetched, all texts of portals escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.text import html, html_address
from sale_sofia.telemetry.settings import PAGE_TEXT_MAX

# The elements of a report's page. Every input is text, never markup.

_UNKNOWN: Final = "–"
_SPACE: Final = "\u202f"
"""A narrow no-break space: between thousands, and between a number and its unit."""
_UNITS: Final = ((3600, "h", "min"), (60, "min", "s"))
_BYTE_STEPS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def words(text: object) -> str:
    """A text, escaped for HTML and cut where it gets too long."""
    return html(text, PAGE_TEXT_MAX)


def number(value: float | None, digits: int = 0) -> str:
    """A number; a dash for an unknown one."""
    return _UNKNOWN if value is None else f"{value:,.{digits}f}".replace(",", _SPACE)


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return _UNKNOWN if share is None else f"{100 * share:.1f}{_SPACE}%"


def seconds(value: float | None) -> str:
    """A short duration, in seconds."""
    return _UNKNOWN if value is None else f"{value:.2f}{_SPACE}s"


def duration(value: float | None) -> str:
    """A long duration in its two largest units."""
    if value is None:
        return _UNKNOWN
    whole = round(value)
    for size, large, small in _UNITS:
        if whole >= size:
            rest = whole % size * 60 // size
            return f"{number(whole // size)}{_SPACE}{large} {rest}{_SPACE}{small}"
    return f"{whole}{_SPACE}s"


def size(count: int) -> str:
    """Bytes in a readable unit."""
    for step, unit in _BYTE_STEPS:
        if count >= step:
            return f"{count / step:.1f}{_SPACE}{unit}"
    return f"{count}{_SPACE}B"


def moment(value: float | None) -> str:
    """A moment on Sofia's clock."""
    return "never" if value is None else f"{datetime.fromtimestamp(value, SOFIA):%Y-%m-%d %H:%M}"


def link(url: object) -> str:
    """An address, as a link if it is safe to follow."""
    good = html_address(url)
    text = words(url)
    return f'<a href="{good}" rel="noopener noreferrer nofollow">{text}</a>' if good else text


def health_word(state: str) -> str:
    """The health of a run, by word and not by colour alone."""
    return f'<span class="word {words(state)}">{words(state)}</span>'


def facts(pairs: Mapping[str, str]) -> str:
    """Boxes of names and values that wrap to the width of the page."""
    boxes = (f"<div><dt>{words(name)}</dt><dd>{value}</dd></div>" for name, value in pairs.items())
    return f"<dl>{''.join(boxes)}</dl>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first cell of a row is its heading."""
    head = "".join(f'<th scope="col">{words(cell)}</th>' for cell in headings)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>'
        for first, *others in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bullets(title: str, items: Sequence[str]) -> str:
    """A list under its heading; empty without items."""
    listed = "".join(f"<li>{entry}</li>" for entry in items)
    return f"<h3>{words(title)}</h3><ul>{listed}</ul>" if items else ""


Report = Mapping[str, Any]
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The content security policy: should a text ever escape, the browser runs and loads nothing."""


def report_page(report: Report) -> str:
    """The page of a session report."""
    runs = report["runs"]
    title = f"Crawl report: {', '.join(run['site'] for run in runs) or 'no run yet'}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{words(title)}</title><style>{_style()}</style></head>\n<body><main>"
        f"<h1>{words(title)}</h1>{_head(report)}{''.join(map(_run, runs))}</main></body></html>\n"
    )


@cache
def _style() -> str:
    return files(__package__).joinpath("report.css").read_text("utf-8")


def _head(report: Report) -> str:
    written = f'<p class="quiet">written {moment(report["generated_at"])}, times are Sofia\'s</p>'
    if not report["runs"]:
        return written
    together = facts(_counts(report["summary"])) if len(report["runs"]) > 1 else ""
    return f"<p>{health_word(report['health'])}</p>{written}{together}"


def _run(run: Report) -> str:
    error = f"<p>{words(run['error'])}</p>" if run["error"] else ""
    ended = moment(run["finished_at"]) if run["finished_at"] else "not yet"
    return (
        f"<section><h2>{words(run['site'])} {health_word(run['health']['state'])}</h2>"
        f'<p class="quiet">job {words(run["job_id"])}, {words(run["state"])}; '
        f"began {moment(run['started_at'])}, ended {ended}</p>{error}{''.join(_parts(run))}</section>"
    )


def _parts(run: Report) -> Iterator[str]:
    incidents = [
        f"<b>{words(entry['kind'])}</b>, since {moment(entry['opened_at'])}: {words(entry['message'])}"
        for entry in run["incidents"]
    ]
    yield bullets("Open incidents", incidents)
    yield facts(_counts(run["summary"]))
    if run["coverage"]:
        yield f'<p class="quiet">{words(run["coverage"]["line"])}</p>'
    yield bullets("Why it is not healthy", [words(reason) for reason in run["health"]["reasons"]])
    yield from ("<h3>Beside what is usual</h3>", _comparison(run))
    yield from ("<h3>How the portal took it</h3>", facts(_traffic(run["summary"])))
    answers = []
    for domain, counted in run["domains"].items():
        verdicts = [f"{words(name)} {number(count)}" for name, count in counted["verdicts"].items()]
        answers.append(f"{words(domain)}: {', '.join(verdicts)}")
    yield bullets("What it answered", answers)
    yield bullets("What went wrong most", [_error(error) for error in run["top_errors"]])


def _counts(numbers: Report) -> dict[str, str]:
    held = f" ({number(numbers['held_back'])} held back)" if numbers["held_back"] else ""
    return {
        "adverts": number(numbers["adverts"]),
        "new": number(numbers["new"]) + held,
        "changed": number(numbers["changed"]),
        "unchanged": number(numbers["unchanged"]),
        "pages failed": f"{number(numbers['pages_failed'])} ({percent(numbers['failure_share'])})",
        "pages open": number(numbers["pages_open"]),
        "requests": number(numbers["requests"]),
        "took": duration(numbers["run_seconds"]),
    }


def _traffic(numbers: Report) -> dict[str, str]:
    times = numbers["response_seconds"]
    return {
        "blocked": percent(numbers["block_share"]),
        "circuit open": duration(numbers["circuit_open_seconds"]),
        "retries": number(numbers["retries"]),
        "waited for our turn": duration(numbers["limiter_wait_seconds"]),
        "read": size(numbers["bytes"]),
        "50 % within": seconds(times["p50"]),
        "95 % within": seconds(times["p95"]),
        "99 % within": seconds(times["p99"]),
    }


def _comparison(run: Report) -> str:
    short, long = run["comparison"], run["comparison_long"]
    if short is None:
        first = "The first complete run of this search: there is nothing to compare it with."
        return f'<p class="quiet">{first}</p>'
    columns = [short, long] if long["runs"] > short["runs"] else [short]
    heads = [f"median of {usual['runs']}" for usual in columns]
    rows = []
    for name in ("adverts", "requests"):
        cells = [name, number(run["summary"][name])]
        for usual in columns:
            ratio = usual[f"{name}_ratio"]
            share = "" if ratio is None else f' <span class="quiet">({percent(ratio)})</span>'
            cells.append(number(usual[name]) + share)
        rows.append(cells)
    failed = [figures["failure_share"] for figures in (run["summary"], *columns)]
    rows.append(["pages failed", *map(percent, failed)])
    return table(["figure", "this run", *heads], rows)


def _error(error: Report) -> str:
    counts = f"{number(error['failed_pages'])} pages, {number(error['failed_requests'])} requests"
    example = error["example"]
    where = f"{link(example['url'])}: " if example["url"] else ""
    return f"<b>{words(error['class'])}</b>: {counts}; {where}{words(example['message'])}"
