"""Telling the workers that there is work: only a hint, as the reconciler wakes jobs whose hint was lost."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from sale_sofia.config.parallel import APP_NAME, BROKER_CONNECT_SECONDS, BROKER_SOCKET_SECONDS, TASK_VERSION
from sale_sofia.data.jobs import Job

if TYPE_CHECKING:
    from celery import Celery

_SCRAPE_ALL_SITES: Final = "sale_sofia.scraping.tasks.scrape_all_sites"


def jobs_message(jobs: Iterable[Job]) -> dict[str, dict[str, Any]]:
    """The jobs as `scrape_all_sites` takes them."""
    return {job.site: {"job_id": job.id, "start_urls": list(job.start_urls)} for job in jobs}


def send_jobs(redis_url: str, jobs: Iterable[Job]) -> bool:
    """Send the jobs to the workers; whether the broker took the message."""
    from kombu.exceptions import OperationalError  # noqa: PLC0415 - see `sender`

    with sender(redis_url) as app:
        try:
            app.send_task(_SCRAPE_ALL_SITES, args=[jobs_message(jobs), TASK_VERSION], retry=False)
        except OperationalError:
            return False
    return True


def sender(redis_url: str) -> "Celery":
    """An app that only sends; one that also reads the settings of its surroundings is `celery_app`."""
    # Celery is slow to import, and most commands need nothing of it.
    from celery import Celery  # noqa: PLC0415
    from kombu import Queue  # noqa: PLC0415

    app = Celery(APP_NAME, broker=redis_url, set_as_current=False)
    app.conf.update(
        task_default_queue=APP_NAME,
        task_queues=(Queue(APP_NAME),),
        task_ignore_result=True,
        broker_transport_options={
            "socket_timeout": BROKER_SOCKET_SECONDS,
            "socket_connect_timeout": BROKER_CONNECT_SECONDS,
        },
    )
    return app
