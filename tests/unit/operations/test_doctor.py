import errno
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import NoReturn

import pytest
import redis
from pydantic import SecretStr

from sale_sofia.crawl.fetch import chromium
from sale_sofia.operations import checks, doctor
from sale_sofia.operations.checks import look_at_redis, redis_clock_offset
from sale_sofia.operations.doctor import CheckResult, clock_check, run_checks
from sale_sofia.operations.services.redis import RedisServer
from sale_sofia.settings.errors import NoRedisServer
from sale_sofia.settings.model import Settings
from tables import each_row

DEPENDENCIES = {
    "phonenumbers",
    "pydantic",
    "pydantic-settings",
    "pyyaml",
    "rich",
    "selectolax",
    "typer",
    "tzdata",
}
FOLDER_ADVICE = "Make DATA_DIR a folder that this user can write to."
PATIENCE_SECONDS = 300.0
"""How long this machine may stand still between two looks at a clock."""
REINSTALL = "Install the package again, with its dependencies."


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", min_free_disk_mb=0)


def everything_in(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


def fail_with(error: Exception) -> NoReturn:
    raise error


def by_name(checks: list[CheckResult]) -> dict[str, CheckResult]:
    return {check.name: check for check in checks}


def test_a_ready_machine_passes_every_check_once(settings: Settings) -> None:
    checks = run_checks(settings)
    assert [check for check in checks if not check.ok or check.advice] == []
    assert len(by_name(checks)) == len(checks)
    named = {
        "python",
        "sqlite",
        "sale-sofia",
        "time zone",
        "settings",
        "data folder",
        "free disk",
        "database",
    }
    named |= {"redis server", "clock", "browser"}
    assert named <= set(by_name(checks))


def test_every_runtime_dependency_is_named_with_its_version(settings: Settings) -> None:
    checks = by_name(run_checks(settings))
    assert set(checks) >= DEPENDENCIES
    for name in DEPENDENCIES:
        assert checks[name] == CheckResult(name, ok=True, detail=metadata.version(name), advice=None)
    assert "pytest" not in checks


def test_python_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MIN_PYTHON", (99, 1))
    assert list(doctor.python_version()) == [
        CheckResult("python", ok=False, detail=sys.version.split()[0], advice="Install Python 99.1 or newer.")
    ]


def test_package_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-distribution")
    assert list(doctor.package_version()) == [
        CheckResult("no-such-distribution", ok=False, detail="not installed", advice=REINSTALL)
    ]
    assert list(doctor.dependencies()) == []


def test_dependency_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metadata, "requires", lambda _: ["no-such-distribution>=1", 'pytest>=9; extra == "dev"']
    )
    (check,) = doctor.dependencies()
    assert check == CheckResult("no-such-distribution", ok=False, detail="not installed", advice=REINSTALL)


@pytest.mark.parametrize(
    ("requirement", "wanted"),
    [
        ("PyYAML>=6", ""),
        ("pyyaml<99,>=6.0.3", ""),
        ("PyYAML>=99.1", "PyYAML>=99.1"),
        ("PyYAML[x]<6.0,>=5; sys_platform != 'win32'", "PyYAML[x]<6.0,>=5"),
    ],
)
def test_dependency_of_another_version(
    requirement: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = metadata.version("pyyaml")
    monkeypatch.setattr(metadata, "requires", lambda _: [requirement])
    (check,) = doctor.dependencies()
    detail = f"{version}, where {wanted} is wanted" if wanted else version
    assert (check.ok, check.detail, check.advice) == (not wanted, detail, REINSTALL if wanted else None)


@each_row(
    ("version", "requirement", "fits"),
    [("9.1", "x>=9.1.0", True), ("9.1.0", "x>=9.1", True), ("5.8", "x<5.8.0", False), ("10", "x>=9", True)],
)
def test_zeros_at_its_end_make_no_other_version(
    version: str, requirement: str, monkeypatch: pytest.MonkeyPatch, *, fits: bool
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: [requirement])
    monkeypatch.setattr(metadata, "version", lambda _: version)
    assert [check.ok for check in doctor.dependencies()] == [fits]


@pytest.mark.slow
def test_nothing_is_imported_to_learn_its_version(settings: Settings) -> None:
    program = (
        "import sys; from sale_sofia.operations.doctor import run_checks; print(len(run_checks()), *sorted("
        "{'pandas', 'starlette', 'celery', 'sklearn', 'pyarrow', 'redis', 'aiohttp'} & set(sys.modules)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DATA_DIR": str(settings.data_dir)},
        capture_output=True,
        text=True,
        check=True,
    )
    count, *imported = told.stdout.split()
    assert (int(count) > 30, imported) == (True, [])


