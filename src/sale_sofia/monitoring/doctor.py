"""Is this machine ready to run? Every check says what it found and, where it failed, what to do about it."""

import importlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sale_sofia.config.settings import MIN_PYTHON, TIME_ZONE, Settings, SettingsError, load_settings
from sale_sofia.fetching.chromium import BrowserMissing, find_browser
from sale_sofia.monitoring.doctor_database import look_at_database
from sale_sofia.services.errors import NoRedisServer, RedisUnreachable
from sale_sofia.services.redis_binary import find_server_binary
from sale_sofia.services.redis_client import check_reachable

DISTRIBUTION: Final = "sale-sofia"
_BYTES_PER_MB: Final = 1_000_000
_REINSTALL: Final = "Install the package again, with its dependencies."


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict of one check; `advice` is there when, and only when, it failed."""

    name: str
    ok: bool
    detail: str
    advice: str | None = None


def run_checks(settings: Settings | None = None) -> list[Check]:
    """Every check's verdict. Changes nothing on the machine, and no fault it looks for makes it raise.

    Without `settings` they are read from the environment. Wrong ones are a failed check, and the checks
    that need them are left out.
    """
    verdicts = [verdict for check in MACHINE_CHECKS for verdict in check()]
    try:
        settings = settings or load_settings()
    except SettingsError as error:
        return [*verdicts, Check("settings", ok=False, detail=str(error), advice="Correct these variables.")]
    return [*verdicts, *(check(settings) for check in SETTINGS_CHECKS)]


def python_version() -> Iterator[Check]:
    """Whether the interpreter is new enough."""
    least = ".".join(map(str, MIN_PYTHON))
    ok = sys.version_info >= MIN_PYTHON
    yield _check("python", sys.version.split()[0], None if ok else f"Install Python {least} or newer.")


def package_version() -> Iterator[Check]:
    """Whether the package is installed, and which version."""
    try:
        yield _check(DISTRIBUTION, metadata.version(DISTRIBUTION))
    except metadata.PackageNotFoundError:
        yield _check(DISTRIBUTION, "not installed", _REINSTALL)


def dependencies() -> Iterator[Check]:
    """One verdict for every distribution the installed package declares, extras left out."""
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return
    owners = metadata.packages_distributions()
    for requirement in declared:
        if "extra ==" not in requirement:
            yield _dependency(re.split(r"[^\w.-]", requirement, maxsplit=1)[0], owners)


def time_zone() -> Iterator[Check]:
    """Whether the time zone data knows the portals' zone."""
    try:
        yield _check("time zone", str(ZoneInfo(TIME_ZONE)))
    except ZoneInfoNotFoundError:
        yield _check("time zone", f"no data for {TIME_ZONE}", "Install the tzdata package.")


def settings_valid(_settings: Settings) -> Check:
    """Settings that exist are valid; wrong ones never get this far."""
    return _check("settings", "valid")


def data_dir_writable(settings: Settings) -> Check:
    """Whether the data folder takes a file, or could be made; nothing is left behind and nothing made."""
    folder = settings.data_dir
    try:
        nearest = _nearest_existing(folder)
        _write_and_forget(nearest)
    except OSError as error:
        return _check(
            "data folder",
            f"{folder}: {error.strerror}",
            "Make DATA_DIR a folder that this user can write to.",
        )
    return _check("data folder", f"{folder} is writable" if nearest == folder else f"{folder} will be made")


def free_disk(settings: Settings) -> Check:
    """Whether the disk of the data folder has at least MIN_FREE_DISK_MB free."""
    try:
        free = shutil.disk_usage(_nearest_existing(settings.data_dir)).free // _BYTES_PER_MB
    except OSError as error:
        return _check("free disk", f"{settings.data_dir}: {error.strerror}", "Check DATA_DIR.")
    least = settings.min_free_disk_mb
    advice = None if free >= least else f"Free some space: at least {least} MB (MIN_FREE_DISK_MB) are wanted."
    return _check("free disk", f"{free} MB", advice)


def database(settings: Settings) -> Check:
    """Whether the database can be used, or could be made."""
    return _check("database", *look_at_database(settings))


def redis_server(settings: Settings) -> Check:
    """Whether the server of REDIS_URL can be used or, without one, our own could be started; none is."""
    try:
        if settings.redis_url is not None:
            return _check("redis server", f"{check_reachable(settings.redis_url.get_secret_value())} answers")
        return _check("redis server", f"our own, {find_server_binary()}")
    except NoRedisServer as error:
        wanted = settings.circuit_breaker_in_redis or settings.rate_limiter_in_redis
        needed = wanted or settings.parallel_scraping
        detail = str(error) if needed else "none, and none is needed with these settings"
        return _check("redis server", detail, "Install one, or set REDIS_URL." if needed else None)
    except RedisUnreachable as error:
        return _check(
            "redis server", str(error), "Correct REDIS_URL, or unset it to use a server of our own."
        )


def browser(settings: Settings) -> Check:
    """Whether the browser lane, if it is switched on, has a browser; none is started."""
    if not settings.browser_enabled:
        return _check("browser", "off (BROWSER_ENABLED)")
    try:
        found = find_browser(settings.browser_path)
    except BrowserMissing as missing:
        return _check("browser", str(missing), "Or set BROWSER_ENABLED=false.")
    unsafe = ", without its sandbox, as this is root" if os.geteuid() == 0 else ""
    return _check("browser", f"{found}{unsafe}")


# A new check is one line here: a function that needs no settings and yields verdicts, …
MACHINE_CHECKS: Final[tuple[Callable[[], Iterator[Check]], ...]] = (
    python_version,
    package_version,
    dependencies,
    time_zone,
)
# … or one that looks at what the settings name and returns its verdict.
SETTINGS_CHECKS: Final[tuple[Callable[[Settings], Check], ...]] = (
    settings_valid,
    data_dir_writable,
    free_disk,
    database,
    redis_server,
    browser,
)


def _check(name: str, detail: str, advice: str | None = None) -> Check:
    return Check(name, ok=advice is None, detail=detail, advice=advice)


def _dependency(distribution: str, owners: Mapping[str, list[str]]) -> Check:
    try:
        for module in _modules(distribution, owners):
            importlib.import_module(module)
        return _check(distribution, metadata.version(distribution))
    except Exception as error:  # noqa: BLE001 - a broken package may raise anything when imported
        return _check(distribution, f"{type(error).__name__}: {error}", _REINSTALL)


def _modules(distribution: str, owners: Mapping[str, list[str]]) -> list[str]:
    wanted = _normalised(distribution)
    public = [name for name in owners if name.isidentifier() and not name.startswith("_")]
    return [name for name in public if wanted in map(_normalised, owners[name])]


def _normalised(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _write_and_forget(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"\0")
