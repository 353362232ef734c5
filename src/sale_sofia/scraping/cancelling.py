"""Ending a job before its end. Whoever crawls it sees that when it wants the next page."""

from sqlalchemy import Connection

from sale_sofia.data.jobs import JobState, set_job_state
from sale_sofia.scraping.jobs import known_job
from sale_sofia.scraping.planning import JobEnded


def cancel_job(connection: Connection, job_id: str, *, now: float) -> bool:
    """The job is cancelled afterwards; False when it was before.

    Raises:
        UnknownJob: there is no such job.
        JobEnded: it came to another end.
    """
    if set_job_state(connection, known_job(connection, job_id).id, JobState.CANCELLED, now=now):
        return True
    state = known_job(connection, job_id).state
    if state is not JobState.CANCELLED:
        raise JobEnded(f"job {job_id} has ended already ({state.value}); there is nothing to cancel")
    return False
