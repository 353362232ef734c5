import os
import pickle
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from annotated_types import Ge, Le
from pydantic import ValidationError

from sale_sofia.settings.model import MIN_PYTHON, Settings, SettingsError, get_settings, load_settings
from sale_sofia.settings.types import NETWORKS_ALLOWED

SPECIFIED = {
    "PARALLEL_SCRAPING": False,
    "SCRAPING_CHUNK_SIZE": 25,
    "SCRAPING_SOFT_TIME_LIMIT": 600,
    "SCRAPING_HARD_TIME_LIMIT": 720,
    "SQLITE_BUSY_RETRIES": 5,
    "RETRY_MAX_ATTEMPTS": 5,
    "RETRY_BASE_DELAY": 2.0,
    "RETRY_MAX_DELAY": 60.0,
    "RETRY_JITTER_FACTOR": 0.5,
    "CIRCUIT_BREAKER_FAIL_MAX": 5,
    "CIRCUIT_BREAKER_RESET_TIMEOUT": 60.0,
    "CIRCUIT_BREAKER_HALF_OPEN_CALLS": 2,
    "DOMAIN_RATE_LIMITS": {"default": 10.0},
    "MIN_PROXIES_TO_START": 10,
    "MIN_PROXIES_FOR_SCRAPING": 10,
    "CHECKPOINT_BATCH_SIZE": 10,
    "ROTATOR_PORT": 8089,
    "DATA_DIR": Path("data"),
    "TASK_TIMEOUT": 270.0,
    "BROWSER_TIMEOUT": 120.0,
    "HTTP_TIMEOUT": 30.0,
    "WORKER_PROCESSES": 8,
    "REDIS_CIRCUIT_BREAKER_ENABLED": None,
    "REDIS_RATE_LIMITER_ENABLED": None,
}
"""The defaults that the specification names."""
RATES_END = (
    "is not allowed; a JSON object of lower-case domain: number above 0, up to 60000 (requests per minute)."
)
DATABASE_LINE = (
    "DATABASE_URL: the given value is not allowed; sqlite:///path or "
    "postgresql[+psycopg]://user:password@host:port/name, "
    "special characters of a password percent-encoded (URL)."
)
REDIS_LINE = (
    "REDIS_URL: the given value is not allowed; redis[s]://user:password@host:port/number or unix:///path, "
    "special characters of a password percent-encoded (URL)."
)


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.lower() in Settings.model_fields]:
        monkeypatch.delenv(name)
    get_settings.cache_clear()


def complaint() -> str:
    with pytest.raises(SettingsError) as error:
        load_settings()
    return str(error.value)


def test_the_defaults_of_the_specification() -> None:
    settings = load_settings()
    assert {name: getattr(settings, name.lower()) for name in SPECIFIED} == SPECIFIED


def numbers() -> Iterator[tuple[str, float, float]]:
    """Every setting that is a number, with its least and its greatest value."""
    for name, field in Settings.model_fields.items():
        if field.annotation in {int, float}:
            [least] = [limit.ge for limit in field.metadata if isinstance(limit, Ge)]
            [most] = [limit.le for limit in field.metadata if isinstance(limit, Le)]
            yield name.upper(), float(str(least)), float(str(most))


def test_every_default_is_of_its_type_and_within_its_range() -> None:
    settings = load_settings()
    for name, least, most in numbers():
        value = getattr(settings, name.lower())
        assert type(value) is Settings.model_fields[name.lower()].annotation, name
        assert least <= value <= most, name


def lines() -> dict[str, str]:
    """What is said of each variable; nothing where all are allowed."""
    try:
        load_settings()
    except SettingsError as error:
        return {line.partition(":")[0]: line for line in str(error).splitlines()}
    return {}


def said_range(name: str, least: float, most: float) -> str:
    return f"a{' whole' * is_whole(name)} number from {least:g} to {most:.10g} ("


def is_whole(name: str) -> bool:
    return Settings.model_fields[name.lower()].annotation is int


def give(monkeypatch: pytest.MonkeyPatch, values: dict[str, float]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, str(int(value)) if is_whole(name) else str(value))


