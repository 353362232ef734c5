"""Celery tasks of the proxies: each may be lost or repeated; one refresh runs at a time."""

import asyncio
from dataclasses import asdict
from typing import Any

from celery import shared_task

import sale_sofia.celery_app  # noqa: F401 - a program that imports these alone sends to our Redis too
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.proxies.refresh import REFRESH_TASK, check_job_id, check_part, deal, finish, new_job_id
from sale_sofia.proxies.settings import REFRESH_SECONDS
from sale_sofia.settings.model import load_settings


@shared_task(name=REFRESH_TASK, acks_late=False)  # lists may take longer than a message may stay unanswered
def refresh_proxies(job_id: str | None = None) -> dict[str, Any]:
    """Dispatch the check of all proxies; without a job id, as beat sends it, one is made."""
    job_id = new_job_id() if job_id is None else check_job_id(job_id)
    settings = load_settings()
    dealt = asyncio.run(deal(settings, known_redis_url(settings), job_id))
    for number in range(1, dealt.total_chunks + 1):
        check_proxies.apply_async((job_id, number), ignore_result=True, expires=REFRESH_SECONDS)
    if dealt.status == "CHECKING" and not dealt.total_chunks:
        finish_refresh.apply_async((job_id,), ignore_result=True)
    return asdict(dealt)


@shared_task(name="sale_sofia.proxies.tasks.check_proxies")
def check_proxies(job_id: str, number: int) -> dict[str, Any]:
    """Check one part of a refresh; the last one ends it."""
    job_id, settings = check_job_id(job_id), load_settings()
    if type(number) is not int:
        raise ValueError(f"number: a whole number is wanted, not {number!r:.40}")
    sweep, was_last = asyncio.run(check_part(settings, known_redis_url(settings), job_id, number))
    if was_last:
        finish_refresh.apply_async((job_id,), ignore_result=True)
    return {"job_id": job_id, "number": number, "checked": sweep.checked, "usable": len(sweep.usable)}


@shared_task(name="sale_sofia.proxies.tasks.finish_refresh")
def finish_refresh(job_id: str) -> dict[str, Any] | None:
    """End a refresh whose parts are all checked; return its numbers."""
    settings = load_settings()
    progress = asyncio.run(finish(settings, known_redis_url(settings), check_job_id(job_id)))
    return asdict(progress) if progress else None
