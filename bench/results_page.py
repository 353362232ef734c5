"""The generated parts of docs/benchmarks.md: between its marks, and nothing else is touched."""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from collecting import Record
from ratios import compared, left_out

SUMMARY = "summary"
MOST_FIGURES = 12


def renewed(page: str, records: Sequence[Record], folder: Path) -> str:
    """The page with the summary and every benchmark's own part as these records say.

    A benchmark without marks gets them at the end of the section that names its file, or a section of its own
    at the end of the page, begun with what the file says of itself.
    """
    page = _put(page, SUMMARY, _summary(records)) if records else page
    for record in records:
        if _marks(record.bench)[0] not in page:
            page = _marked(page, record, folder)
        page = _put(page, record.bench, _part(record))
    return page


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- results: {name} -->", f"<!-- end of results: {name} -->"


def _put(page: str, name: str, text: str) -> str:
    begin, end = _marks(name)
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"the page has no marks {begin} … {end}")
    return pattern.sub(lambda _: f"{begin}\n{text}\n{end}", page)


def _marked(page: str, record: Record, folder: Path) -> str:
    stem = record.bench.partition(" ")[0]
    marks = "\n".join(_marks(record.bench))
    own = re.search(rf"^## [^\n]*`bench/{stem}\.py`.*?(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    if own is None:
        told = ast.get_docstring(ast.parse((folder / f"{stem}.py").read_text("utf-8"))) or ""
        return f"{page.rstrip()}\n\n## `bench/{stem}.py`\n\n{told.partition(chr(10))[0]}\n\n{marks}\n"
    section = f"{own[0].rstrip()}\n\n{marks}\n" + ("\n" if page[own.end() :] else "")
    return page[: own.start()] + section + page[own.end() :]


def _summary(records: Sequence[Record]) -> str:
    newest = max(records, key=lambda one: one.date)
    told = ", ".join(f"{name} {number}" for name, number in newest.versions.items())
    lines = [
        f"{newest.machine}. {told}.",
        "",
        "| bench | run | date | commit | load | goal | first ratio |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(_cells(one))} |" for one in records),
    ]
    return "\n".join(lines)


def _cells(record: Record) -> Iterator[str]:
    yield f"`{record.bench}`"
    yield "quick" if record.quick else "whole"
    yield record.date
    yield record.commit or "–"
    yield f"{record.load:g}"
    yield record.verdict
    first = next(iter(compared(record.bench, record.result)), None)
    yield f"{first.what}: {_ratio(first.ratio)} of {first.peer}" if first else "–"


def _part(record: Record) -> str:
    how = f"`{record.command}`, {record.date}, {record.seconds:g} s, load {record.load:g}"
    if record.failed:
        return f"{how}: failed, {record.failed}"
    ratios = compared(record.bench, record.result)
    told = _ratio_table(record) if ratios else _own_figures(record)
    goal = "goal of short runs" if record.quick else "goal"
    return f"{how}: {goal} {record.verdict}.\n\n{told}"


def _ratio_table(record: Record) -> str:
    head = ["| figure | peer | ours | peer's | ratio | better |", "|---|---|---|---|---|---|"]
    rows = [
        f"| {one.what} | {one.peer} | {one.ours:g} | {one.theirs:g} | {_ratio(one.ratio)} | {one.better} |"
        for one in compared(record.bench, record.result)
    ]
    missing = left_out(record.bench, record.result)
    return "\n".join(head + rows + (["", f"Not in this run: {'; '.join(missing)}."] if missing else []))


def _own_figures(record: Record) -> str:
    """What a benchmark without a peer says at the top of its last line."""
    left_out = {"bench", "met", "seed"}
    numbers = {name: value for name, value in record.result.items() if name not in left_out}
    told = [f"{name} {value:g}" for name, value in numbers.items() if isinstance(value, int | float)]
    return f"Without a peer: {', '.join(told[:MOST_FIGURES])}." if told else "Without a peer."


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×" if value < 100 else f"{value:.0f}×"
