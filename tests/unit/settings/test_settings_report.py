import json
from dataclasses import replace
from functools import cache
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sale_sofia.settings.model import Settings, SettingsError, load_settings
from sale_sofia.settings.report import SettingRow, effective_settings, settings_as_json, settings_text
from sale_sofia.settings.types import masked_url

CHUNK_ROW = SettingRow(
    name="SCRAPING_CHUNK_SIZE",
    value="30",
    source="environment",
    unit="adverts",
    allowed="a whole number from 1 to 1000",
    sentence="Adverts in one batch of work.",
)
# Everything a variable can hold, and what a person may type into a password without encoding it.
ENVIRONMENT_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
RAW_PASSWORDS = ENVIRONMENT_TEXT | st.text("ab1:/?#@[]%&=+ ", min_size=1, max_size=12)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
LONE_NAME = "rediss://{}@host"
URLS = [
    ("DATABASE_URL", "postgresql://ana:{}@host:5432/sale"),
    ("DATABASE_URL", "postgresql+psycopg://:{}@host/sale?sslmode=require"),
    ("DATABASE_URL", "postgresql:///sale?host=/run/postgresql&password={}"),
    ("DATABASE_URL", "sqlite:////srv/x.db?mode=rw&key={}"),
    ("REDIS_URL", "redis://:{}@host:6379/0"),
    ("REDIS_URL", LONE_NAME),
    ("REDIS_URL", "unix:///run/redis.sock?db=1&password={}"),
]


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def report(environ: dict[str, str]) -> dict[str, SettingRow]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environ.items():
            patch.setenv(name, value)
        return {row.name: row for row in effective_settings(load_settings(), environ)}


def everything_shown(environ: dict[str, str]) -> str:
    """All that a person may see of these settings, right or wrong."""
    try:
        return settings_as_json(report(environ).values())
    except SettingsError as error:
        return str(error)


@cache
def shown_once(name: str, value: str) -> str:
    """As `everything_shown`; nothing else is set in any test that asks."""
    return everything_shown({name: value})


def test_every_setting_has_one_full_row() -> None:
    rows = effective_settings(load_settings(), {})
    assert [row.name for row in rows] == [name.upper() for name in Settings.model_fields]
    assert all(row.value and row.unit and row.allowed and row.sentence.endswith(".") for row in rows)


def test_row_of_a_given_value() -> None:
    assert report({"SCRAPING_CHUNK_SIZE": "30"})["SCRAPING_CHUNK_SIZE"] == CHUNK_ROW


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PARALLEL_SCRAPING", "false"),
        ("RETRY_BASE_DELAY", "2.0"),
        ("DOMAIN_RATE_LIMITS", '{"default": 10.0}'),
        ("DATA_DIR", "data"),
        ("DATABASE_URL", "sqlite:///data/sale_sofia.db"),
        ("REDIS_URL", "unset"),
    ],
)
def test_value_of_a_default(name: str, value: str) -> None:
    row = report({})[name]
    assert (row.value, row.source) == (value, "default")


def test_empty_variable_is_no_source() -> None:
    row = report({"SCRAPING_CHUNK_SIZE": ""})["SCRAPING_CHUNK_SIZE"]
    assert (row.value, row.source) == ("25", "default")


def test_value_equal_to_the_default_still_comes_from_the_environment() -> None:
    assert report({"SCRAPING_CHUNK_SIZE": "25"})["SCRAPING_CHUNK_SIZE"].source == "environment"


@pytest.mark.parametrize("name", ["REDIS_CIRCUIT_BREAKER_ENABLED", "REDIS_RATE_LIMITER_ENABLED"])
@pytest.mark.parametrize("mode", ["true", "false"])
@pytest.mark.parametrize("flag", ["true", "false", ""])
def test_flag_shows_its_value_and_whether_the_mode_gave_it(name: str, mode: str, flag: str) -> None:
    row = report({"PARALLEL_SCRAPING": mode, name: flag})[name]
    expected = (flag, "environment") if flag else (mode, "follows the mode")
    assert (row.value, row.source) == expected


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ana:hunter2@host:5432/sale", "postgresql://ana:***@host:5432/sale"),
        ("postgresql://ana:a%40b%3Ac@host/sale", "postgresql://ana:***@host/sale"),
        ("postgresql://ana:a:b:c@host/sale", "postgresql://ana:***@host/sale"),
        ("postgresql://ana:@host/sale", "postgresql://ana:***@host/sale"),
        ("postgresql://host/sale", "postgresql://host/sale"),
        ("redis://:hunter2@host:6379/0", "redis://:***@host:6379/0"),
        ("redis://hunter2@host", "redis://***@host"),
        ("redis://host?password=hunter2&db=3", "redis://host?***"),
        ("redis://host?pass%77ord=hunter2", "redis://host?***"),
        ("redis://host?hunter2", "redis://host?***"),
        ("unix:///run/redis.sock?db=1&timeout=5", "unix:///run/redis.sock?db=1&timeout=5"),
        ("sqlite:////x.db?mode=ro", "sqlite:////x.db?mode=ro"),
        (
            "postgresql:///x?host=/run&port=5432&sslmode=require&connect_timeout=3",
            "postgresql:///x?host=/run&port=5432&sslmode=require&connect_timeout=3",
        ),
        ("sqlite:////srv/a@b:c/x.db", "sqlite:////srv/a@b:c/x.db"),
        ("sqlite:////srv/x.db?key=hunter2", "sqlite:////srv/x.db?***"),
        ("postgresql://ana:hunter2@more@host/sale", "***"),
        ("no URL at all", "***"),
    ],
)
def test_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert masked_url(url) == shown


