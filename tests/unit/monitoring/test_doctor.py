import errno
import shutil
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import NoReturn

import pytest
from pydantic import SecretStr

from sale_sofia.config.settings import Settings
from sale_sofia.fetching import chromium
from sale_sofia.monitoring import doctor
from sale_sofia.monitoring.doctor import Check, run_checks
from sale_sofia.services.errors import NoRedisServer
from sale_sofia.services.redis_server import RedisServer

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
REINSTALL = "Install the package again, with its dependencies."


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data", min_free_disk_mb=0)


def everything_in(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


def fail_with(error: Exception) -> NoReturn:
    raise error


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_a_ready_machine_passes_every_check_once(settings: Settings) -> None:
    checks = run_checks(settings)
    assert [check for check in checks if not check.ok or check.advice] == []
    assert len(by_name(checks)) == len(checks)
    named = {"python", "sale-sofia", "time zone", "settings", "data folder", "free disk", "database"}
    assert named <= set(by_name(checks))


def test_every_runtime_dependency_is_named_with_its_version(settings: Settings) -> None:
    checks = by_name(run_checks(settings))
    assert set(checks) >= DEPENDENCIES
    for name in DEPENDENCIES:
        assert checks[name] == Check(name, ok=True, detail=metadata.version(name), advice=None)
    assert "pytest" not in checks


def test_python_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MIN_PYTHON", (99, 1))
    assert list(doctor.python_version()) == [
        Check("python", ok=False, detail=sys.version.split()[0], advice="Install Python 99.1 or newer.")
    ]


def test_package_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-distribution")
    assert list(doctor.package_version()) == [
        Check("no-such-distribution", ok=False, detail="not installed", advice=REINSTALL)
    ]
    assert list(doctor.dependencies()) == []


def test_dependency_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        metadata, "requires", lambda _: ["no-such-distribution>=1", 'pytest>=9; extra == "dev"']
    )
    (check,) = doctor.dependencies()
    assert (check.name, check.ok, check.advice) == ("no-such-distribution", False, REINSTALL)


def test_dependency_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: ["PyYAML (>=6)"])
    monkeypatch.setitem(sys.modules, "yaml", None)
    (check,) = doctor.dependencies()
    assert (check.name, check.ok, check.advice) == ("PyYAML", False, REINSTALL)
    assert check.detail.startswith("ModuleNotFoundError: ")


def test_time_zone_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIME_ZONE", "Europe/Nowhere")
    assert list(doctor.time_zone()) == [
        Check(
            "time zone", ok=False, detail="no data for Europe/Nowhere", advice="Install the tzdata package."
        )
    ]


def test_wrong_settings_are_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPING_CHUNK_SIZE", "0")
    checks = by_name(run_checks())
    assert checks["settings"] == Check(
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
    check = doctor.data_dir_writable(settings)
    assert check == Check("data folder", ok=True, detail=f"{settings.data_dir} is writable", advice=None)
    assert everything_in(settings.data_dir) == []


def test_absent_folder_will_be_made_but_not_now(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    check = doctor.data_dir_writable(Settings(data_dir=folder))
    assert check == Check("data folder", ok=True, detail=f"{folder} will be made", advice=None)
    assert everything_in(tmp_path) == []


def test_relative_folder_is_looked_for_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctor.data_dir_writable(Settings(data_dir=Path("x/y"))).detail == "x/y will be made"


@pytest.mark.parametrize("below", ["", "data"])
def test_file_in_place_of_a_folder(below: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    check = doctor.data_dir_writable(Settings(data_dir=file / below))
    assert check == Check(
        "data folder", ok=False, detail=f"{file / below}: Not a directory", advice=FOLDER_ADVICE
    )


def test_link_to_nowhere_is_no_folder_to_be_made(tmp_path: Path) -> None:
    link = tmp_path / "data"
    link.symlink_to(tmp_path / "nowhere")
    settings = Settings(data_dir=link)
    assert not doctor.data_dir_writable(settings).ok
    assert doctor.free_disk(settings) == Check(
        "free disk", ok=False, detail=f"{link}: No such file or directory", advice="Check DATA_DIR."
    )


def test_refused_write(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = OSError(errno.EROFS, "Read-only file system")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: fail_with(refused))
    check = doctor.data_dir_writable(settings)
    assert check == Check(
        "data folder", ok=False, detail=f"{settings.data_dir}: Read-only file system", advice=FOLDER_ADVICE
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_full_disk_fails_the_write(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb") as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        check = doctor.data_dir_writable(settings)
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
    check = doctor.free_disk(Settings(data_dir=tmp_path / "data", min_free_disk_mb=500))
    assert check == Check("free disk", ok=ok, detail=f"{free // 1_000_000} MB", advice=None if ok else advice)


def test_our_own_redis_is_named_and_not_started(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_server_binary", lambda: Path("/usr/bin/redis-server"))
    assert doctor.redis_server(settings) == Check(
        "redis server", ok=True, detail="our own, /usr/bin/redis-server"
    )
    assert not settings.data_dir.exists()


@pytest.mark.parametrize("needed", [True, False])
def test_no_redis_matters_only_when_one_is_needed(
    needed: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "find_server_binary", lambda: fail_with(NoRedisServer("No Redis server.")))
    assert doctor.redis_server(Settings(redis_rate_limiter_enabled=needed)) == Check(
        "redis server",
        ok=not needed,
        detail="No Redis server." if needed else "none, and none is needed with these settings",
        advice="Install one, or set REDIS_URL." if needed else None,
    )


def test_the_redis_of_the_settings_is_asked(redis_server: RedisServer) -> None:
    settings = Settings(redis_url=SecretStr(redis_server.url))
    detail = f"127.0.0.1:{redis_server.port} answers"
    assert doctor.redis_server(settings) == Check("redis server", ok=True, detail=detail)


def test_a_redis_that_cannot_be_used_fails_without_its_password() -> None:
    assert doctor.redis_server(Settings(redis_url=SecretStr("redis://:hunter2@127.0.0.1:1"))) == Check(
        "redis server",
        ok=False,
        detail="REDIS_URL: 127.0.0.1:1 cannot be reached (Connection refused).",
        advice="Correct REDIS_URL, or unset it to use a server of our own.",
    )


def test_the_browser_matters_only_when_it_is_switched_on(tmp_path: Path) -> None:
    assert doctor.browser(Settings()) == Check("browser", ok=True, detail="off (BROWSER_ENABLED)")
    missing = tmp_path / "chromium"
    assert doctor.browser(Settings(browser_enabled=True, browser_path=missing)) == Check(
        "browser",
        ok=False,
        detail=f"BROWSER_PATH: {missing} is no program; a Chromium is wanted.",
        advice="Or set BROWSER_ENABLED=false.",
    )
    missing.write_text("#!/bin/sh")
    missing.chmod(0o700)
    found = doctor.browser(Settings(browser_enabled=True, browser_path=missing))
    assert (found.ok, found.detail.partition(",")[0]) == (True, str(missing))


def test_a_missing_browser_says_how_it_is_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "apt-get install chromium" in doctor.browser(Settings(browser_enabled=True)).detail
    monkeypatch.setattr(chromium, "find_spec", lambda _: None)
    assert "`sale-sofia[browser]`" in doctor.browser(Settings(browser_enabled=True)).detail