def test_time_zone_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIME_ZONE", "Europe/Nowhere")
    assert list(doctor.time_zone()) == [
        CheckResult(
            "time zone", ok=False, detail="no data for Europe/Nowhere", advice="Install the tzdata package."
        )
    ]


def test_wrong_settings_are_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPING_CHUNK_SIZE", "0")
    checks = by_name(run_checks())
    assert checks["settings"] == CheckResult(
        "settings",
        ok=False,
        detail="SCRAPING_CHUNK_SIZE: '0' is not allowed; a whole number from 1 to 1000 (adverts).",
        advice="Correct these variables.",
    )
    assert "python" in checks
    assert "data folder" not in checks


def test_given_settings_are_the_ones_looked_at(settings: Settings) -> None:
    assert by_name(run_checks(settings))["data folder"].detail == f"{settings.data_dir} will be made"


def test_settings_are_read_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    assert by_name(run_checks())["data folder"].detail == f"{tmp_path} is writable"


def test_existing_folder_is_written_to_and_left_as_it_was(settings: Settings) -> None:
    settings.data_dir.mkdir()
    (check,) = doctor.data_dir_writable(settings)
    assert check == CheckResult(
        "data folder", ok=True, detail=f"{settings.data_dir} is writable", advice=None
    )
    assert everything_in(settings.data_dir) == []


