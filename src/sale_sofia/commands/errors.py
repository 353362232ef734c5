"""`sale-sofia errors`: what went wrong lately, counted by class, the newest last."""

from collections import Counter, deque
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.table import Table

from sale_sofia.commands.console import AsJson, out, print_json
from sale_sofia.config.monitoring import SHOWN_ERRORS
from sale_sofia.config.settings import load_settings
from sale_sofia.resilience.error_log import Line
from sale_sofia.resilience.errors import class_names
from sale_sofia.scraping.store import open_error_log
from sale_sofia.websites.registry import get_scraper


def errors(
    site: Annotated[str | None, typer.Option(help="Only of this portal.")] = None,
    error_class: Annotated[str | None, typer.Option("--class", help="Only of this class.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Show so many, the newest.")] = SHOWN_ERRORS,
    as_json: AsJson = False,
) -> None:
    """Show the error log: how many requests failed by class, and the newest of them."""
    if site is not None:
        get_scraper(site)  # a name that is none is said to be
    if error_class is not None and error_class not in (names := class_names()):
        raise typer.BadParameter(f"no class {error_class!r}; allowed: {', '.join(names)}")
    counts: Counter[str] = Counter()
    newest: deque[Line] = deque(maxlen=limit)
    for line in _chosen(site, error_class):
        counts[str(line.get("class"))] += 1
        newest.append(line)
    if as_json:
        print_json({"counts": dict(counts.most_common()), "errors": list(newest)})
        return
    out.print(_counts_table(counts))
    for line in newest:
        out.print(_sentence(line), highlight=False, soft_wrap=True)


def _chosen(site: str | None, error_class: str | None) -> Iterator[Line]:
    wanted = {"domain": site, "class": error_class}
    chosen = {key: value for key, value in wanted.items() if value is not None}
    for line in open_error_log(load_settings()).read():
        if all(line.get(key) == value for key, value in chosen.items()):
            yield line


def _counts_table(counts: Counter[str]) -> Table:
    table = Table("class", "requests", title="Failed requests")
    for name, count in counts.most_common():
        table.add_row(name, str(count))
    return table


def _sentence(line: Line) -> str:
    delay = line.get("next_delay")
    after = "" if delay is None else f" in {delay} s"
    head = f"{line.get('time')} {line.get('class')}, try {line.get('attempt')}, {line.get('action')}{after}"
    return f"{head}: {line.get('url')}: {line.get('message')}"
