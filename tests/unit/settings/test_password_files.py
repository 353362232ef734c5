"""A password in a file: it joins its URL, and is shown nowhere."""

from pathlib import Path

import pytest

from sale_sofia.settings.model import SettingsError, environment_of, load_settings
from sale_sofia.settings.types import with_password

PASSWORD = "a/b@c:d e%"  # noqa: S105 - every sign that a URL must hide
ENCODED = "a%2Fb%40c%3Ad%20e%25"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{PASSWORD}\n")
    return path


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://ana@host:5432/sale", f"postgresql://ana:{ENCODED}@host:5432/sale"),
        (
            "postgresql://ana:old@host/sale?sslmode=require",
            f"postgresql://ana:{ENCODED}@host/sale?sslmode=require",
        ),
        ("redis://host:6379/0", f"redis://:{ENCODED}@host:6379/0"),
        ("unix:///run/redis.sock?db=1", f"unix://:{ENCODED}@/run/redis.sock?db=1"),
        ("sqlite:////srv/x.db", "sqlite:////srv/x.db"),
    ],
)
def test_the_password_joins_the_url(secret: Path, url: str, expected: str) -> None:
    assert with_password(url, secret) == expected


def test_it_is_read_with_the_settings_and_passed_on_whole(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://ana@host/sale")
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(secret))
    monkeypatch.setenv("REDIS_URL", "redis://host")
    monkeypatch.setenv("REDIS_PASSWORD_FILE", str(secret))
    settings = load_settings()
    assert settings.database_url.get_secret_value() == f"postgresql://ana:{ENCODED}@host/sale"
    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == f"redis://:{ENCODED}@host"
    assert PASSWORD not in repr(settings)
    assert ENCODED not in repr(settings)
    for name, value in environment_of(settings, {}).items():
        monkeypatch.setenv(name, value)
    again = load_settings()
    assert (again.database_url, again.redis_url) == (settings.database_url, settings.redis_url)


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_file_without_a_password_is_one_sentence(
    tmp_path: Path, content: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("DATABASE_URL", "postgresql://ana:hunter2@host/sale")
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(path))
    with pytest.raises(SettingsError) as refused:
        load_settings()
    reason = "cannot be read: No such file or directory" if content is None else "is empty"
    assert str(refused.value) == (
        f"DATABASE_URL: the given value is not allowed; the password file {path} {reason} (URL)."
    )
