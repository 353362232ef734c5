import os
import pickle
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from sale_sofia.config.settings import MIN_PYTHON, Settings, SettingsError, get_settings, load_settings
from sale_sofia.config.settings_networks import NETWORKS_ALLOWED

DEFAULTS = {
    "PARALLEL_SCRAPING": False,
    "REDIS_CIRCUIT_BREAKER_ENABLED": None,
    "REDIS_RATE_LIMITER_ENABLED": None,
    "SCRAPING_CHUNK_SIZE": 25,
    "SCRAPING_SOFT_TIME_LIMIT": 600,
    "SCRAPING_HARD_TIME_LIMIT": 720,
    "SQLITE_BUSY_RETRIES": 5,
    "DATABASE_PASSWORD_FILE": None,
    "REDIS_PASSWORD_FILE": None,
    "POSTGRES_CONNECT_TIMEOUT": 10.0,
    "POSTGRES_LOCK_TIMEOUT": 30.0,
    "POSTGRES_STATEMENT_TIMEOUT": 120.0,
    "POSTGRES_IDLE_TIMEOUT": 600.0,
    "POSTGRES_SILENCE_TIMEOUT": 30.0,
    "POSTGRES_OUTAGE_SECONDS": 300.0,
    "POSTGRES_RETRIES": 10,
    "LLM_ENABLED": False,
    "OLLAMA_START": False,
    "OLLAMA_URL": "http://127.0.0.1:11434",
    "OLLAMA_MODEL": "gemma3:4b",
    "OLLAMA_TIMEOUT": 60.0,
    "LLM_RUN_SECONDS": 600.0,
    "LLM_REQUESTS_PER_MINUTE": 60.0,
    "LLM_CONCURRENCY": 1,
    "RETRY_MAX_ATTEMPTS": 5,
    "RETRY_BASE_DELAY": 2.0,
    "RETRY_MAX_DELAY": 60.0,
    "RETRY_JITTER_FACTOR": 0.5,
    "CIRCUIT_BREAKER_FAIL_MAX": 5,
    "CIRCUIT_BREAKER_RESET_TIMEOUT": 60.0,
    "CIRCUIT_BREAKER_HALF_OPEN_CALLS": 2,
    "DOMAIN_RATE_LIMITS": {"default": 10.0},
    "MIN_PROXIES_TO_START": 5,
    "MIN_PROXIES_FOR_SCRAPING": 10,
    "MAX_PROXY_RETRIES": 3,
    "PROXY_TIMEOUT": 15.0,
    "PROXY_SPACING": 5.0,
    "PROXY_CHECK_CONCURRENCY": 256,
    "PROXY_ROTATE_BUDGET": 6,
    "PROXY_RESTART_BUDGET": 3,
    "PROXY_REFRESH_BUDGET": 3,
    "PROXY_JUDGE_URL": None,
    "PROXY_JUDGE_HTTP_URL": None,
    "PROXY_JUDGE_CA": None,
    "ROTATOR_PORT": 8089,
    "MUBENG_PATH": None,
    "SQLITE_TIMEOUT": 30.0,
    "CHECKPOINT_BATCH_SIZE": 10,
    "DATA_DIR": Path("./data"),
    "REDIS_URL": None,
    "MIN_FREE_DISK_MB": 500,
    "MAX_PAGE_BYTES": 8_000_000,
    "MAX_PAGE_TAGS": 20_000,
    "MAX_PAGE_OPTIONS": 4000,
    "PAGE_SECONDS": 5.0,
    "PAGE_MEMORY_MB": 500,
    "ROBOTS_OBEYED": True,
    "ROBOTS_CACHE_SECONDS": 21_600.0,
    "ROBOTS_ERROR_CACHE_SECONDS": 600.0,
    "FETCH_MAX_REDIRECTS": 5,
    "FETCH_DNS_CACHE_SECONDS": 60.0,
    "FETCH_PROFILE": "chrome",
    "LEASE_SECONDS": 30.0,
    "WORKER_PROCESSES": 8,
    "FLOWER_PASSWORD": None,
    "DASHBOARD_PASSWORD": None,
    "DASHBOARD_PASSWORD_FILE": None,
    "DASHBOARD_TRUSTED_PROXIES": None,
    "SITES_DIR": None,
    "BACKUP_DIR": None,
    "BACKUP_KEEP": 7,
    "CHECKPOINT_SECONDS": 0.02,
    "LONGEST_POLITE_WAIT": 30.0,
    "TASK_TIMEOUT": 270.0,
    "BROWSER_TIMEOUT": 120.0,
    "BROWSER_ENABLED": False,
    "BROWSER_PATH": None,
    "BROWSER_PAGES_PER_HOUR": 30,
    "HTTP_TIMEOUT": 30.0,
    "ARCHIVE_ENABLED": True,
    "ARCHIVE_MAX_MB": 2000,
    "HEALTH_FAILURE_DEGRADED": 0.05,
    "HEALTH_FAILURE_CRITICAL": 0.3,
    "HEALTH_BLOCK_DEGRADED": 0.02,
    "HEALTH_BLOCK_CRITICAL": 0.2,
    "HEALTH_CIRCUIT_DEGRADED": 0.05,
    "HEALTH_CIRCUIT_CRITICAL": 0.5,
    "HEALTH_COLLAPSE_SHARE": 0.5,
    "MATCH_AFTER_CRAWL": True,
    "READ_AFTER_CRAWL": True,
    "MATCH_REVIEW_PROBABILITY": 0.7,
    "MATCH_LINK_PROBABILITY": 0.97,
    "PROPERTY_ALARM_ADVERTS": 10,
    "PRIVATE_SELLER_FLATS": 10,
    "PRIVATE_PHONES_KEPT": False,
    "FLOWER_PASSWORD_FILE": None,
    "ODD_PRICE_VISITS": 3,
    "DRIFT_RUNS": 14,
    "DRIFT_LEAST_RUNS": 3,
    "DRIFT_LEAST_PAGES": 10,
    "DRIFT_SAMPLE_PAGES": 20,
    "DRIFT_FILL_DROP": 0.2,
    "DRIFT_PRICE_SHIFT": 0.15,
    "SCRAPE_HISTORY_DAYS": 90,
    "SEARCH_STALE_PAGES": 5,
    "SEARCH_TOTAL_FACTOR": 2.0,
    "SEARCH_MAX_PAGES": 3000,
    "SEARCH_MAX_PARTS": 5000,
    "INCIDENT_CIRCUIT_SECONDS": 900.0,
    "ALERT_LANGUAGE": "bg",
    "SCORE_AFTER_CRAWL": True,
    "SCORE_LEAST_PRICES": 15,
    "SCORE_LEAST_RENTS": 5,
    "MARKET_LEAST_FLATS": 15,
    "MARKET_WEEKS": 12,
    "VALUATION_LEAST_FLATS": 200,
    "VALUATION_MOST_FLATS": 20_000,
    "VALUATION_DAYS": 180,
    "VALUATION_MODEL_HOURS": 24.0,
    "ALERT_BURST": 20,
    "ALERT_SEND_SECONDS": 30.0,
    "ALERT_RUN_SECONDS": 60.0,
    "ALERT_CRAWL_SECONDS": 30.0,
    "ALERT_RETRY_SECONDS": 60.0,
    "ALERT_RETRY_MOST_SECONDS": 3600.0,
    "ALERT_SILENCE_SECONDS": 7200.0,
    "INCIDENT_CRAWL_HOURS": 26.0,
    "INCIDENT_STUCK_SECONDS": 3600.0,
    "METRICS_PORT": None,
    "REPORT_RETENTION_DAYS": 30,
    "FLOWER_PORT": 5555,
    "LOG_LEVEL": "info",
    "LOG_JSON": False,
}
SECRET_DEFAULTS = {
    "DATABASE_URL": "sqlite:///data/sale_sofia.db",
}
# name: just below, least, most, just above
WHOLE = {
    "WORKER_PROCESSES": (0, 1, 256, 257),
    "LLM_CONCURRENCY": (0, 1, 16, 17),
    "SCRAPING_CHUNK_SIZE": (0, 1, 1000, 1001),
    "SCRAPING_SOFT_TIME_LIMIT": (0, 1, 86_399, 86_400),
    "SCRAPING_HARD_TIME_LIMIT": (1, 2, 86_400, 86_401),
    "CHECKPOINT_BATCH_SIZE": (0, 1, 1000, 1001),
    "RETRY_MAX_ATTEMPTS": (0, 1, 100, 101),
    "CIRCUIT_BREAKER_FAIL_MAX": (0, 1, 1000, 1001),
    "CIRCUIT_BREAKER_HALF_OPEN_CALLS": (0, 1, 100, 101),
    "MIN_PROXIES_TO_START": (-1, 0, 10_000, 10_001),
    "MIN_PROXIES_FOR_SCRAPING": (-1, 0, 10_000, 10_001),
    "MAX_PROXY_RETRIES": (-1, 0, 100, 101),
    "PROXY_CHECK_CONCURRENCY": (0, 1, 4096, 4097),
    "PROXY_ROTATE_BUDGET": (-1, 0, 1000, 1001),
    "PROXY_RESTART_BUDGET": (-1, 0, 1000, 1001),
    "PROXY_REFRESH_BUDGET": (-1, 0, 1000, 1001),
    "ROTATOR_PORT": (0, 1, 65_535, 65_536),
    "FLOWER_PORT": (0, 1, 65_535, 65_536),
    "REPORT_RETENTION_DAYS": (0, 1, 3650, 3651),
    "BROWSER_PAGES_PER_HOUR": (-1, 0, 10_000, 10_001),
    "SQLITE_BUSY_RETRIES": (-1, 0, 100, 101),
    "POSTGRES_RETRIES": (-1, 0, 100, 101),
    "MIN_FREE_DISK_MB": (-1, 0, 1_000_000, 1_000_001),
    "MAX_PAGE_BYTES": (999, 1000, 1_000_000_000, 1_000_000_001),
    "MAX_PAGE_TAGS": (9, 10, 10_000_000, 10_000_001),
    "MAX_PAGE_OPTIONS": (0, 1, 1_000_000, 1_000_001),
    "PAGE_MEMORY_MB": (49, 50, 100_000, 100_001),
    "FETCH_MAX_REDIRECTS": (-1, 0, 20, 21),
    "ARCHIVE_MAX_MB": (0, 1, 10_000_000, 10_000_001),
    "BACKUP_KEEP": (0, 1, 10_000, 10_001),
    "ODD_PRICE_VISITS": (0, 1, 100, 101),
    "DRIFT_RUNS": (2, 3, 365, 366),
    "DRIFT_LEAST_RUNS": (0, 1, 365, 366),
    "DRIFT_LEAST_PAGES": (2, 3, 100_000, 100_001),
    "DRIFT_SAMPLE_PAGES": (-1, 0, 1000, 1001),
    "SCRAPE_HISTORY_DAYS": (0, 1, 36_500, 36_501),
    "SEARCH_STALE_PAGES": (1, 2, 1000, 1001),
    "SEARCH_MAX_PAGES": (9, 10, 1_000_000, 1_000_001),
    "SEARCH_MAX_PARTS": (9, 10, 1_000_000, 1_000_001),
    "PROPERTY_ALARM_ADVERTS": (1, 2, 10_000, 10_001),
    "PRIVATE_SELLER_FLATS": (1, 2, 10_000, 10_001),
    "SCORE_LEAST_PRICES": (1, 2, 10_000, 10_001),
    "SCORE_LEAST_RENTS": (0, 1, 10_000, 10_001),
    "MARKET_LEAST_FLATS": (0, 1, 10_000, 10_001),
    "MARKET_WEEKS": (0, 1, 520, 521),
    "VALUATION_LEAST_FLATS": (49, 50, 100_000, 100_001),
    "VALUATION_MOST_FLATS": (199, 200, 1_000_000, 1_000_001),
    "VALUATION_DAYS": (0, 1, 3650, 3651),
    "ALERT_BURST": (0, 1, 1000, 1001),
}
DECIMAL = {
    "ROBOTS_CACHE_SECONDS": (0.9, 1, 604_800, 604_800.1),
    "ROBOTS_ERROR_CACHE_SECONDS": (0.9, 1, 86_400, 86_400.1),
    "FETCH_DNS_CACHE_SECONDS": (-0.1, 0, 86_400, 86_400.1),
    "LEASE_SECONDS": (4.9, 5, 3600, 3600.1),
    "PAGE_SECONDS": (0.09, 0.1, 600, 600.1),
    "CHECKPOINT_SECONDS": (-0.001, 0, 10, 10.1),
    "LONGEST_POLITE_WAIT": (0.09, 0.1, 600, 600.1),
    "TASK_TIMEOUT": (0.9, 1, 86_400, 86_400.1),
    "BROWSER_TIMEOUT": (0.9, 1, 3600, 3600.1),
    "HTTP_TIMEOUT": (0.09, 0.1, 600, 600.1),
    "RETRY_BASE_DELAY": (0.009, 0.01, 3600, 3600.1),
    "RETRY_MAX_DELAY": (0.009, 0.01, 86_400, 86_400.1),
    "RETRY_JITTER_FACTOR": (-0.001, 0, 1, 1.001),
    "CIRCUIT_BREAKER_RESET_TIMEOUT": (0.09, 0.1, 86_400, 86_400.1),
    "PROXY_TIMEOUT": (0.09, 0.1, 300, 300.1),
    "OLLAMA_TIMEOUT": (0.09, 0.1, 3600, 3600.1),
    "LLM_RUN_SECONDS": (0.09, 0.1, 86_400, 86_400.1),
    "LLM_REQUESTS_PER_MINUTE": (0.09, 0.1, 6000, 6000.1),
    "PROXY_SPACING": (-0.1, 0, 3600, 3600.1),
    "SQLITE_TIMEOUT": (-0.1, 0, 600, 600.1),
    "POSTGRES_CONNECT_TIMEOUT": (0.9, 1, 600, 600.1),
    "POSTGRES_LOCK_TIMEOUT": (0.009, 0.01, 600, 600.1),
    "POSTGRES_STATEMENT_TIMEOUT": (0.9, 1, 86_400, 86_400.1),
    "POSTGRES_IDLE_TIMEOUT": (0.9, 1, 86_400, 86_400.1),
    "POSTGRES_SILENCE_TIMEOUT": (0.9, 1, 3600, 3600.1),
    "POSTGRES_OUTAGE_SECONDS": (-0.1, 0, 86_400, 86_400.1),
    "HEALTH_FAILURE_DEGRADED": (-0.001, 0, 1, 1.001),
    "HEALTH_FAILURE_CRITICAL": (-0.001, 0, 1, 1.001),
    "HEALTH_BLOCK_DEGRADED": (-0.001, 0, 1, 1.001),
    "HEALTH_BLOCK_CRITICAL": (-0.001, 0, 1, 1.001),
    "HEALTH_CIRCUIT_DEGRADED": (-0.001, 0, 1, 1.001),
    "HEALTH_CIRCUIT_CRITICAL": (-0.001, 0, 1, 1.001),
    "HEALTH_COLLAPSE_SHARE": (-0.001, 0, 1, 1.001),
    "DRIFT_FILL_DROP": (0.009, 0.01, 1, 1.001),
    "SEARCH_TOTAL_FACTOR": (1.09, 1.1, 100, 100.1),
    "DRIFT_PRICE_SHIFT": (0.009, 0.01, 1, 1.001),
    "MATCH_REVIEW_PROBABILITY": (0.009, 0.01, 1, 1.001),
    "MATCH_LINK_PROBABILITY": (0.499, 0.5, 1, 1.001),
    "INCIDENT_CIRCUIT_SECONDS": (0.9, 1, 604_800, 604_800.1),
    "ALERT_SEND_SECONDS": (0.9, 1, 600, 600.1),
    "ALERT_RUN_SECONDS": (0.9, 1, 3600, 3600.1),
    "ALERT_CRAWL_SECONDS": (-0.1, 0, 3600, 3600.1),
    "ALERT_RETRY_SECONDS": (0.09, 0.1, 86_400, 86_400.1),
    "ALERT_RETRY_MOST_SECONDS": (0.09, 0.1, 604_800, 604_800.1),
    "ALERT_SILENCE_SECONDS": (59.9, 60, 604_800, 604_800.1),
    "INCIDENT_CRAWL_HOURS": (0.9, 1, 8760, 8760.1),
    "VALUATION_MODEL_HOURS": (-0.1, 0, 8760, 8760.1),
    "INCIDENT_STUCK_SECONDS": (59.9, 60, 604_800, 604_800.1),
}
RANGES = WHOLE | DECIMAL
# A setting at its edge may need its neighbour moved out of the way.
NEIGHBOUR = {
    ("SCRAPING_SOFT_TIME_LIMIT", 86_399): ("SCRAPING_HARD_TIME_LIMIT", "86400"),
    ("SCRAPING_HARD_TIME_LIMIT", 2): ("SCRAPING_SOFT_TIME_LIMIT", "1"),
    ("RETRY_BASE_DELAY", 3600): ("RETRY_MAX_DELAY", "3600"),
    ("RETRY_MAX_DELAY", 0.01): ("RETRY_BASE_DELAY", "0.01"),
    ("ALERT_RETRY_SECONDS", 86_400): ("ALERT_RETRY_MOST_SECONDS", "86400"),
    ("ALERT_RETRY_MOST_SECONDS", 0.1): ("ALERT_RETRY_SECONDS", "0.1"),
    ("MATCH_REVIEW_PROBABILITY", 1): ("MATCH_LINK_PROBABILITY", "1"),
    ("MATCH_LINK_PROBABILITY", 0.5): ("MATCH_REVIEW_PROBABILITY", "0.5"),
    ("HEALTH_FAILURE_DEGRADED", 1): ("HEALTH_FAILURE_CRITICAL", "1"),
    ("HEALTH_FAILURE_CRITICAL", 0): ("HEALTH_FAILURE_DEGRADED", "0"),
    ("HEALTH_BLOCK_DEGRADED", 1): ("HEALTH_BLOCK_CRITICAL", "1"),
    ("HEALTH_BLOCK_CRITICAL", 0): ("HEALTH_BLOCK_DEGRADED", "0"),
    ("HEALTH_CIRCUIT_DEGRADED", 1): ("HEALTH_CIRCUIT_CRITICAL", "1"),
    ("HEALTH_CIRCUIT_CRITICAL", 0): ("HEALTH_CIRCUIT_DEGRADED", "0"),
}
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


