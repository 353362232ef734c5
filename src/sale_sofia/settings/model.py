"""Every limit and address of the system, in one typed object read from environment variables."""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core.core_schema import ValidationInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from sale_sofia.advice.settings import InsightSettings
from sale_sofia.alerts.settings import AlertSettings
from sale_sofia.buyer.settings import SharingSettings
from sale_sofia.descriptions.settings import DescriptionSettings
from sale_sofia.flats.settings import PhotoSettings, PropertySettings
from sale_sofia.history.settings import DriftSettings, HistorySettings
from sale_sofia.operations.settings import BackupSettings, DashboardSettings
from sale_sofia.proxies.settings import BrowserSettings, ProxySettings
from sale_sofia.settings.types import (
    DATABASE_ALLOWED,
    DEFAULT_DOMAIN,
    FOLDER_ALLOWED,
    RATES_ALLOWED,
    REDIS_ALLOWED,
    DatabaseUrl,
    DomainRates,
    Folder,
    RedisUrl,
    decimal,
    described,
    from_any_folder,
    notes,
    password_file,
    password_in,
    switch,
    whole,
    wrong_value,
)
from sale_sofia.storage.settings import PostgresSettings
from sale_sofia.telemetry.settings import LogSettings, MonitoringSettings

MIN_PYTHON: Final = (3, 11)
TIME_ZONE: Final = "Europe/Sofia"
DATABASE_FILE: Final = "sale_sofia.db"
DOCUMENTED_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "parallel_scraping": ("PARALLEL_SCRAPING_ENABLED",),
    "redis_url": ("REDIS_HOST", "REDIS_PORT", "REDIS_DB"),
}
"""Other variables that set a setting while its own is unset; only if the first of them is set."""
_REDIS_PARTS: Final = {"REDIS_PORT": "6379", "REDIS_DB": "0"}
MODE_SWITCHES: Final = frozenset({"redis_circuit_breaker_enabled", "redis_rate_limiter_enabled"})
"""Settings that follow the mode while unset."""


class SettingsError(ValueError):
    """The environment holds wrong settings: one line for each; nothing may start with them."""


