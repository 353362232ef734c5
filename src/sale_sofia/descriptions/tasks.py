"""The Celery task of enrichment, in a queue of its own: a slow model never takes a crawl's slot."""

import asyncio
from dataclasses import asdict
from typing import Any

from celery import shared_task

from sale_sofia.crawl.runners.lane import database, redis_url, settings
from sale_sofia.descriptions.enrichment import Summary, ask_all, read_all


@shared_task(
    name="sale_sofia.descriptions.tasks.enrich_descriptions",
    ignore_result=True,
    # It takes longer than a message is waited for; one that is lost is replaced by the next look.
    acks_late=False,
    reject_on_worker_lost=False,
)
def enrich_descriptions() -> dict[str, Any]:
    """Read every description that is new or changed, then ask the model about what is left open."""
    summary = Summary()
    read_all(database(), summary)
    asyncio.run(ask_all(settings(), database(), summary, redis_url()))
    return asdict(summary)
