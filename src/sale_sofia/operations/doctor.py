"""Checks whether this machine and its database are ready, changing neither.

Each result says what was found and, if it failed, what to do.
"""

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sale_sofia.crawl.fetch.chromium import BrowserMissing, find_browser
from sale_sofia.history.runs.incidents import future_sentence
from sale_sofia.operations import settings as fixed
from sale_sofia.operations.services.processes import find_server_binary
from sale_sofia.operations.settings import DATABASE_SECONDS, SHOWN_FAULTS
from sale_sofia.settings.errors import NoRedisServer, RedisUnreachable
from sale_sofia.settings.model import MIN_PYTHON, TIME_ZONE, Settings, SettingsError, load_settings
from sale_sofia.storage.database import Database, is_on_server
from sale_sofia.storage.errors import CheckStopped, DamagedDatabase, DatabaseError
from sale_sofia.storage.migrate import HEAD, current_revision
from sale_sofia.storage.sqlite import network_share

ElapsedCallback = Callable[[float, float], None]
"""Called with the seconds a long check has taken, and those it may take."""
DatabaseFinding = tuple[str, str | None]
"""What was found, and the advice if it is wrong."""
_RESTORE: Final = (
    "Stop what runs and restore a backup: `sale-sofia backup list`, `sale-sofia restore FILE --replace`."
)


def look_at_database(
    settings: Settings, on_progress: ElapsedCallback = lambda _seconds, _most: None
) -> list[DatabaseFinding]:
    """Check the whole database; its state, or its faults each with advice."""
    try:
        with _open(settings) as database:
            name = database.name
            if is_on_server(settings.database_url.get_secret_value()):
                with database.read() as connection:
                    version = str(connection.exec_driver_sql("SHOW server_version").scalar_one()).split()[0]
                name = f"{name}, PostgreSQL {version}"
            elif kind := network_share(Path(name)):
                advice = "Use a disk of this machine, or PostgreSQL."
                return [(f"{name} is on a network share ({kind})", advice)]
            revision = current_revision(database)
            if revision is None:
                return [(f"{name}: no tables yet, they are made when first needed", None)]
            state = "ready" if revision == HEAD else f"version {revision}, upgraded when next used"
            return _check_contents(database, f"{name}: {state}", on_progress)
    except DamagedDatabase as error:
        return [(str(error), _RESTORE)]
    except DatabaseError as error:
        return [(str(error), "Correct DATABASE_URL, or unset it to use a file in DATA_DIR.")]


def _check_contents(database: Database, state: str, on_progress: ElapsedCallback) -> list[DatabaseFinding]:
    """Check every page, every index and every foreign key, for at most DATABASE_SECONDS."""
    begun = time.monotonic()

    def time_is_over() -> bool:
        seconds = time.monotonic() - begun
        on_progress(min(seconds, DATABASE_SECONDS), DATABASE_SECONDS)
        return seconds > DATABASE_SECONDS

    try:
        faults, checked = database.faults(time_is_over), "sound"
    except CheckStopped as stopped:
        faults = list(stopped.found)
        checked = f"nothing wrong in {DATABASE_SECONDS:g} s, not all seen: `sale-sofia db check` sees all"
    if not faults:
        return [(f"{state}, {checked}", None)]
    return [(f"{database.name}: {fault}", _RESTORE) for fault in faults[:SHOWN_FAULTS]]


def database_clock_offset(settings: Settings) -> float | None:
    """By how many seconds a server's clock is ahead of ours; None for a file or a silent server."""
    if not is_on_server(settings.database_url.get_secret_value()):
        return None
    # A database that cannot be read is reported by the check of the database itself.
    with suppress(DatabaseError), _open(settings) as database, database.read() as connection:
        before = time.time()
        theirs = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one()
        return float(theirs) - (before + time.time()) / 2
    return None


def future_of_database(settings: Settings) -> str | None:
    """A sentence about rows dated in the future; None if there are none or they cannot be read."""
    with suppress(DatabaseError), _open(settings) as database:
        if current_revision(database) == HEAD:
            with database.read() as connection:
                return future_sentence(connection, now=time.time())
    return None


@contextmanager
def _open(settings: Settings) -> Iterator[Database]:
    database = Database(
        settings.database_url.get_secret_value(),
        busy_timeout_seconds=settings.sqlite_timeout,
        busy_retries=0,
        server=settings.server_limits,
    )
    try:
        yield database
    finally:
        database.dispose()


