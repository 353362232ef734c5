import asyncio
import random
import socket
import time
from collections.abc import Iterator

import pytest
import redis
from redis.asyncio import Redis as AsyncRedis
from redis.backoff import NoBackoff
from redis.retry import Retry

from chaos_proxy import ChaosProxy
from chaos_requests import Requests
from sale_sofia.operations.services.redis import RedisServer
from tables import each_row

SHORT = 1.0


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One of these tests' own: they empty it, and count what is in it."""
    with RedisServer.start(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def direct(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """The server itself, with an empty first database."""
    with redis.Redis(port=redis_server.port, decode_responses=True) as client:
        client.flushdb()
        yield client


@pytest.fixture
def proxy(redis_server: RedisServer, direct: redis.Redis) -> Iterator[ChaosProxy]:
    assert direct.dbsize() == 0
    with ChaosProxy("127.0.0.1", redis_server.port) as made:
        yield made


def client_of(proxy: ChaosProxy, retries: int = 0) -> redis.Redis:
    return redis.Redis.from_url(
        proxy.url, decode_responses=True, socket_timeout=SHORT, retry=Retry(NoBackoff(), retries)
    )


@pytest.fixture
def client(proxy: ChaosProxy) -> Iterator[redis.Redis]:
    with client_of(proxy) as made:
        yield made


def test_passes_everything_on(proxy: ChaosProxy, client: redis.Redis, direct: redis.Redis) -> None:
    seed = 7
    large = random.Random(seed).randbytes(3_000_000).hex()
    client.ping()
    handshake = proxy.commands - 1
    assert client.set("large", large)
    assert client.get("large") == large
    assert direct.get("large") == large
    assert (proxy.connections, proxy.commands - handshake) == (1, 3)


def test_counts_every_command_of_a_pipeline(proxy: ChaosProxy, client: redis.Redis) -> None:
    client.ping()
    before = proxy.commands
    pipeline = client.pipeline(transaction=True)
    for number in range(5):
        pipeline.set(f"key{number}", number)
    pipeline.execute()
    assert proxy.commands - before == 7  # MULTI and EXEC around them


def test_dropped_reply_of_a_command_that_was_done(
    proxy: ChaosProxy, client: redis.Redis, direct: redis.Redis
) -> None:
    client.ping()
    proxy.drop_reply()
    with pytest.raises(redis.ConnectionError):
        client.incr("count")
    assert direct.get("count") == "1"
    assert client.incr("count") == 2
    assert proxy.connections == 2


def test_replies_are_dropped_as_often_as_asked(proxy: ChaosProxy, direct: redis.Redis) -> None:
    proxy.drop_reply(3)
    with client_of(proxy, retries=3) as stubborn:
        assert stubborn.incr("count") == 4
    assert direct.get("count") == "4"


def test_only_the_named_command_loses_its_reply(
    proxy: ChaosProxy, client: redis.Redis, direct: redis.Redis
) -> None:
    proxy.drop_reply(command="incrby")  # what the client sends for `incr`
    assert client.set("other", "1")
    assert client.get("other") == "1"
    with pytest.raises(redis.ConnectionError):
        client.incr("count")
    assert direct.get("count") == "1"


@pytest.mark.slow
def test_blackhole_keeps_connections_open_and_silent(
    proxy: ChaosProxy, client: redis.Redis, direct: redis.Redis
) -> None:
    client.ping()
    commands = proxy.commands
    proxy.blackhole()
    with pytest.raises(redis.TimeoutError):
        client.set("old", "1")
    with client_of(proxy) as newcomer, pytest.raises(redis.TimeoutError):
        newcomer.set("new", "1")
    assert (proxy.connections, proxy.commands) == (2, commands)
    proxy.pass_on()
    assert direct.dbsize() == 0
    assert client.set("old", "2")


@pytest.mark.slow
def test_what_was_lost_stays_lost(proxy: ChaosProxy, direct: redis.Redis) -> None:
    with socket.create_connection(("127.0.0.1", proxy.port), SHORT) as half_open:
        half_open.sendall(b"*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n")
        its_own = half_open.recv(99).decode().strip(":\r\n")
        assert its_own in connections_of(direct)
        proxy.blackhole()
        half_open.sendall(b"*1\r\n$4\r\nPI")
        time.sleep(SHORT)
        proxy.pass_on()
        half_open.sendall(b"NG\r\n")
        with pytest.raises(TimeoutError):
            half_open.recv(99)
    time.sleep(SHORT)
    # The server was not told of the end: it keeps the half-open connection.
    assert its_own in connections_of(direct)


def connections_of(direct: redis.Redis) -> set[str]:
    """The server's own numbers of who is connected with it."""
    return {str(client["id"]) for client in direct.client_list()}


@pytest.mark.slow
def test_latency_delays_answers(proxy: ChaosProxy, client: redis.Redis) -> None:
    client.ping()
    proxy.latency(0.15)
    begin = time.monotonic()
    client.ping()
    assert time.monotonic() - begin >= 0.15
    proxy.latency(SHORT * 2)
    with pytest.raises(redis.TimeoutError):
        client.ping()
    proxy.pass_on()
    assert client.ping()


def test_reset_breaks_off_present_connections(proxy: ChaosProxy) -> None:
    with socket.create_connection(("127.0.0.1", proxy.port), SHORT) as plain:
        plain.sendall(b"*1\r\n$4\r\nPING\r\n")
        assert plain.recv(99) == b"+PONG\r\n"
        proxy.reset()
        with pytest.raises(ConnectionResetError):
            plain.recv(99)
    with client_of(proxy) as later:
        assert later.ping()


def test_refuses_newcomers_only_until_told_otherwise(proxy: ChaosProxy, client: redis.Redis) -> None:
    client.ping()
    proxy.refuse()
    assert client.ping()
    for _ in range(2):
        with client_of(proxy) as newcomer, pytest.raises(redis.ConnectionError, match="refused"):
            newcomer.ping()
    proxy.pass_on()
    with client_of(proxy) as newcomer:
        assert newcomer.ping()


def test_serves_an_event_loop_as_well(proxy: ChaosProxy, direct: redis.Redis) -> None:
    async def use() -> list[int]:
        async with AsyncRedis.from_url(proxy.url) as client:
            return await asyncio.gather(*(client.incr("count") for _ in range(20)))

    assert sorted(asyncio.run(use())) == list(range(1, 21))
    assert direct.get("count") == "20"


def test_a_server_that_is_gone_closes_the_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with ChaosProxy("127.0.0.1", port) as proxy, client_of(proxy) as client:
        with pytest.raises(redis.ConnectionError):
            client.ping()
        assert (proxy.connections, proxy.commands) == (1, 0)


@each_row("size", [1, 2, 3, 7, 1000])
def test_commands_are_read_however_they_are_cut(size: int) -> None:
    sent = (
        b"*2\r\n$3\r\nGET\r\n$6\r\n*1\r\n$4\r\n*1\r\n$4\r\nping\r\n*3\r\n$3\r\nset\r\n$0\r\n\r\n$1\r\n\n\r\n"
    )
    requests = Requests()
    pieces = [sent[start : start + size] for start in range(0, len(sent), size)]
    assert [name for piece in pieces for name in requests.feed(piece)] == ["GET", "PING", "SET"]
