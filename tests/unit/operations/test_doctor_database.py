from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import text

from contract.storage.helpers import database, ready_database
from postgres_servers import READY, PostgresServer
from sale_sofia.operations.doctor import database_clock_offset, look_at_database
from sale_sofia.settings.model import Settings, load_settings


def settings(url: str) -> Settings:
    return load_settings().model_copy(update={"database_url": SecretStr(url)})


def test_a_file_that_is_there_or_will_be(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    absent = f"{tmp_path / 'x.db'}: no tables yet, they are made when first needed"
    assert look_at_database(settings(url)) == [(absent, None)]
    assert list(tmp_path.iterdir()) == []
    ready_database(tmp_path / "x.db").dispose()
    assert look_at_database(settings(url)) == [(f"{tmp_path / 'x.db'}: ready, sound", None)]
    assert database_clock_offset(settings(url)) is None


@pytest.mark.slow
def test_a_server(postgres_server: PostgresServer) -> None:
    [(found, advice)] = look_at_database(settings(postgres_server.new_database(READY)))
    assert found.startswith(f"postgresql://127.0.0.1:{postgres_server.port}/test")
    assert (found.rpartition(": ")[2], advice) == ("ready, sound", None)
    offset = database_clock_offset(settings(postgres_server.new_database(READY)))
    assert offset is not None
    assert abs(offset) < 300
    assert database_clock_offset(settings(postgres_server.url("nowhere"))) is None
    [(found, advice)] = look_at_database(settings(postgres_server.url("nowhere")))
    assert "There is no database postgresql://" in found
    assert advice == "Correct DATABASE_URL, or unset it to use a file in DATA_DIR."


@pytest.mark.slow
def test_a_damaged_table_of_a_server_is_named(postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database(READY)
    source = database(url)
    with source.write() as connection:
        connection.execute(text("INSERT INTO pages VALUES (1, 's', 'u', 'listing', 'd', NULL, 1.0)"))
    source.dispose()
    copied = postgres_server.new_database(url.rpartition("/")[2])  # its pages are in no memory yet
    with postgres_server.admin(copied.rpartition("/")[2]) as admin:
        [(folder, file)] = admin.execute(
            "SELECT current_setting('data_directory'), pg_relation_filepath('pages')"
        ).fetchall()
    (Path(folder) / file).write_bytes(b"\xff" * 8192)
    [(found, advice)] = look_at_database(settings(copied))
    assert "damaged: pages: invalid page in block 0" in found
    assert advice is not None
    assert "sale-sofia restore FILE" in advice
