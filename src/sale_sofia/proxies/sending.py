"""Handing a refresh to the workers; Celery is imported only when it is needed, as it is slow to import."""

from collections.abc import Callable
from functools import partial
from typing import Final

from sale_sofia.config.parallel import APP_NAME, BROKER_CONNECT_SECONDS, BROKER_SOCKET_SECONDS

REFRESH_TASK: Final = "sale_sofia.proxies.tasks.refresh_proxies"


def refresh_sender(redis_url: str) -> Callable[[str], None]:
    """Sends a job to the workers on this Redis; that a message was lost is noticed by who waits for it."""
    return partial(_send, redis_url)


def _send(redis_url: str, job_id: str) -> None:
    from celery import Celery  # noqa: PLC0415 - see above
    from kombu.exceptions import OperationalError  # noqa: PLC0415

    with Celery(APP_NAME, broker=redis_url, set_as_current=False) as app:
        app.conf.broker_transport_options = {
            "socket_timeout": BROKER_SOCKET_SECONDS,
            "socket_connect_timeout": BROKER_CONNECT_SECONDS,
        }
        try:
            app.send_task(REFRESH_TASK, args=[job_id], queue=APP_NAME, ignore_result=True, retry=False)
        except OperationalError:
            return  # the lock it holds ends in a minute, and the next who asks sends another