class Settings(
    DashboardSettings,
    BackupSettings,
    AlertSettings,
    SharingSettings,
    InsightSettings,
    ProxySettings,
    BrowserSettings,
    DriftSettings,
    DescriptionSettings,
    PropertySettings,
    PhotoSettings,
    HistorySettings,
    MonitoringSettings,
    LogSettings,
    PostgresSettings,
    BaseSettings,
):
    """All settings, valid and unchangeable. A field's environment variable is its name in capitals.

    An empty variable counts as unset; no file is read. The parts of the slices are never instantiated
    alone: pydantic builds one validator, for this class, at its first use (`defer_build`).
    """

    model_config = SettingsConfigDict(frozen=True, env_ignore_empty=True, hide_input_in_errors=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read arguments and the environment; looking for files would take as long again."""
        del settings_cls, dotenv_settings, file_secret_settings
        return init_settings, env_settings

    parallel_scraping: bool = switch(default=False, sentence="Run on Celery workers instead of this process.")
    one_by_one: bool = switch(
        default=False, sentence="In one process: crawl one portal after the other instead of all at once."
    )
    redis_circuit_breaker_enabled: bool | None = switch(
        default=None,
        sentence="Share the circuit breakers through Redis; unset: on under Celery, off in local mode.",
    )
    redis_rate_limiter_enabled: bool | None = switch(
        default=None,
        sentence="Share the rate limits through Redis; unset: on under Celery, off in local mode.",
    )

    worker_processes: int = whole(8, 1, 256, "processes", "Processes of one Celery worker.")
    scraping_chunk_size: int = whole(25, 1, 1000, "adverts", "Adverts in one batch of work.")
    scraping_soft_time_limit: int = whole(
        600, 1, 86_399, "seconds", "After this long a batch is asked to stop and hand back what is left."
    )
    scraping_hard_time_limit: int = whole(
        720, 2, 86_400, "seconds", "After this long a batch is killed; more than the soft limit."
    )
    checkpoint_batch_size: int = whole(10, 1, 1000, "adverts", "Adverts written in one transaction.")
    checkpoint_seconds: float = decimal(
        0.02, 0, 10, "seconds", "How long a read page waits for others to be written together."
    )

    retry_max_attempts: int = whole(5, 1, 100, "attempts", "Tries of one URL before it counts as failed.")
    retry_base_delay: float = decimal(
        2.0, 0.01, 3600, "seconds", "Wait before the second try; doubles with every further one."
    )
    retry_max_delay: float = decimal(
        60.0, 0.01, 86_400, "seconds", "Longest wait between two tries; not below the base delay."
    )
    retry_jitter_factor: float = decimal(
        0.5, 0, 1, "share", "Share of a wait that chance may take away; 1 is full jitter."
    )

    task_timeout: float = decimal(
        270, 1, 86_400, "seconds", "Longest time for one page as a whole, waiting for its turn included."
    )
    browser_timeout: float = decimal(
        120, 1, 3600, "seconds", "Longest time for a page in the browser; within the time of the page."
    )
    http_timeout: float = decimal(
        30, 0.1, 600, "seconds", "Longest time for one HTTP request; within the time of the page."
    )

    circuit_breaker_fail_max: int = whole(
        5, 1, 1000, "failures", "Failures in a row that open a domain's circuit."
    )
    circuit_breaker_reset_timeout: float = decimal(
        60.0, 0.1, 86_400, "seconds", "Time a circuit stays open before it is tested."
    )
    circuit_breaker_half_open_calls: int = whole(
        2, 1, 100, "requests", "Test requests at once while a circuit is half open."
    )
    domain_rate_limits: DomainRates = Field(
        default_factory=dict,
        description="Most requests to one domain, over all workers; `default` is for domains not named.",
        json_schema_extra=notes(RATES_ALLOWED, "requests per minute"),
    )

    data_dir: Folder = described(
        Path("data"), FOLDER_ALLOWED, "folder", "Folder of everything the system keeps."
    )
    sites_dir: Folder | None = described(
        None, FOLDER_ALLOWED, "folder", "Folder with site files of your own, beside the installed ones."
    )
    database_url: DatabaseUrl = Field(
        default_factory=lambda data: SecretStr(f"sqlite:///{data['data_dir'] / DATABASE_FILE}"),
        description="The database; unset: a SQLite file in DATA_DIR.",
        json_schema_extra=notes(DATABASE_ALLOWED, "URL"),
    )
    redis_url: RedisUrl = described(
        None,
        REDIS_ALLOWED,
        "URL",
        "Broker and shared state, results in the database after it; "
        "unset: a server of our own, started when one is needed.",
    )
    flower_password_file: Path | None = password_file("FLOWER_PASSWORD")
    flower_password: SecretStr | None = Field(
        default=None,
        validate_default=True,
        min_length=8,
        description="Password of the task viewer; without one Flower does not start.",
        json_schema_extra=notes("8 characters or more, without a comma", "password"),
    )
    flower_port: int = whole(5555, 1, 65_535, "port", "Port of Flower, the task viewer, on this machine.")
    sqlite_timeout: float = decimal(
        30.0, 0, 600, "seconds", "Longest wait inside SQLite for another writer to finish."
    )
    sqlite_busy_retries: int = whole(5, 0, 100, "retries", "Further tries when SQLite is still busy.")
    min_free_disk_mb: int = whole(500, 0, 1_000_000, "MB", "Free disk space below which the doctor warns.")

    max_page_bytes: int = whole(
        8_000_000, 1000, 1_000_000_000, "bytes", "Largest page that is read; a larger one is refused."
    )
    max_page_tags: int = whole(
        20_000, 10, 10_000_000, "tags", "Most tags in a page; the parser's time grows with their square."
    )
    max_page_options: int = whole(4000, 1, 1_000_000, "options", "Most <option> tags in a page.")
    page_seconds: float = decimal(
        5, 0.1, 600, "seconds", "Longest computing on one page; the process that reads it is ended."
    )
    page_memory_mb: int = whole(
        500, 50, 100_000, "MB", "Most memory to read one page in; the process that reads it is ended."
    )

    robots_obeyed: bool = switch(
        default=True, sentence="Stay away from what a portal's robots.txt disallows."
    )
    robots_cache_seconds: float = decimal(
        21_600, 1, 604_800, "seconds", "How long a robots.txt is remembered."
    )
    robots_error_cache_seconds: float = decimal(
        600, 1, 86_400, "seconds", "How long a robots.txt that cannot be had closes its portal."
    )
    fetch_max_redirects: int = whole(5, 0, 20, "redirects", "Redirects followed for one page.")
    fetch_dns_cache_seconds: float = decimal(
        60, 0, 86_400, "seconds", "How long the addresses of a host are remembered."
    )
    fetch_profile: str = described(
        "chrome",
        "a profile of curl_cffi, such as chrome or firefox",
        "profile",
        "The browser whose manner of speaking the client takes on.",
    )
    lease_seconds: float = decimal(
        30, 5, 3600, "seconds", "How long a claimed page stays claimed when its worker says nothing."
    )
    longest_polite_wait: float = decimal(
        30,
        0.1,
        600,
        "seconds",
        "Longest wait for a turn with a page in hand; beyond it the page is put back.",
    )
    archive_enabled: bool = switch(default=True, sentence="Keep the bytes of good pages, for `reparse`.")
    archive_max_mb: int = whole(2000, 1, 10_000_000, "MB", "Size of the page archive after `prune`.")

    @field_validator("sites_dir")
    @classmethod
    def _refuse_missing_folder(cls, folder: Path | None) -> Path | None:
        # Ignored, it would turn a crawl of simulated portals into one of the real ones.
        if folder is not None and not folder.is_dir():
            raise ValueError("there is no such folder, and without it the real portals would be asked")
        return folder

    @field_validator("scraping_hard_time_limit")
    @classmethod
    def _above_soft_limit(cls, hard: int, info: ValidationInfo) -> int:
        soft = info.data.get("scraping_soft_time_limit", 0)
        if hard <= soft:
            raise ValueError(f"more than SCRAPING_SOFT_TIME_LIMIT, which is {soft}")
        return hard

    @field_validator("retry_max_delay")
    @classmethod
    def _not_below_base_delay(cls, most: float, info: ValidationInfo) -> float:
        base = info.data.get("retry_base_delay", 0.0)
        if most < base:
            raise ValueError(f"not less than RETRY_BASE_DELAY, which is {base}")
        return most

    @field_validator("flower_password", mode="before")
    @classmethod
    def _flower_password_from_file(cls, password: object, info: ValidationInfo) -> object:
        path: Path | None = info.data.get("flower_password_file")
        return password if path is None else password_in(path)

    @field_validator("flower_password")
    @classmethod
    def _without_comma(cls, password: SecretStr | None) -> SecretStr | None:
        if password is not None and "," in password.get_secret_value():  # Flower takes it for two passwords
            raise ValueError("8 characters or more, without a comma")
        return password

    @property
    def circuit_breaker_in_redis(self) -> bool:
        """Whether breakers are shared through Redis: as set, else by the mode."""
        return bool(self.resolved("redis_circuit_breaker_enabled"))

    @property
    def rate_limiter_in_redis(self) -> bool:
        """Whether rate limits are shared through Redis: as set, else by the mode."""
        return bool(self.resolved("redis_rate_limiter_enabled"))

    def resolved(self, name: str) -> object:
        """Return the effective value of a field, also of one that follows the mode."""
        value: object = getattr(self, name)
        return self.parallel_scraping if value is None and name in MODE_SWITCHES else value

    def rate_limit(self, domain: str, site_rate: float | None = None) -> float:
        """Return requests per minute: the domain's own entry, else its site's, else the default."""
        fallback = self.domain_rate_limits[DEFAULT_DOMAIN] if site_rate is None else site_rate
        return self.domain_rate_limits.get(domain, fallback)


def load_settings() -> Settings:
    """Load the settings from the environment as it is now.

    Raises:
        SettingsError: one line for every wrong variable; no line holds a secret.
    """
    documented = _documented_values(os.environ)
    try:
        return Settings(**documented)
    except ValidationError as error:
        # One error per variable is enough; a default that could not be computed follows from another error.
        wrong = [details for details in error.errors() if details["type"] != "default_factory_not_called"]
        first = {str(details["loc"][0]): details for details in reversed(wrong)}
        fields = {name: field for name, field in Settings.model_fields.items() if name in first}
        names = {name: DOCUMENTED_NAMES[name][0] if name in documented else name.upper() for name in fields}
        lines = [f"{names[name]}: {wrong_value(field, first[name])}" for name, field in fields.items()]
        raise SettingsError("\n".join(lines)) from None


def _documented_values(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the variables in `DOCUMENTED_NAMES`; a setting's own name wins."""
    values: dict[str, Any] = {
        setting: environ[name]
        for setting, (name, *_) in DOCUMENTED_NAMES.items()
        if environ.get(name) and not environ.get(setting.upper())
    }
    if host := values.get("redis_url"):
        port, number = (environ.get(name) or default for name, default in _REDIS_PARTS.items())
        if wrong := [part for part in (port, number) if not part.isdecimal()]:
            raise SettingsError(f"REDIS_PORT, REDIS_DB: allowed are whole numbers, not {wrong[0]!r:.40}")
        values["redis_url"] = f"redis://{host}:{port}/{number}"
    return values


@cache
def get_settings() -> Settings:
    """Return the settings of the first call; `get_settings.cache_clear()` forgets them."""
    return load_settings()


# The settings as environment variables, so that our child processes have the same, in any folder.


def environment_of(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` with every setting as in `settings`, secrets included."""
    names = {name.upper() for name in Settings.model_fields}
    others = {name: value for name, value in environ.items() if name.upper() not in names}
    ours = {name.upper(): _as_text(value) for name, value in settings if value is not None}
    return others | ours | {"DATABASE_URL": from_any_folder(ours["DATABASE_URL"])}


def _as_text(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case SecretStr():
            return value.get_secret_value()
        case Mapping():
            return json.dumps(dict(value))
        case tuple():
            return ",".join(map(str, value))
        case Path():
            return str(value.absolute())
        case _:
            return str(value)
