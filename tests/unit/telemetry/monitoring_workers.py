"""What the processes of these tests do, and the runs they need."""

from collections.abc import Sequence

from sqlalchemy import insert, update

from contract.storage.helpers import database
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.jobs import JobState, create_job, set_job_state
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher

PAGES = 40


def make_run(
    db: Database,
    job_id: str,
    *,
    adverts: int = 0,
    failures: Sequence[str] = (),
    state: JobState | None = JobState.COMPLETE,
    began: float = 1000.0,
    **fields: object,
) -> None:
    """A run of imot.bg that took a hundred seconds: one search, so many adverts read, these that failed."""
    site = str(fields.pop("site", "imot.bg"))
    urls = fields.pop("start_urls", ["https://imot.bg/s"])
    read: list[tuple[str, str, str | None]] = [("search", "done", None)]
    read += [("listing", "done", None)] * adverts
    pages = [*read, *(("listing", "failed", reason) for reason in failures)]
    rows = [
        {
            "job_id": job_id,
            "kind": kind,
            "url": f"https://x/{n}",
            "url_key": str(n),
            "state": end,
            "code": why and why.partition(": ")[0],
            "reason": why and why.partition(": ")[2],
        }
        for n, (kind, end, why) in enumerate(pages)
    ]
    with db.write() as connection:
        create_job(connection, job_id=job_id, site=site, start_urls=[], listing_limit=None, now=began)
        connection.execute(insert(frontier), rows)
        set_job_state(connection, job_id, JobState.PROCESSING, now=began)
        if state is not None:
            set_job_state(connection, job_id, state, now=began + 100)
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(start_urls=urls, **fields))


def count_pages(collector: MetricsCollector, worker: int) -> None:
    for page in range(PAGES):
        collector.answered("imot.bg", "ok", 1000 + worker, 0.1 * (worker + 1) + 0.001 * page)
        collector.stored("imot.bg", new=1)
        collector.domains["imot.bg"].circuit_open.add(5000.0 + 20 * worker, 30)


def flush_many(url: str, worker: int, flushes: int) -> None:
    """Count and flush again and again; every flush is sent twice, as after a lost answer."""
    flusher = MetricsFlusher(database(url), MetricsCollector("job", clock=lambda: 5000.0))
    for _ in range(flushes):
        count_pages(flusher.collector, worker)
        flusher._seal()  # noqa: SLF001 - to send the same delta twice
        flusher.database.run_write(flusher._add)  # noqa: SLF001
        flusher.flush()


def open_many(url: str, worker: int, times: int) -> set[int]:
    db = database(url)
    trouble = Trouble(IncidentKind.COLLAPSE, "imot.bg", Said.of(f"seen by {worker}"), details={"by": worker})
    return {db.run_write(lambda c: open_incident(c, trouble, now=float(worker))).id for _ in range(times)}
