"""The Celery task of alerts: workers get it every minute."""

from celery import shared_task

from sale_sofia.crawl.runners.lane import database, settings


@shared_task(
    name="sale_sofia.alerts.tasks.run_alerts",
    ignore_result=True,
    # One that is lost is replaced by the next; two at once do each other no harm.
    acks_late=False,
    reject_on_worker_lost=False,
)
def run_alerts() -> bool:
    """A round of alerts; whether it went well."""
    from sale_sofia.alerts.running import alert_after_crawl  # noqa: PLC0415 - lanes do without it

    return alert_after_crawl(settings(), database(), settings().alert_run_seconds)
