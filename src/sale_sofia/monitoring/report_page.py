"""A report as a page for any browser: one file, no script, nothing fetched, nothing of a portal obeyed."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from sale_sofia.monitoring.report_parts import (
    bullets,
    duration,
    facts,
    health_word,
    link,
    moment,
    number,
    percent,
    seconds,
    size,
    table,
    words,
)

Report = Mapping[str, Any]
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What the browser may do with the page, should a text ever get out of its place: nothing."""


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
    yield facts(_counts(run["summary"]))
    if run["coverage"]:
        yield f'<p class="quiet">{words(run["coverage"]["line"])}</p>'
    yield bullets("Why it is not healthy", [words(reason) for reason in run["health"]["reasons"]])
    yield bullets("Open incidents", [_incident(one) for one in run["incidents"]])
    yield from ("<h3>Beside what is usual</h3>", _comparison(run))
    yield from ("<h3>How the portal took it</h3>", facts(_traffic(run["summary"])))
    yield bullets("What it answered", [_answers(*one) for one in run["domains"].items()])
    yield bullets("What went wrong most", [_error(one) for one in run["top_errors"]])


def _counts(numbers: Report) -> dict[str, str]:
    return {
        "adverts": number(numbers["adverts"]),
        "new": _new(numbers),
        "changed": number(numbers["changed"]),
        "unchanged": number(numbers["unchanged"]),
        "pages failed": f"{number(numbers['pages_failed'])} ({percent(numbers['failure_share'])})",
        "pages open": number(numbers["pages_open"]),
        "requests": number(numbers["requests"]),
        "took": duration(numbers["run_seconds"]),
    }


def _new(numbers: Report) -> str:
    held = f" ({number(numbers['held_back'])} held back)" if numbers["held_back"] else ""
    return number(numbers["new"]) + held


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
        return (
            '<p class="quiet">The first complete run of this search: there is nothing to compare it with.</p>'
        )
    columns = [short, long] if long["runs"] > short["runs"] else [short]
    heads = [f"median of {one['runs']}" for one in columns]
    numbers = run["summary"]
    failed = (percent(one["failure_share"]) for one in columns)
    rows = (
        ("adverts", number(numbers["adverts"]), *(_beside(one, "adverts") for one in columns)),
        ("requests", number(numbers["requests"]), *(_beside(one, "requests") for one in columns)),
        ("pages failed", percent(numbers["failure_share"]), *failed),
    )
    return table(["figure", "this run", *heads], rows)


def _beside(usual: Report, name: str) -> str:
    ratio = usual[f"{name}_ratio"]
    return number(usual[name]) + (
        f' <span class="quiet">({percent(ratio)})</span>' if ratio is not None else ""
    )


def _incident(one: Report) -> str:
    return f"<b>{words(one['kind'])}</b>, since {moment(one['opened_at'])}: {words(one['message'])}"


def _answers(domain: str, counted: Report) -> str:
    verdicts = ", ".join(f"{words(name)} {number(count)}" for name, count in counted["verdicts"].items())
    return f"{words(domain)}: {verdicts}"


def _error(one: Report) -> str:
    counts = f"{number(one['failed_pages'])} pages, {number(one['failed_requests'])} requests"
    example = one["example"]
    shown = (
        f"{link(example['url'])}: {words(example['message'])}"
        if example["url"]
        else words(example["message"])
    )
    return f"<b>{words(one['class'])}</b>: {counts}; {shown}"
