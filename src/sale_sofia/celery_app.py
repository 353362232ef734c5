"""The Celery app. Import reads and connects nothing: settings are loaded when first needed."""

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from celery import Celery, signals
from celery.loaders.app import AppLoader
from celery.schedules import crontab
from kombu import Queue

from sale_sofia.alerts.settings import BEAT_SECONDS
from sale_sofia.crawl import settings as parallel
from sale_sofia.crawl.runners.dispatching import result_url
from sale_sofia.crawl.runners.lane import shut_down
from sale_sofia.crawl.runners.schedule import SCHEDULE_LOOK_SECONDS, load_schedule
from sale_sofia.descriptions.settings import ENRICH_BEAT_SECONDS, ENRICH_GRACE_SECONDS, LLM_QUEUE
from sale_sofia.operations.services.processes import tell_alive, tell_ready
from sale_sofia.operations.services.redis import known_redis_url
from sale_sofia.proxies.refresh import REFRESH_TASK
from sale_sofia.proxies.settings import REFRESH_HOURS
from sale_sofia.settings.files import keep_others_out
from sale_sofia.settings.model import TIME_ZONE, Settings, load_settings
from sale_sofia.telemetry.logs import log_as_service

_CRAWL = "sale_sofia.crawl.runners.tasks"
_ENRICH = "sale_sofia.descriptions.tasks"
_ALERTS = "sale_sofia.alerts.tasks"
_TASKS = (_CRAWL, _ENRICH, "sale_sofia.proxies.tasks", _ALERTS)


def configuration() -> dict[str, Any]:
    """Everything that differs from Celery's defaults; `crawl.settings` gives the reasons."""
    settings = load_settings()
    url = known_redis_url(settings)
    transport = {
        "visibility_timeout": parallel.VISIBILITY_SECONDS,
        "unacked_restore_interval": parallel.UNACKED_RESTORE_SECONDS,
        "unacked_restore_throttle": 1,
        "socket_timeout": parallel.BROKER_SOCKET_SECONDS,
        "socket_connect_timeout": parallel.BROKER_CONNECT_SECONDS,
        "socket_keepalive": True,
        "health_check_interval": parallel.BROKER_SOCKET_SECONDS,
    }
    longest = round(settings.llm_run_seconds + ENRICH_GRACE_SECONDS)
    return {
        "broker_url": url,
        "result_backend": result_url(url),
        "broker_transport_options": transport,
        "result_backend_transport_options": transport,
        "broker_connection_retry_on_startup": True,
        "accept_content": ["json"],
        "task_serializer": "json",
        "result_serializer": "json",
        "timezone": TIME_ZONE,
        "task_default_queue": parallel.APP_NAME,
        "task_queues": (Queue(parallel.APP_NAME), Queue(LLM_QUEUE)),
        "task_routes": {f"{_ENRICH}.*": {"queue": LLM_QUEUE}, "sale_sofia.*": {"queue": parallel.APP_NAME}},
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_time_limit": parallel.GENERAL_TIME_LIMIT,
        "task_soft_time_limit": parallel.GENERAL_SOFT_TIME_LIMIT,
        "task_annotations": {
            f"{_CRAWL}.scrape_chunk": {
                "soft_time_limit": settings.scraping_soft_time_limit,
                "time_limit": settings.scraping_hard_time_limit,
            },
            f"{_ENRICH}.enrich_descriptions": {
                "soft_time_limit": longest,
                "time_limit": longest + round(ENRICH_GRACE_SECONDS),
            },
        },
        "result_expires": parallel.RESULT_EXPIRES_SECONDS,
        "worker_concurrency": settings.worker_processes,
        "worker_prefetch_multiplier": 1,
        "worker_max_tasks_per_child": parallel.TASKS_PER_CHILD,
        "worker_cancel_long_running_tasks_on_connection_loss": True,
        "worker_soft_shutdown_timeout": parallel.SOFT_SHUTDOWN_SECONDS,
        "worker_enable_soft_shutdown_on_idle": True,
        "worker_hijack_root_logger": False,
        "beat_schedule": _beat_schedule(settings),
        "beat_scheduler": "sale_sofia.celery_program:BeatClock",
    }


