"""The names of what a job keeps in Redis."""

from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class ScrapingKeys:
    """One key for each number of a job; all of them expire, the database does not."""

    job_id: str

    @property
    def status(self) -> str:
        """The job's state."""
        return self._key("status")

    @property
    def total_chunks(self) -> str:
        """Batches of SCRAPING_CHUNK_SIZE the frontier amounts to."""
        return self._key("total_chunks")

    @property
    def completed_chunks(self) -> str:
        """Batches' worth of rows that have come to an end."""
        return self._key("completed_chunks")

    @property
    def total_urls(self) -> str:
        """Rows of the frontier."""
        return self._key("total_urls")

    @property
    def result_count(self) -> str:
        """Rows that are done."""
        return self._key("result_count")

    @property
    def error_count(self) -> str:
        """Rows that failed for good."""
        return self._key("error_count")

    @property
    def started_at(self) -> str:
        """Seconds since 1970."""
        return self._key("started_at")

    @property
    def completed_at(self) -> str:
        """Seconds since 1970."""
        return self._key("completed_at")

    def _key(self, name: str) -> str:
        return f"scraping:{self.job_id}:{name}"


def result_url(url: str) -> str:
    """Results go into the database after the broker's."""
    parts = urlsplit(url)
    number = parts.path.strip("/") or "0"
    return urlunsplit(parts._replace(path=f"/{int(number) + 1}"))
