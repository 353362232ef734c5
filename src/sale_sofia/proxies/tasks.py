"""The Celery task of the proxies: it may be lost or repeated; one refresh runs at a time."""

import asyncio
from dataclasses import asdict
from typing import Any

from celery import shared_task

from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.proxies.control import run_job
from sale_sofia.proxies.refresh import REFRESH_TASK, check_job_id, new_job_id
from sale_sofia.settings.model import load_settings


@shared_task(name=REFRESH_TASK, acks_late=False)  # it takes longer than a message may stay unanswered
def refresh_proxies(job_id: str | None = None) -> dict[str, Any]:
    """Check all proxies; without a job, as the clock asks for it, one is made."""
    wanted = new_job_id() if job_id is None else check_job_id(job_id)
    settings = load_settings()
    progress = asyncio.run(run_job(settings, known_redis_url(settings), wanted))
    return asdict(progress)