@pytest.mark.parametrize("side", [-1, 1], ids=["least", "most"])
def test_what_is_beyond_the_range_is_refused(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges = list(numbers())
    assert len(ranges) > 80
    edges = {name: most if side > 0 else least for name, least, most in ranges}
    give(monkeypatch, {name: edge + side * (1 if is_whole(name) else 0.001) for name, edge in edges.items()})
    refusals = lines()
    for name, least, most in ranges:
        assert said_range(name, least, most) in refusals[name]


@pytest.mark.parametrize("side", [-1, 1], ids=["least", "most"])
def test_the_edge_of_every_range_is_allowed(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value at its edge may contradict a neighbour's; then that is said, and not the range."""
    ranges = {name: (least, most) for name, least, most in numbers()}
    given = {name: most if side > 0 else least for name, (least, most) in ranges.items()}
    give(monkeypatch, given)
    while refusals := lines():
        for name, line in refusals.items():
            assert said_range(name, *ranges[name]) not in line
            monkeypatch.delenv(name)
            del given[name]
    settings = load_settings()
    assert len(given) > 70
    assert {name: getattr(settings, name.lower()) for name in given} == given


@pytest.mark.parametrize(
    ("name", "given", "line"),
    [
        ("SCRAPING_CHUNK_SIZE", "0", "'0' is not allowed; a whole number from 1 to 1000 (adverts)."),
        ("SCRAPING_CHUNK_SIZE", "ten", "'ten' is not allowed; a whole number from 1 to 1000 (adverts)."),
        ("SCRAPING_CHUNK_SIZE", "2.5", "'2.5' is not allowed; a whole number from 1 to 1000 (adverts)."),
        ("RETRY_JITTER_FACTOR", "nan", "'nan' is not allowed; a number from 0 to 1 (share)."),
        ("RETRY_MAX_DELAY", "inf", "'inf' is not allowed; a number from 0.01 to 86400 (seconds)."),
        ("PARALLEL_SCRAPING", "maybe", "'maybe' is not allowed; true or false (switch)."),
        ("REDIS_RATE_LIMITER_ENABLED", "2", "'2' is not allowed; true or false (switch)."),
        ("METRICS_PORT", "0", "'0' is not allowed; a whole number from 1 to 65535 (port)."),
        ("METRICS_PORT", "65536", "'65536' is not allowed; a whole number from 1 to 65535 (port)."),
        ("LOG_LEVEL", "loud", "'loud' is not allowed; debug, info, warning or error (level)."),
        ("DATA_DIR", "a?b", "'a?b' is not allowed; a folder's path, without '?' (folder)."),
        ("DATA_DIR", " ", "' ' is not allowed; a folder's path, without '?' (folder)."),
        (
            "DATA_DIR",
            "~no-such-user/x",
            "'~no-such-user/x' is not allowed; a folder's path, without '?' (folder).",
        ),
        (
            "DASHBOARD_TRUSTED_PROXIES",
            "127.0.0.1, proxy.internal",
            f"'127.0.0.1, proxy.internal' is not allowed; {NETWORKS_ALLOWED} (addresses).",
        ),
        (
            "DASHBOARD_TRUSTED_PROXIES",
            "10.0.0.1/8",
            f"'10.0.0.1/8' is not allowed; {NETWORKS_ALLOWED} (addresses).",
        ),
    ],
)
def test_wrong_value_gives_one_sentence(
    name: str, given: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, given)
    assert complaint() == f"{name}: {line}"


def test_long_value_is_cut_and_stays_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPING_CHUNK_SIZE", "\n" + "x" * 500)
    assert complaint() == (
        f"SCRAPING_CHUNK_SIZE: '\\n{'x' * 79}' is not allowed; a whole number from 1 to 1000 (adverts)."
    )


def test_every_wrong_variable_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLITE_TIMEOUT", "-1")
    monkeypatch.setenv("SCRAPING_CHUNK_SIZE", "x")
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", '{"a": 0, "b": -1}')
    names = [line.partition(":")[0] for line in complaint().splitlines()]
    assert names == ["SCRAPING_CHUNK_SIZE", "DOMAIN_RATE_LIMITS", "SQLITE_TIMEOUT"]


def test_empty_variables_count_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = load_settings()
    for name in Settings.model_fields:
        monkeypatch.setenv(name.upper(), "")
    assert load_settings() == unset


def test_no_env_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("SCRAPING_CHUNK_SIZE=7\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings().scraping_chunk_size == 25


@pytest.mark.parametrize("hard", ["599", "600"])
def test_hard_limit_must_be_above_the_soft_one(hard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPING_HARD_TIME_LIMIT", hard)
    assert complaint() == (
        f"SCRAPING_HARD_TIME_LIMIT: '{hard}' is not allowed; "
        "more than SCRAPING_SOFT_TIME_LIMIT, which is 600 (seconds)."
    )


def test_soft_limit_above_the_default_hard_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRAPING_SOFT_TIME_LIMIT", "720")
    assert complaint() == (
        "SCRAPING_HARD_TIME_LIMIT: '720' is not allowed; "
        "more than SCRAPING_SOFT_TIME_LIMIT, which is 720 (seconds)."
    )
    monkeypatch.setenv("SCRAPING_SOFT_TIME_LIMIT", "719")
    assert load_settings().scraping_soft_time_limit == 719


def test_longest_delay_may_equal_the_base_but_not_be_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRY_MAX_DELAY", "2")
    assert load_settings().retry_max_delay == 2.0
    monkeypatch.setenv("RETRY_MAX_DELAY", "1.9")
    assert complaint() == (
        "RETRY_MAX_DELAY: '1.9' is not allowed; not less than RETRY_BASE_DELAY, which is 2.0 (seconds)."
    )


@pytest.mark.parametrize("what", ["FAILURE", "BLOCK", "CIRCUIT"])
def test_a_critical_share_may_equal_the_degraded_one_but_not_be_below(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"HEALTH_{what}_DEGRADED", "0.6")
    monkeypatch.setenv(f"HEALTH_{what}_CRITICAL", "0.6")
    assert getattr(load_settings(), f"health_{what.lower()}_critical") == 0.6
    monkeypatch.setenv(f"HEALTH_{what}_CRITICAL", "0.59")
    with pytest.raises(SettingsError) as error:
        load_settings()
    assert str(error.value) == (
        f"HEALTH_{what}_CRITICAL: '0.59' is not allowed; not less than HEALTH_{what}_DEGRADED, "
        "which is 0.6 (share)."
    )


@pytest.mark.parametrize(
    ("given", "rates"),
    [
        ("{}", {"default": 10.0}),
        ('{"imot.bg": 30}', {"default": 10.0, "imot.bg": 30.0}),
        ('{"default": 4, "bazar.bg": 0.5}', {"default": 4.0, "bazar.bg": 0.5}),
        ('{"127.0.0.1:8000": 60000}', {"default": 10.0, "127.0.0.1:8000": 60000.0}),
    ],
)
def test_rates_are_merged_over_the_default(
    given: str, rates: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", given)
    assert load_settings().domain_rate_limits == rates


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("imot.bg=30", "'imot.bg=30'"),
        ('{"imot.bg": 30', "'{\"imot.bg\": 30'"),
        ("[" * 100_000, f"'{'[' * 80}'"),
        ("[1]", "'[1]'"),
        ("7", "'7'"),
        ('{"imot.bg": 0}', "'0' for 'imot.bg'"),
        ('{"imot.bg": -1}', "'-1' for 'imot.bg'"),
        ('{"imot.bg": "30"}', "'30' for 'imot.bg'"),
        ('{"imot.bg": true}', "'True' for 'imot.bg'"),
        ('{"imot.bg": NaN}', "'nan' for 'imot.bg'"),
        ('{"imot.bg": 60000.1}', "'60000.1' for 'imot.bg'"),
        ('{"default": 0}', "'0' for 'default'"),
        ('{"Imot.bg": 5}', "'Imot.bg'"),
        ('{"https://imot.bg/": 5}', "'https://imot.bg/'"),
    ],
)
def test_wrong_rates_give_one_sentence(given: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", given)
    assert complaint() == f"DOMAIN_RATE_LIMITS: {shown} {RATES_END}"


def test_rate_of_a_domain_is_its_own_then_the_sites_then_the_default() -> None:
    settings = Settings(domain_rate_limits={"imot.bg": 30, "default": 6})
    assert settings.rate_limit("imot.bg", site_rate=20) == 30
    assert settings.rate_limit("bazar.bg", site_rate=20) == 20
    assert settings.rate_limit("bazar.bg") == 6


def test_database_is_a_file_in_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", "/srv/a@b c")
    assert load_settings().database_url.get_secret_value() == "sqlite:////srv/a@b c/sale_sofia.db"


def test_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.setenv("DATA_DIR", "~/flats")
    assert load_settings().data_dir == Path("/home/ana/flats")


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:////srv/x.db?timeout=5",
        "postgresql://host/sale",
        "postgresql+psycopg://ana:p%40ss%2F@host:5432/sale?sslmode=require",
        "postgresql://ana:a:b@[::1]:5432/sale",
        "postgresql:///sale?host=/run/postgresql",
    ],
)
def test_allowed_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    assert load_settings().database_url.get_secret_value() == url


@pytest.mark.parametrize(
    "url",
    [
        "x",
        "sqlite:data.db",
        "sqlite://data.db",
        "sqlite://ana:pw@host/x",
        "postgres://host/sale",
        "postgresql+psycopg2://host/sale",
        "mysql://host/sale",
        "POSTGRESQL://host/sale",
        " postgresql://host/sale",
        "postgresql://host:port/sale",
        "postgresql://ana:hunter2@more@host/sale",
        "postgresql://ana:hunter2/more@host/sale",
        "postgresql://ana:12/hunter2@host/sale",
        "postgresql://ana:12?hunter2@host/sale",
        "postgresql://ana:hunter2#more@host/sale",
    ],
)
def test_refused_database_is_not_repeated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    assert complaint() == DATABASE_LINE


@pytest.mark.parametrize(
    "url",
    [
        "redis://host",
        "redis://:pw@host:6379/15",
        "rediss://ana:pw@host/",
        "unix:///run/redis.sock?db=1",
        "unix://ana:pw@/run/redis.sock",
    ],
)
def test_allowed_redis(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    secret = load_settings().redis_url
    assert secret is not None
    assert secret.get_secret_value() == url


@pytest.mark.parametrize(
    "url", ["host:6379", "http://host", "redis://host/first", "redis://:p@w@host", "unix://", "redis://h/0 "]
)
def test_refused_redis_is_not_repeated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", url)
    assert complaint() == REDIS_LINE


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("breaker", [True, False, None])
@pytest.mark.parametrize("limiter", [True, False, None])
def test_redis_flags_follow_the_mode_unless_set(
    parallel: bool,  # noqa: FBT001
    breaker: bool | None,  # noqa: FBT001
    limiter: bool | None,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PARALLEL_SCRAPING", str(parallel))
    for name, flag in (("REDIS_CIRCUIT_BREAKER_ENABLED", breaker), ("REDIS_RATE_LIMITER_ENABLED", limiter)):
        monkeypatch.setenv(name, "" if flag is None else str(flag))
    settings = load_settings()
    assert settings.circuit_breaker_in_redis is (parallel if breaker is None else breaker)
    assert settings.rate_limiter_in_redis is (parallel if limiter is None else limiter)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_settings().scraping_chunk_size = 1  # type: ignore[misc]


def test_direct_validation_error_repeats_no_password() -> None:
    with pytest.raises(ValidationError) as error:
        Settings.model_validate({"redis_url": "redis://:hunter2@x@host"})
    assert "hunter2" not in str(error.value)


def test_settings_travel_to_another_process() -> None:
    settings = Settings(domain_rate_limits={"imot.bg": 30})
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301 - our own


def test_repr_holds_no_password() -> None:
    settings = Settings.model_validate(
        {"database_url": "postgresql://ana:hunter2@host/sale", "redis_url": "redis://:hunter2@host"}
    )
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()


def test_get_settings_reads_once_until_told_to_forget(monkeypatch: pytest.MonkeyPatch) -> None:
    first = get_settings()
    monkeypatch.setenv("SCRAPING_CHUNK_SIZE", "7")
    assert get_settings() is first
    get_settings.cache_clear()
    assert get_settings().scraping_chunk_size == 7
    get_settings.cache_clear()


def test_least_python_is_the_one_the_package_declares() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == ">=" + ".".join(map(str, MIN_PYTHON))
