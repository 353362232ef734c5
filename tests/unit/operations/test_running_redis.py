import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import IO

import pytest
import redis

from new_processes import FORKED
from sale_sofia.operations.services import redis as module
from sale_sofia.operations.services.ownership import ALONE, SHARED, lock_file, take
from sale_sofia.operations.services.redis import RedisServer, running_redis
from sale_sofia.settings.errors import RedisNotStarted
from unit.operations.redis_users import PATIENCE, own_settings, servers_in, use_with_others, users


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "data"
    yield made
    assert servers_in(made / "redis") == []


def server_of(data: Path) -> RedisServer:
    found = RedisServer.find(data / "redis")
    assert found is not None
    return found


def test_one_user_has_a_server_as_long_as_it_is_needed(data: Path) -> None:
    with running_redis(own_settings(data)) as url, redis.Redis.from_url(url) as client:
        assert client.set("city", "София")
        assert servers_in(data / "redis") == [server_of(data).pid]
    assert servers_in(data / "redis") == []
    with running_redis(own_settings(data)) as url, redis.Redis.from_url(url) as client:
        assert client.get("city") == "София".encode()


def test_a_relative_data_folder(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with running_redis(own_settings(Path("data"))):
        monkeypatch.chdir("/")
        assert server_of(data).alive
    assert servers_in(data / "redis") == []


def test_nested_users_share_it(data: Path) -> None:
    with running_redis(own_settings(data)) as outer:
        with running_redis(own_settings(data)) as inner:
            assert inner == outer
        assert server_of(data).alive


def test_an_error_of_its_user_stops_it_too(data: Path) -> None:
    with pytest.raises(ZeroDivisionError), running_redis(own_settings(data)):
        raise ZeroDivisionError
    assert servers_in(data / "redis") == []


@pytest.mark.slow
def test_ten_processes_at_once_share_one_server_and_the_last_stops_it(data: Path) -> None:
    count = 10
    together = FORKED.Barrier(count)
    pipes: list[tuple[Pipe, Pipe]] = [FORKED.Pipe(duplex=False) for _ in range(count)]
    processes = [FORKED.Process(target=use_with_others, args=(data, together, writer)) for _, writer in pipes]
    for process, (_, writer) in zip(processes, pipes, strict=True):
        process.start()
        writer.close()  # so that a process that fails is an end of its pipe, not a long wait
    told = [reader.recv() for reader, _ in pipes]
    for process in processes:
        process.join(PATIENCE)
    assert [process.exitcode for process in processes] == [0] * count
    assert len({url for url, _ in told}) == 1
    assert sorted(number for _, number in told) == list(range(1, count + 1))
    assert servers_in(data / "redis") == []
    for reader, _ in pipes:
        reader.close()


@pytest.mark.slow
def test_a_killed_user_does_not_keep_it_alive(data: Path) -> None:
    with users(data, 3) as (starter, killed, last):
        pid = server_of(data).pid
        assert {starter.url, killed.url, last.url} == {server_of(data).url}
        starter.leave()
        assert servers_in(data / "redis") == [pid]
        killed.die()
        assert servers_in(data / "redis") == [pid]
        last.leave()
        assert servers_in(data / "redis") == []


@pytest.mark.slow
def test_a_server_left_behind_by_killed_users_is_joined_and_stopped(data: Path) -> None:
    with users(data, 1) as (killed,):
        killed.die()
        pid = server_of(data).pid
        with running_redis(own_settings(data)) as url:
            assert (url, server_of(data).pid) == (killed.url, pid)
    assert servers_in(data / "redis") == []


@pytest.mark.slow
def test_a_server_that_died_comes_back_where_its_users_know_it(data: Path) -> None:
    with users(data, 1) as (early,):
        server_of(data).kill()
        with running_redis(own_settings(data)) as url:
            assert url == early.url
            with redis.Redis.from_url(early.url) as client:
                assert client.ping()
        assert server_of(data).alive
        early.leave()
    assert servers_in(data / "redis") == []


def test_a_server_that_hangs_does_not_outlive_its_last_user(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_ANSWER_SECONDS", 0.2)
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_STOP_SECONDS", 0.2)
    with running_redis(own_settings(data)):
        os.kill(server_of(data).pid, signal.SIGSTOP)
    assert servers_in(data / "redis") == []


def test_a_forked_child_that_leaves_does_not_stop_it(data: Path) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(running_redis(own_settings(data)))
        child = os.fork()
        if child == 0:
            stack.close()
            os._exit(0)  # nothing of the child may reach pytest
        assert os.waitpid(child, 0) == (child, 0)
        with redis.Redis.from_url(url) as client:
            assert client.ping()


def test_who_left_holds_no_lock_when_the_next_one_comes_in(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave = module._leave  # noqa: SLF001 - the moment after it is what is tested

    def leave_and_look(folder: Path, users: IO[str], server: RedisServer) -> None:
        leave(folder, users, server)
        with lock_file(folder / "users.lock") as another:
            take(another, SHARED)

    monkeypatch.setattr(module, "_leave", leave_and_look)
    with running_redis(own_settings(data)):
        assert server_of(data).alive


def test_a_door_that_stays_shut_is_one_sentence(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sale_sofia.operations.settings.REDIS_DOOR_SECONDS", 0.1)
    (data / "redis").mkdir(parents=True)
    with lock_file(data / "redis" / "door.lock") as door:
        take(door, ALONE)
        with pytest.raises(RedisNotStarted) as error, running_redis(own_settings(data)):
            pass
    assert str(error.value) == (
        f"For 0.1 s another process is starting or stopping Redis in {data / 'redis'}."
    )


def test_a_file_in_place_of_the_data_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RedisNotStarted, match=r"file/redis: Not a directory\.$"),
        running_redis(own_settings(tmp_path / "file")),
    ):
        pass