def test_there_are_no_other_settings() -> None:
    assert {name.upper() for name in Settings.model_fields} == {*DEFAULTS, *SECRET_DEFAULTS}


@pytest.mark.parametrize(("name", "value"), DEFAULTS.items())
def test_default(name: str, value: object) -> None:
    found = getattr(load_settings(), name.lower())
    assert found == value
    assert type(found) is type(value) or isinstance(value, Path)


@pytest.mark.parametrize(("name", "value"), SECRET_DEFAULTS.items())
def test_secret_default(name: str, value: str) -> None:
    assert getattr(load_settings(), name.lower()).get_secret_value() == value


def test_every_number_has_its_edges_tested() -> None:
    numbers = {
        name.upper() for name, field in Settings.model_fields.items() if field.annotation in {int, float}
    }
    assert numbers == set(RANGES)


@pytest.mark.parametrize(("name", "edge"), [(name, edge) for name in RANGES for edge in RANGES[name][1:3]])
def test_edge_of_the_range_is_allowed(name: str, edge: float, monkeypatch: pytest.MonkeyPatch) -> None:
    if neighbour := NEIGHBOUR.get((name, edge)):
        monkeypatch.setenv(*neighbour)
    monkeypatch.setenv(name, str(edge))
    assert getattr(load_settings(), name.lower()) == edge


@pytest.mark.parametrize(("name", "beyond"), [(name, RANGES[name][i]) for name in RANGES for i in (0, 3)])
def test_beyond_the_range_is_refused(name: str, beyond: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, str(beyond))
    kind = "a whole number" if name in WHOLE else "a number"
    _, least, most, _ = RANGES[name]
    line = complaint().splitlines()[0]
    assert line.startswith(f"{name}: '{beyond}' is not allowed; {kind} from {least} to {most} (")


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


@pytest.mark.parametrize("name", [*DEFAULTS, *SECRET_DEFAULTS])
def test_empty_variable_counts_as_unset(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unset = load_settings()
    monkeypatch.setenv(name, "")
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