def _beat_schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    """The periodic tasks; a message that no worker took in time expires, as the next replaces it."""

    def entry(task: str, schedule: float | crontab, expires: float) -> dict[str, Any]:
        return {"task": task, "schedule": schedule, "options": {"expires": expires}}

    load_schedule(settings.data_dir)  # a wrong schedule fails at the start, not at its first run
    hours = crontab(minute=0, hour=f"*/{REFRESH_HOURS}")
    enrich = entry(f"{_ENRICH}.enrich_descriptions", ENRICH_BEAT_SECONDS, ENRICH_BEAT_SECONDS)
    return {
        "reconcile": entry(f"{_CRAWL}.reconcile", parallel.RECONCILE_SECONDS, 2 * parallel.RECONCILE_SECONDS),
        "follow": entry(f"{_CRAWL}.follow_crawls", parallel.FOLLOW_SECONDS, parallel.FOLLOW_SECONDS),
        "refresh-proxies-every-6h": entry(REFRESH_TASK, hours, REFRESH_HOURS * 3600),
        "tell": entry(f"{_ALERTS}.run_alerts", BEAT_SECONDS, BEAT_SECONDS),
        **({"enrich": enrich} if settings.llm_enabled else {}),
        "scheduled-crawls": entry(f"{_CRAWL}.begin_scheduled", SCHEDULE_LOOK_SECONDS, SCHEDULE_LOOK_SECONDS),
    }


class _InstalledLoader(AppLoader):
    """Imports installed modules only; Celery's own loader looks in the working directory first."""

    def import_from_cwd(
        self, module: str, imp: Callable[..., ModuleType] | None = None, package: str | None = None
    ) -> ModuleType:
        """Import the module without looking in the working directory."""
        return (imp or import_module)(module, package=package)


# No fixups: Django's imports from the working directory too.
app = Celery(parallel.APP_NAME, include=_TASKS, loader=_InstalledLoader, fixups=[])
app.add_defaults(configuration)
app.set_default()  # for every thread: tasks sent from others would go to Celery's default app


@signals.worker_init.connect
@signals.beat_init.connect
def _keep_others_out(**_: object) -> None:
    """Restrict new files to their owner, also when Celery's own command started this program."""
    keep_others_out()


@signals.setup_logging.connect
def _configure_logging(**_: object) -> None:
    """Log as all our programs do instead of Celery's way; LOG_LEVEL decides, not `--loglevel`."""
    log_as_service(load_settings())


@signals.worker_init.connect
def _name_connections(sender: str, **_: object) -> None:
    """Give the worker's connections to Redis its name, so that CLIENT LIST shows the workers."""
    name = {"client_name": f"{parallel.WORKER_CLIENT}{sender}"}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **name}


@signals.worker_init.connect
def _check_routes(**_: object) -> None:
    """Refuse to start a worker if a task of ours is routed to a queue that nobody reads."""
    app.loader.import_default_modules()
    for name in app.tasks:
        queue = app.amqp.router.route({}, name)["queue"].name
        if name.startswith("sale_sofia.") and queue not in {parallel.APP_NAME, LLM_QUEUE}:
            raise SystemExit(f"task {name} goes to the queue {queue}, which nobody reads")


@signals.worker_ready.connect
@signals.beat_init.connect
def _report_ready(**_: object) -> None:
    """Tell the parent process that this program is ready."""
    tell_ready()


@signals.heartbeat_sent.connect
def _report_alive(**_: object) -> None:
    """Give a sign of life: the worker's main loop runs."""
    tell_alive()


@signals.worker_shutting_down.connect
def _shut_down_lanes(**_: object) -> None:
    """End the lanes of a worker that stops, without waiting for their shifts; their pages are handed back."""
    shut_down()