_VERSION = re.compile(r"(?<!\d)\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; it has `advice` if and only if it failed."""

    name: str
    ok: bool
    detail: str
    advice: str | None = None


def verdict(name: str, detail: str, advice: str | None = None) -> CheckResult:
    """The result of a check, which failed if there is advice."""
    return CheckResult(name, ok=advice is None, detail=detail, advice=advice)


def program_version(program: Path) -> str | None:
    """The version that a program reports; None if it reports none."""
    try:
        result = subprocess.run(  # noqa: S603 - found in PATH or named by the settings
            [program, "--version"], capture_output=True, text=True, timeout=fixed.PROGRAM_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    match = _VERSION.search(result.stdout)
    return match.group() if match else None


_FUTURE: Final = (
    "Was the clock set back, or ahead before? Set it right: until it has caught up, no sweep is complete."
)


def clock_check(offsets: Mapping[str, float], future: str | None = None) -> CheckResult:
    """The result for the clock: how many seconds each server is ahead, and a sentence on future rows."""
    if future is not None:
        return verdict("clock", future, _FUTURE)
    if not offsets:
        return verdict("clock", "no server to compare it with")
    detail = ", ".join(f"{name} {offset:+.3f} s" for name, offset in offsets.items())
    off = [name for name, offset in offsets.items() if abs(offset) > fixed.CLOCK_OFFSET_SECONDS]
    advice = f"More than {fixed.CLOCK_OFFSET_SECONDS:g} s from {' and '.join(off)}: run NTP on both machines."
    return verdict("clock", detail, advice if off else None)


DISTRIBUTION: Final = "sale-sofia"
_REINSTALL: Final = "Install the package again, with its dependencies."
_NAME: Final = re.compile(r"[\w.-]+")
_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)*")
_BOUND: Final = re.compile(r"(>=|<)\s*(\d+(?:\.\d+)*)")


def python_version() -> Iterator[CheckResult]:
    """Whether the interpreter is new enough."""
    least = ".".join(map(str, MIN_PYTHON))
    ok = sys.version_info >= MIN_PYTHON
    yield verdict("python", sys.version.split()[0], None if ok else f"Install Python {least} or newer.")


def sqlite_version() -> Iterator[CheckResult]:
    """The SQLite that came with the interpreter."""
    yield verdict("sqlite", sqlite3.sqlite_version)


def package_version() -> Iterator[CheckResult]:
    """Whether the package is installed, and which version."""
    try:
        yield verdict(DISTRIBUTION, metadata.version(DISTRIBUTION))
    except metadata.PackageNotFoundError:
        yield verdict(DISTRIBUTION, "not installed", _REINSTALL)


def dependencies() -> Iterator[CheckResult]:
    """A result for each distribution that the installed package declares, without extras."""
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return
    for requirement in declared:
        if "extra ==" in requirement:
            continue
        match = _NAME.match(requirement)
        name = match.group() if match else requirement
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield verdict(name, "not installed", _REINSTALL)
            continue
        bounds = requirement.partition(";")[0]
        if all(_fits(version, sign, bound) for sign, bound in _BOUND.findall(bounds)):
            yield verdict(name, version)
        else:
            yield verdict(name, f"{version}, where {bounds} is wanted", _REINSTALL)


def _fits(version: str, sign: str, bound: str) -> bool:
    first, limit = _numbers(version), _numbers(bound)
    return first >= limit if sign == ">=" else first < limit


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers a version begins with, as `9.1.2.post2` with 9, 1 and 2; `9.1.0` is the same as `9.1`."""
    match = _NUMBERS.match(version)
    numbers = [int(number) for number in match.group().split(".")] if match else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def run_checks(
    settings: Settings | None = None, on_progress: ElapsedCallback | None = None
) -> list[CheckResult]:
    """Run every check. Changes nothing on the machine, and no fault it looks for makes it raise.

    Without `settings` they are read from the environment. Wrong settings are a failed check, and the checks
    that need them are left out.
    """
    verdicts = [found for check in MACHINE_CHECKS for found in check()]
    try:
        settings = settings or load_settings()
    except SettingsError as error:
        return [*verdicts, verdict("settings", str(error), "Correct these variables.")]
    found = [found for check in SETTINGS_CHECKS for found in check(settings)]
    return [*verdicts, verdict("settings", "valid"), *found, *database(settings, on_progress)]


def time_zone() -> Iterator[CheckResult]:
    """Whether the time zone data knows the portals' zone."""
    try:
        yield verdict("time zone", str(ZoneInfo(TIME_ZONE)))
    except ZoneInfoNotFoundError:
        yield verdict("time zone", f"no data for {TIME_ZONE}", "Install the tzdata package.")


def data_dir_writable(settings: Settings) -> Iterator[CheckResult]:
    """Whether the data folder returns what was written, or could be made; leaves nothing behind."""
    folder = settings.data_dir
    try:
        nearest = _nearest_existing(folder)
        written = os.urandom(fixed.WRITE_TEST_BYTES)
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            if file.read() != written:
                raise OSError("what was written is read as something else")  # noqa: TRY301 - reported below
    except OSError as error:
        advice = "Make DATA_DIR a folder that this user can write to."
        yield verdict("data folder", f"{folder}: {error.strerror or error}", advice)
    else:
        found = f"{folder} is writable" if nearest == folder else f"{folder} will be made"
        yield verdict("data folder", found)


def free_disk(settings: Settings) -> Iterator[CheckResult]:
    """Whether the disk of the data folder has at least MIN_FREE_DISK_MB free."""
    least = settings.min_free_disk_mb
    try:
        free = shutil.disk_usage(_nearest_existing(settings.data_dir)).free // 1_000_000
    except OSError as error:
        yield verdict("free disk", f"{settings.data_dir}: {error.strerror}", "Check DATA_DIR.")
    else:
        advice = f"Free some space: at least {least} MB (MIN_FREE_DISK_MB) are wanted."
        yield verdict("free disk", f"{free} MB", None if free >= least else advice)


def database(settings: Settings, on_progress: ElapsedCallback | None = None) -> Iterator[CheckResult]:
    """Whether the database is sound and can be used, or could be made."""
    from sale_sofia.operations.doctor import look_at_database  # noqa: PLC0415 - it takes its time

    for found, advice in look_at_database(settings, on_progress or (lambda _seconds, _most: None)):
        yield verdict("database", found, advice)


def redis_server(settings: Settings) -> Iterator[CheckResult]:
    """The server of REDIS_URL, or our own if it runs; else whether our own could be started."""
    try:
        url = _running_redis(settings)
        if url is None:
            binary = find_server_binary()
            version = program_version(binary)
            yield verdict("redis server", f"our own, {binary.name}{f', {version}' if version else ''}")
            return
        from sale_sofia.operations.checks import look_at_redis  # noqa: PLC0415 - only where one is asked

        yield from look_at_redis(url, "" if settings.redis_url else "our own, ")
    except NoRedisServer as error:
        in_redis = settings.circuit_breaker_in_redis or settings.rate_limiter_in_redis
        if in_redis or settings.parallel_scraping:
            yield verdict("redis server", str(error), "Install one, or set REDIS_URL.")
        else:
            yield verdict("redis server", "none, and none is needed with these settings")
    except RedisUnreachable as error:
        yield verdict(
            "redis server", str(error), "Correct REDIS_URL, or unset it to use a server of our own."
        )


def clock(settings: Settings) -> Iterator[CheckResult]:
    """Whether our clock agrees with Redis and the database's server, and is not behind stored rows."""
    # Slow to import.
    from sale_sofia.operations.doctor import database_clock_offset, future_of_database  # noqa: PLC0415

    offsets: dict[str, float | None] = {}
    if url := _running_redis(settings):
        from sale_sofia.operations.checks import redis_clock_offset  # noqa: PLC0415

        offsets["Redis"] = redis_clock_offset(url)
    offsets["PostgreSQL"] = database_clock_offset(settings)
    measured = {name: offset for name, offset in offsets.items() if offset is not None}
    yield clock_check(measured, future_of_database(settings))


def browser(settings: Settings) -> Iterator[CheckResult]:
    """Whether the browser lane, if it is switched on, has a browser, and which; it opens no page."""
    if not settings.browser_enabled:
        yield verdict("browser", "off (BROWSER_ENABLED)")
        return
    try:
        found = find_browser(settings.browser_path)
    except BrowserMissing as missing:
        yield verdict("browser", str(missing), "Or set BROWSER_ENABLED=false.")
        return
    version = program_version(found)
    unsafe = ", without its sandbox, as this is root" if os.geteuid() == 0 else ""
    yield verdict("browser", f"{found}{f', {version}' if version else ''}{unsafe}")


# A new check is one line here: a function that needs no settings and yields results, …
MACHINE_CHECKS: Final[tuple[Callable[[], Iterator[CheckResult]], ...]] = (
    python_version,
    sqlite_version,
    package_version,
    dependencies,
    time_zone,
)
# … or one that looks at what the settings name.
SETTINGS_CHECKS: Final[tuple[Callable[[Settings], Iterator[CheckResult]], ...]] = (
    data_dir_writable,
    free_disk,
    redis_server,
    clock,
    browser,
)


def _running_redis(settings: Settings) -> str | None:
    """The address of REDIS_URL, or of our own server while it runs."""
    if settings.redis_url is None and not (settings.data_dir / fixed.REDIS_FOLDER).exists():
        return None
    from sale_sofia.operations.services.redis import known_redis_url  # noqa: PLC0415 - only where there may be one

    try:
        return known_redis_url(settings)
    except RedisUnreachable:
        return None


def _nearest_existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))
