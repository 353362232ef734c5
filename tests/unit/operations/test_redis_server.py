import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from new_processes import FORKED
from sale_sofia.operations.services import redis as redis_start
from sale_sofia.operations.services.processes import Process, born
from sale_sofia.operations.services.redis import RedisServer, ServerRecord, read_record, write_record
from sale_sofia.settings.errors import PortTaken, RedisNotStarted
from unit.operations.redis_users import PATIENCE, servers_in, start_and_die

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
EVERY_WRITE = ("--appendfsync", "always")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a name that needs care; no server is left in it."""
    made = tmp_path / "новa folder"
    yield made
    assert servers_in(made) == []


def client_of(server: RedisServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, decode_responses=True)


def put(server: RedisServer, **values: str) -> None:
    with client_of(server) as client:
        client.mset(values)


def get(server: RedisServer, key: str) -> object:
    with client_of(server) as client:
        return client.get(key)


def config_of(server: RedisServer, *names: str) -> dict[str, str]:
    with client_of(server) as client:
        return dict(client.config_get(*names))


def test_runs_as_asked_and_leaves_nothing_running(folder: Path) -> None:
    with RedisServer.start(folder) as server:
        assert servers_in(folder) == [server.pid]
        assert server.url == f"redis://127.0.0.1:{server.port}/0"
        wanted = {
            "bind": "127.0.0.1",
            "protected-mode": "yes",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "aof-load-truncated": "yes",
            "maxmemory-policy": "noeviction",
            "save": "",
            "dir": str(folder),
        }
        assert config_of(server, *wanted) == wanted
        assert server.alive
    assert not server.alive
    assert RedisServer.find(folder) is None
    server.stop()


def test_a_terminals_ctrl_c_does_not_reach_it(folder: Path) -> None:
    with RedisServer.start(folder) as server:
        assert os.getsid(server.pid) == server.pid
        assert os.getsid(server.pid) != os.getsid(0)


def test_keeps_no_file_of_its_starter_open(folder: Path) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)  # noqa: FBT003
    with RedisServer.start(folder), os.fdopen(reader, "rb") as pipe:
        os.close(writer)
        os.set_blocking(pipe.fileno(), False)
        assert pipe.read() == b""  # the end, not "nothing yet", which is None


def test_only_its_owner_may_look_into_its_folder(folder: Path) -> None:
    with RedisServer.start(folder):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_data_survives_a_stop(folder: Path) -> None:
    with RedisServer.start(folder) as server:
        put(server, city="София")
    with RedisServer.start(folder) as server:
        assert get(server, "city") == "София"


def test_data_survives_a_kill(folder: Path) -> None:
    with RedisServer.start(folder, options=EVERY_WRITE) as server:
        pid, port = server.pid, server.port
        put(server, city="София")
        server.kill()
        assert not server.alive
        server.restart()
        assert (server.port, get(server, "city")) == (port, "София")
        assert server.pid != pid
        assert config_of(server, "appendfsync") == {"appendfsync": "always"}
        assert RedisServer.find(folder) == server


@pytest.mark.slow
def test_data_older_than_a_second_survives_a_kill_with_the_default_options(folder: Path) -> None:
    with RedisServer.start(folder) as server:
        put(server, city="София")
        time.sleep(1.5)
        server.kill()
        server.restart()
        assert get(server, "city") == "София"


def test_a_log_cut_off_in_the_middle_of_a_write_loses_only_that_write(folder: Path) -> None:
    with RedisServer.start(folder, options=EVERY_WRITE) as server:
        put(server, first="1")
        put(server, second="2")
        server.kill()
        (log,) = (folder / "appendonlydir").glob("*.incr.aof")
        with log.open("r+b") as file:
            file.truncate(log.stat().st_size - 5)
        server.restart()
        assert (get(server, "first"), get(server, "second")) == ("1", None)


def test_is_found_even_when_its_data_was_flushed(folder: Path) -> None:
    with RedisServer.start(folder, options=EVERY_WRITE) as server:
        with client_of(server) as client:
            client.flushall()
        assert RedisServer.find(folder) == server


def test_is_found_by_another_path_to_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RedisServer.start(folder) as server:
        monkeypatch.chdir(folder.parent)
        assert RedisServer.find(Path(folder.name)) == server


@pytest.mark.slow
def test_is_found_when_its_starter_died_before_writing_it_down(folder: Path) -> None:
    reader, writer = FORKED.Pipe(duplex=False)
    starter = FORKED.Process(target=start_and_die, args=(folder, writer))
    starter.start()
    pid = reader.recv()
    starter.join(PATIENCE)
    reader.close()
    writer.close()
    assert starter.exitcode == 9
    record = read_record(folder)
    assert record is not None
    assert record.pid is None
    deadline = time.monotonic() + PATIENCE
    while (found := RedisServer.find(folder)) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert found is not None
    with found:
        assert found.pid == pid
        assert RedisServer.find(folder) == found


def test_two_servers_never_share_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_FOLDER_SECONDS", 0.1)
    with RedisServer.start(folder) as server:
        (folder / "server.json").unlink()
        with pytest.raises(RedisNotStarted) as error:
            RedisServer.start(folder)
        assert str(error.value) == f"{folder} is in use by a Redis server; stop it first."
        assert servers_in(folder) == [server.pid]


def test_a_server_that_hangs_is_named_and_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_FOLDER_SECONDS", 0.1)
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_ANSWER_SECONDS", 0.2)
    with RedisServer.start(folder) as server:
        os.kill(server.pid, signal.SIGSTOP)
        assert RedisServer.find(folder) is None
        with pytest.raises(RedisNotStarted, match=f"does not answer, process {server.pid}; stop it first"):
            RedisServer.start(folder)
        os.kill(server.pid, signal.SIGCONT)
        assert RedisServer.find(folder) == server


def test_a_server_that_does_not_leave_is_killed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_STOP_SECONDS", 0.2)
    server = RedisServer.start(folder)
    os.kill(server.pid, signal.SIGSTOP)
    server.stop()
    assert not server.alive


def test_a_stale_record_is_replaced_and_its_port_taken_up_again(folder: Path) -> None:
    dead = RedisServer.start(folder)
    dead.kill()
    assert read_record(folder) is not None
    assert RedisServer.find(folder) is None
    with RedisServer.start(folder) as server:
        assert (server.port, server.nonce != dead.nonce) == (dead.port, True)
        dead.stop()
        assert RedisServer.find(folder) == server


@pytest.mark.parametrize("text", ["", "{", "[]", '{"port": 0, "nonce": "x"}', '{"port": "1"}', "\0"])
def test_a_record_that_makes_no_sense_is_no_record(text: str, folder: Path) -> None:
    folder.mkdir()
    (folder / "server.json").write_text(text)
    assert RedisServer.find(folder) is None
    with RedisServer.start(folder) as server:
        assert RedisServer.find(folder) == server


def test_a_stranger_on_the_recorded_port_is_neither_adopted_nor_touched(folder: Path, tmp_path: Path) -> None:
    with RedisServer.start(tmp_path / "stranger") as stranger:
        put(stranger, theirs="1")
        record = ServerRecord(port=stranger.port, nonce="ours", pid=stranger.pid, born=stranger.process.born)
        folder.mkdir()
        write_record(folder, record)
        assert RedisServer.find(folder) is None
        with RedisServer.start(folder) as server:
            assert server.port != stranger.port
            assert get(server, "theirs") is None
        assert (stranger.alive, get(stranger, "theirs")) == (True, "1")


@pytest.mark.parametrize("same_birth", [True, False])
def test_a_record_with_our_nonce_and_another_process_is_not_believed(
    folder: Path,
    same_birth: bool,  # noqa: FBT001
) -> None:
    with RedisServer.start(folder) as server, subprocess.Popen(SLEEP) as stranger:
        record = read_record(folder)
        assert record is not None
        born_then = born(stranger.pid) if same_birth else record.born
        write_record(folder, record.model_copy(update={"pid": stranger.pid, "born": born_then}))
        assert RedisServer.find(folder) is None
        write_record(folder, record.model_copy(update={"born": "another time"}))
        assert RedisServer.find(folder) is None
        write_record(folder, record)
        assert RedisServer.find(folder) == server
        assert stranger.poll() is None
        stranger.kill()


def test_a_process_that_got_the_servers_number_is_not_killed(folder: Path) -> None:
    with RedisServer.start(folder) as server, subprocess.Popen(SLEEP) as stranger:
        mistaken = RedisServer(folder, server.port, (), Process(stranger.pid, server.process.born), "ours")
        assert not mistaken.alive
        mistaken.stop()
        mistaken.kill()
        assert stranger.poll() is None
        assert RedisServer.find(folder) == server
        stranger.kill()


def test_a_taken_port_is_one_sentence(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken) as error:
            RedisServer.start(folder, port=port)
    assert str(error.value) == f"Port {port} of 127.0.0.1 is taken by another program."
    assert read_record(folder) is None


def test_a_port_taken_by_another_redis_is_not_mistaken_for_a_start(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisServer.start(tmp_path / "stranger") as stranger:
        looks = iter([False, True])  # as if the stranger came between our look and our server's
        monkeypatch.setattr(redis_start, "_is_taken", lambda _: next(looks))
        with pytest.raises(PortTaken):
            RedisServer.start(folder, port=stranger.port)
        assert stranger.alive
    assert "Address already in use" in (folder / "redis.log").read_text()


def test_a_port_taken_after_it_was_chosen_means_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as other:
        ports = [taken.getsockname()[1], other.getsockname()[1]]
        free = next(redis_start._ports(folder))  # noqa: SLF001
        monkeypatch.setattr(redis_start, "_ports", lambda _: iter([*ports, free]))
        with RedisServer.start(folder) as server:
            assert server.port == free
        monkeypatch.setattr(redis_start, "_ports", lambda _: iter(ports))
        with pytest.raises(PortTaken, match=str(ports[1])):
            RedisServer.start(folder)


def test_a_start_that_fails_quotes_the_servers_last_words(folder: Path) -> None:
    with pytest.raises(RedisNotStarted) as error:
        RedisServer.start(folder, options=["--nonsense", "yes"])
    assert str(error.value) == (
        f"Redis did not start in {folder}; its last words: 'Bad directive or wrong number of arguments'."
    )
    assert read_record(folder) is None


def test_data_that_cannot_be_read_is_left_alone(folder: Path) -> None:
    with RedisServer.start(folder, options=EVERY_WRITE) as server:
        put(server, first="1")
        put(server, second="2")
    (log,) = (folder / "appendonlydir").glob("*.incr.aof")
    broken = log.read_bytes().replace(b"first", b"fi*st\r\n")
    log.write_bytes(broken)
    with pytest.raises(RedisNotStarted, match="Bad file format reading the append only file"):
        RedisServer.start(folder)
    assert log.read_bytes() == broken


def test_a_server_that_takes_too_long_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_START_SECONDS", 0.3)
    monkeypatch.setattr(redis_start, "is_ready", lambda _: False)
    with pytest.raises(
        RedisNotStarted, match=r"^Redis did not answer within 0.3 s; its last words: '.*Ready"
    ):
        RedisServer.start(folder)


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RedisNotStarted) as error:
        RedisServer.start(tmp_path / "file" / "redis")
    assert str(error.value) == f"Redis cannot be started in {tmp_path}/file/redis: Not a directory."


def test_the_log_of_the_start_before_is_kept(folder: Path) -> None:
    with RedisServer.start(folder) as first:
        pass
    with RedisServer.start(folder):
        assert f"{first.pid}:" in (folder / "redis.log.1").read_text()
        assert f"{first.pid}:" not in (folder / "redis.log").read_text()