def test_absent_folder_will_be_made_but_not_now(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    (check,) = doctor.data_dir_writable(Settings(data_dir=folder))
    assert check == CheckResult("data folder", ok=True, detail=f"{folder} will be made", advice=None)
    assert everything_in(tmp_path) == []


def test_relative_folder_is_looked_for_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (check,) = doctor.data_dir_writable(Settings(data_dir=Path("x/y")))
    assert check.detail == "x/y will be made"


@pytest.mark.parametrize("below", ["", "data"])
def test_file_in_place_of_a_folder(below: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    (check,) = doctor.data_dir_writable(Settings(data_dir=file / below))
    assert check == CheckResult(
        "data folder", ok=False, detail=f"{file / below}: Not a directory", advice=FOLDER_ADVICE
    )


def test_link_to_nowhere_is_no_folder_to_be_made(tmp_path: Path) -> None:
    link = tmp_path / "data"
    link.symlink_to(tmp_path / "nowhere")
    settings = Settings(data_dir=link)
    assert [check.ok for check in doctor.data_dir_writable(settings)] == [False]
    assert list(doctor.free_disk(settings)) == [
        CheckResult(
            "free disk", ok=False, detail=f"{link}: No such file or directory", advice="Check DATA_DIR."
        )
    ]


def test_refused_write(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = OSError(errno.EROFS, "Read-only file system")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: fail_with(refused))
    (check,) = doctor.data_dir_writable(settings)
    assert check == CheckResult(
        "data folder", ok=False, detail=f"{settings.data_dir}: Read-only file system", advice=FOLDER_ADVICE
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk_fails_the_write(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb") as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        (check,) = doctor.data_dir_writable(settings)
    assert (check.ok, check.detail) == (False, f"{settings.data_dir}: No space left on device")


@pytest.mark.parametrize(("free", "ok"), [(499_999_999, False), (500_000_000, True)])
def test_free_disk_has_a_threshold(
    free: int,
    ok: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    advice = "Free some space: at least 500 MB (MIN_FREE_DISK_MB) are wanted."
    (check,) = doctor.free_disk(Settings(data_dir=tmp_path / "data", min_free_disk_mb=500))
    assert check == CheckResult(
        "free disk", ok=ok, detail=f"{free // 1_000_000} MB", advice=None if ok else advice
    )


def test_what_was_written_must_be_what_is_read(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(io.BytesIO):
        def fileno(self) -> int:
            return 0

        def write(self, _: object) -> int:
            return 0

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Forgetful())
    monkeypatch.setattr("os.fsync", lambda _: None)
    (check,) = doctor.data_dir_writable(settings)
    detail = f"{settings.data_dir}: what was written is read as something else"
    assert check == CheckResult("data folder", ok=False, detail=detail, advice=FOLDER_ADVICE)


def test_our_own_redis_is_named_and_not_started(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    program = settings.data_dir.parent / "redis-server"
    program.write_text("#!/bin/sh\necho Redis server v=7.2.4 sha=0:0\n")
    program.chmod(0o700)
    monkeypatch.setattr(doctor, "find_server_binary", lambda: program)
    assert list(doctor.redis_server(settings)) == [
        CheckResult("redis server", ok=True, detail=f"our own, {program.name}, 7.2.4")
    ]
    assert not settings.data_dir.exists()


@pytest.mark.parametrize("needed", [True, False])
def test_no_redis_matters_only_when_one_is_needed(
    needed: bool,  # noqa: FBT001
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "find_server_binary", lambda: fail_with(NoRedisServer("No Redis server.")))
    wanted = settings.model_copy(update={"redis_rate_limiter_enabled": needed})
    assert list(doctor.redis_server(wanted)) == [
        CheckResult(
            "redis server",
            ok=not needed,
            detail="No Redis server." if needed else "none, and none is needed with these settings",
            advice="Install one, or set REDIS_URL." if needed else None,
        )
    ]


def test_the_redis_of_the_settings_is_asked(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_SLOW_SECONDS", PATIENCE_SECONDS)
    server, memory, persistence = doctor.redis_server(Settings(redis_url=SecretStr(redis_server.url)))
    place = f"127.0.0.1:{redis_server.port}"
    with redis.Redis(port=redis_server.port) as client:
        info = client.info()
    version = info.get("valkey_version") or info["redis_version"]
    assert re.fullmatch(rf"{place} answers in \d+\.\d ms, (Valkey|Redis) {re.escape(version)}", server.detail)
    assert re.fullmatch(r"\d+\.\d MB, noeviction", memory.detail)
    assert (server.ok, memory.ok) == (True, True)
    assert persistence == CheckResult("redis persistence", ok=True, detail="every write is logged")


def test_our_own_redis_that_runs_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.CLOCK_OFFSET_SECONDS", PATIENCE_SECONDS)
    with RedisServer.start(tmp_path / "redis") as server:
        found = next(doctor.redis_server(Settings(data_dir=tmp_path)))
        (clock,) = doctor.clock(Settings(data_dir=tmp_path))
    assert found.detail.startswith(f"our own, 127.0.0.1:{server.port} answers in ")
    assert (clock.ok, clock.detail.startswith("Redis ")) == (True, True)


def test_a_redis_that_throws_things_away_is_full_slow_or_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "no")
    with (
        RedisServer.start(tmp_path / "redis", options=options) as server,
        redis.Redis(port=server.port) as client,
    ):
        _, memory, persistence = look_at_redis(server.url)
        assert memory.detail.endswith(" MB of 105 MB, allkeys-lru")
        assert memory.advice == "Set maxmemory-policy to noeviction: it may throw away messages and limits."
        detail = "no log of writes; after a crash of Redis waiting messages are sent again"
        assert persistence == CheckResult("redis persistence", ok=True, detail=detail)
        client.config_set("maxmemory-policy", "noeviction")
        assert list(look_at_redis(server.url))[1].ok
        monkeypatch.setattr("sale_sofia.operations.settings.REDIS_MEMORY_SHARE", 0.0)
        monkeypatch.setattr("sale_sofia.operations.settings.REDIS_SLOW_SECONDS", 0.0)
        slow, memory, _ = look_at_redis(server.url)
        assert slow.advice == "Slower than 0 ms: use one that is nearer."
        assert memory.advice == "Raise maxmemory: it will soon refuse writes."
        shy = {"enabled": True, "nopass": True, "categories": ["+@all"], "keys": ["*"]}
        client.acl_setuser("shy", commands=["-info", "-time"], **shy)
        url = f"redis://shy:x@127.0.0.1:{server.port}/0"
        said = "the server does not say; its user may not ask for INFO"
        assert [check.detail for check in look_at_redis(url)][1:] == [said, said]
        assert redis_clock_offset(url) is None


def test_a_snapshot_or_a_log_that_failed(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"used_memory": 1, "maxmemory": 0, "maxmemory_policy": "noeviction", "aof_enabled": 1,
            "aof_last_write_status": "err", "rdb_last_bgsave_status": "err"}  # fmt: skip
    monkeypatch.setattr(checks, "_info", lambda _: told)
    failed = list(look_at_redis(redis_server.url))[2]
    assert failed.advice == "Its last write to disk failed: look at its log."
    told["aof_enabled"] = 0
    failed = list(look_at_redis(redis_server.url))[2]
    assert failed.advice == "Its last snapshot failed: look at its log and at its disk."


def test_a_redis_that_cannot_be_used_fails_without_its_password() -> None:
    settings = Settings(redis_url=SecretStr("redis://:hunter2@127.0.0.1:1"))
    assert list(doctor.redis_server(settings)) == [
        CheckResult(
            "redis server",
            ok=False,
            detail="REDIS_URL: 127.0.0.1:1 cannot be reached (Connection refused).",
            advice="Correct REDIS_URL, or unset it to use a server of our own.",
        )
    ]
    assert list(doctor.clock(settings)) == [
        CheckResult("clock", ok=True, detail="no server to compare it with")
    ]


@each_row(
    ("offsets", "off", "detail"),
    [
        ({}, "", "no server to compare it with"),
        ({"Redis": 1.9994}, "", "Redis +1.999 s"),
        ({"Redis": -0.002, "PostgreSQL": 2.001}, "PostgreSQL", "Redis -0.002 s, PostgreSQL +2.001 s"),
        ({"Redis": -61.0, "PostgreSQL": 3.0}, "Redis and PostgreSQL", "Redis -61.000 s, PostgreSQL +3.000 s"),
    ],
)
def test_clocks_that_differ(offsets: dict[str, float], off: str, detail: str) -> None:
    advice = f"More than 2 s from {off}: run NTP on both machines." if off else None
    assert clock_check(offsets) == CheckResult("clock", ok=not off, detail=detail, advice=advice)


def test_the_offset_is_that_of_the_servers_clock(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = time.time
    monkeypatch.setattr("sale_sofia.operations.checks.time.time", lambda: ours() - 1000)
    offset = redis_clock_offset(redis_server.url)
    assert offset is not None
    assert abs(offset - 1000) < PATIENCE_SECONDS


def test_the_browser_matters_only_when_it_is_switched_on(tmp_path: Path) -> None:
    assert list(doctor.browser(Settings())) == [
        CheckResult("browser", ok=True, detail="off (BROWSER_ENABLED)")
    ]
    program = tmp_path / "chromium"
    settings = Settings(browser_enabled=True, browser_path=program)
    assert list(doctor.browser(settings)) == [
        CheckResult(
            "browser",
            ok=False,
            detail=f"BROWSER_PATH: {program} is no program; a Chromium is wanted.",
            advice="Or set BROWSER_ENABLED=false.",
        )
    ]
    program.write_text("#!/bin/sh\necho Chromium 150.0.7871.100 built on Debian\n")
    program.chmod(0o700)
    (found,) = doctor.browser(settings)
    assert (found.ok, found.detail.split(", ")[:2]) == (True, [str(program), "150.0.7871.100"])
    program.write_text("no program at all")
    (found,) = doctor.browser(settings)
    assert (found.ok, found.detail.split(", ")[0]) == (True, str(program))


def test_a_missing_browser_says_how_it_is_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "apt-get install chromium" in next(doctor.browser(Settings(browser_enabled=True))).detail
    monkeypatch.setattr(chromium, "find_spec", lambda _: None)
    assert "`sale-sofia[browser]`" in next(doctor.browser(Settings(browser_enabled=True))).detail
