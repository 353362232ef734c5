"""The Celery task of alerts: workers get it every minute."""

from celery import shared_task

from sale_sofia.alerts.after_crawl import alert_after_crawl
from sale_sofia.crawl.runners.lane import database, settings


@shared_task(
    name="sale_sofia.alerts.tasks.run_alerts",
    ignore_result=True,
    # A lost task is replaced by the next; two at once are harmless.
    acks_late=False,
    reject_on_worker_lost=False,
)
def run_alerts() -> bool:
    """Run a round of alerts; whether it succeeded."""
    return alert_after_crawl(settings(), database(), settings().alert_run_seconds)