# What is shown must not depend on the password at all; looking for "a" in the text would prove nothing.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "pattern"), URLS)
@settings(max_examples=8)  # each builds all settings
@given(password=ANY_TEXT)
def test_encoded_password_never_shows(name: str, pattern: str, password: str) -> None:
    shown = everything_shown({name: pattern.format(quote(password, safe=""))})
    assert shown == shown_once(name, pattern.format("hunter2"))
    assert "***" in shown


@pytest.mark.parametrize(("name", "pattern"), [url for url in URLS if url[1] != LONE_NAME])
@settings(max_examples=8)
@given(password=RAW_PASSWORDS)
def test_password_typed_as_it_is_never_shows(name: str, pattern: str, password: str) -> None:
    accepted, refused = (shown_once(name, url) for url in (pattern.format("hunter2"), "x"))
    assert everything_shown({name: pattern.format(password)}) in {accepted, refused}


@pytest.mark.parametrize("name", ["FLOWER_PASSWORD", "DASHBOARD_PASSWORD"])
def test_a_password_that_looks_like_a_url_never_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "sqlite:///swordfish")
    [row] = [row for row in effective_settings(load_settings(), {name: "x"}) if row.name == name]
    assert row.value == "***"


def test_json_is_the_rows() -> None:
    assert json.loads(settings_as_json([CHUNK_ROW])) == [
        {
            "name": "SCRAPING_CHUNK_SIZE",
            "value": "30",
            "source": "environment",
            "unit": "adverts",
            "allowed": "a whole number from 1 to 1000",
            "sentence": "Adverts in one batch of work.",
        }
    ]


def test_json_keeps_cyrillic_readable() -> None:
    rows = list(report({"DATA_DIR": "/srv/имоти"}).values())
    assert '"/srv/имоти"' in settings_as_json(rows)


def test_text_for_a_person() -> None:
    assert settings_text([CHUNK_ROW, replace(CHUNK_ROW, value="[red]\x1b[5m", source="default")]) == (
        "SCRAPING_CHUNK_SIZE = 30\n"
        "    Adverts in one batch of work.\n"
        "    Allowed: a whole number from 1 to 1000 (adverts). Source: environment.\n"
        "\n"
        "SCRAPING_CHUNK_SIZE = [red]?[5m\n"
        "    Adverts in one batch of work.\n"
        "    Allowed: a whole number from 1 to 1000 (adverts). Source: default.\n"
    )


@pytest.mark.parametrize(
    ("environ", "name", "value", "source"),
    [
        (
            {"PARALLEL_SCRAPING_ENABLED": "true"},
            "PARALLEL_SCRAPING", "true", "environment (PARALLEL_SCRAPING_ENABLED)",
        ),
        (
            {"PARALLEL_SCRAPING_ENABLED": "true", "PARALLEL_SCRAPING": "false"},
            "PARALLEL_SCRAPING", "false",
            "environment (PARALLEL_SCRAPING wins over PARALLEL_SCRAPING_ENABLED)",
        ),
        ({"REDIS_HOST": "10.0.0.5"}, "REDIS_URL", "redis://10.0.0.5:6379/0", "environment (REDIS_HOST)"),
        (
            {"REDIS_HOST": "h", "REDIS_PORT": "7000", "REDIS_DB": "3"},
            "REDIS_URL", "redis://h:7000/3", "environment (REDIS_HOST, REDIS_PORT, REDIS_DB)",
        ),
        (
            {"REDIS_HOST": "h", "REDIS_URL": "redis://ours:1/2"},
            "REDIS_URL", "redis://ours:1/2", "environment (REDIS_URL wins over REDIS_HOST)",
        ),
        # Kubernetes sets this one for any service that is called redis.
        ({"REDIS_PORT": "tcp://10.0.0.1:6379"}, "REDIS_URL", "unset", "default"),
    ],
)  # fmt: skip
def test_the_documents_own_names_are_taken_beside_ours(
    environ: dict[str, str], name: str, value: str, source: str
) -> None:
    row = report(environ)[name]
    assert (row.value, row.source) == (value, source)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"REDIS_HOST": "h", "REDIS_PORT": "x"}, "REDIS_PORT, REDIS_DB: allowed are whole numbers, not 'x'"),
        (
            {"PARALLEL_SCRAPING_ENABLED": "maybe"},
            "PARALLEL_SCRAPING_ENABLED: 'maybe' is not allowed; true or false (switch).",
        ),
    ],
)
def test_a_wrong_value_is_told_by_the_name_that_was_used(environ: dict[str, str], said: str) -> None:
    assert everything_shown(environ) == said
