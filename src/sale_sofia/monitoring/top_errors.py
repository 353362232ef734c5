"""What went wrong most in a run, by class, each with an example."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from sale_sofia.config.monitoring import EXAMPLE_TEXT_MAX, STREAMED_ROWS, TOP_ERRORS
from sale_sofia.data.crawl_schema import frontier
from sale_sofia.resilience.error_log import Line


@dataclass(frozen=True, slots=True)
class Example:
    """One page that failed in some way."""

    url: str | None
    message: str


@dataclass(slots=True)
class ErrorTally:
    """Errors by class: pages given up, and requests that failed, whatever became of their page."""

    pages: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    examples: dict[str, Example] = field(default_factory=dict)

    def failed_pages(self, connection: Connection, job_id: str) -> None:
        """Count the run's failed pages; they are read a few at a time."""
        failed = select(frontier.c.url, frontier.c.reason).where(
            frontier.c.job_id == job_id, frontier.c.state == "failed"
        )
        rows = connection.execution_options(yield_per=STREAMED_ROWS).execute(failed.order_by(frontier.c.id))
        for url, reason in rows:
            name, _, message = (reason or "unknown").partition(": ")
            self.pages[name] += 1
            self._example(name, url, message)

    def failed_requests(self, lines: Iterable[Line], job_id: str) -> None:
        """Count the run's lines of the error log; the log forgets its oldest ones."""
        for line in lines:
            if line.get("job") == job_id:
                name = str(line.get("class"))
                self.requests[name] += 1
                self._example(name, line.get("url"), str(line.get("message")))

    def top(self) -> list[dict[str, Any]]:
        """The classes with the most failed pages, then requests; equal ones by the alphabet."""
        names = sorted(self.examples, key=lambda name: (-self.pages[name], -self.requests[name], name))
        return [self._entry(name) for name in names[:TOP_ERRORS]]

    def _entry(self, name: str) -> dict[str, Any]:
        example = self.examples[name]
        return {
            "class": name,
            "failed_pages": self.pages[name],
            "failed_requests": self.requests[name],
            "example": {"url": example.url, "message": example.message},
        }

    def _example(self, name: str, url: str | None, message: str) -> None:
        self.examples.setdefault(name, Example(url, message[:EXAMPLE_TEXT_MAX]))
