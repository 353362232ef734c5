"""The passwords and certificates of deploy/make-secrets.sh do what they are for, on a real Redis."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from compose_files import DEPLOY
from fleet_certificates import make_certificates
from sale_sofia.operations.services.redis import RedisServer, check_reachable
from sale_sofia.settings.errors import RedisUnreachable
from tls_front import tls_front

PASSWORDS = ("database_password", "redis_password", "flower_password", "dashboard_password")
ASK_BOTH = """
from sale_sofia.celery_app import app
with app.connection_for_write() as connection:
    connection.ensure_connection(max_retries=0, timeout=10)
    assert connection.default_channel.client.ping()
assert app.backend.client.ping()
"""


def make_secrets(folder: Path, *arguments: str) -> None:
    made = subprocess.run(
        [DEPLOY / "make-secrets.sh", *arguments],
        env={**os.environ, "SECRETS_DIR": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deploy") / "secrets"
    make_secrets(folder, "--tls", "127.0.0.1")
    return folder


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, secrets: Path) -> Iterator[RedisServer]:
    """A Redis with the users of the file, and no others."""
    with RedisServer.start(tmp_path_factory.mktemp("redis")) as server:
        with redis.Redis(port=server.port) as client:
            for line in reversed((secrets / "redis_users").read_text("ascii").splitlines()):
                client.execute_command("ACL", "SETUSER", *line.split()[1:])
        yield server


def password(secrets: Path) -> str:
    return (secrets / "redis_password").read_text("ascii")


def test_passwords_are_long_different_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    make_secrets(folder)
    first = {name: (folder / name).read_text("ascii") for name in PASSWORDS}
    make_secrets(folder)
    assert {name: (folder / name).read_text("ascii") for name in PASSWORDS} == first
    assert len(set(first.values())) == len(PASSWORDS)
    assert {len(text) for text in first.values()} == {48}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_the_user_of_the_file_may_crawl_and_nobody_else_may_do_anything(
    guarded: RedisServer, secrets: Path
) -> None:
    place = f"127.0.0.1:{guarded.port}"
    assert check_reachable(f"redis://sale_sofia:{password(secrets)}@{place}/0") == place
    for url in (f"redis://{place}/0", f"redis://sale_sofia:wrong@{place}/0"):
        with pytest.raises(RedisUnreachable, match="does not accept this user name and password"):
            check_reachable(url)


@pytest.mark.parametrize("command", ["FLUSHALL", "FLUSHDB", "CONFIG GET dir", "SHUTDOWN", "ACL LIST"])
def test_the_user_of_the_file_may_not_empty_or_reconfigure_it(
    guarded: RedisServer, secrets: Path, command: str
) -> None:
    user = redis.Redis(port=guarded.port, username="sale_sofia", password=password(secrets))
    with user as client, pytest.raises(redis.exceptions.NoPermissionError):
        client.execute_command(*command.split())


def test_all_that_speak_to_redis_speak_tls(guarded: RedisServer, secrets: Path, tmp_path: Path) -> None:
    with tls_front(guarded.port, secrets / "server.crt", secrets / "redis.key") as port:
        options = f"ssl_cert_reqs=required&ssl_ca_certs={secrets}/ca.crt"
        url = f"rediss://sale_sofia@127.0.0.1:{port}/0?{options}"
        environ = {**os.environ, "REDIS_URL": url, "REDIS_PASSWORD_FILE": str(secrets / "redis_password")}
        told = subprocess.run(
            [sys.executable, "-c", ASK_BOTH],
            env={**environ, "DATA_DIR": str(tmp_path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert told.returncode == 0, told.stderr
        assert check_reachable(url.replace("sale_sofia@", f"sale_sofia:{password(secrets)}@"))


def test_the_certificates_pass_the_strict_rules_of_python_3_13(secrets: Path) -> None:
    files = [f"{secrets}/ca.crt", f"{secrets}/server.crt"]
    verify = ["openssl", "verify", "-x509_strict", "-CAfile", *files]
    told = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")


def test_a_certificate_of_another_maker_is_refused(
    guarded: RedisServer, secrets: Path, tmp_path: Path
) -> None:
    other = make_certificates(tmp_path).ca
    with tls_front(guarded.port, secrets / "server.crt", secrets / "redis.key") as port:
        options = f"ssl_cert_reqs=required&ssl_ca_certs={other}"
        with pytest.raises(RedisUnreachable, match="cannot be reached"):
            check_reachable(f"rediss://sale_sofia:{password(secrets)}@127.0.0.1:{port}/0?{options}")
