"""The server of the metrics: an address while it runs, one sentence where nobody can listen."""

import socket
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Gauge

from sale_sofia.operations.metrics import serve_metrics
from sale_sofia.settings.errors import ServiceUnavailable


def test_it_answers_while_the_block_lasts() -> None:
    registry = CollectorRegistry()
    Gauge("some_value", "A value.", registry=registry).set(7)
    with serve_metrics(registry, "127.0.0.1", 0) as url, urlopen(url, timeout=60) as answer:  # noqa: S310
        assert "some_value 7.0" in answer.read().decode()
    host, _, port = url.removeprefix("http://").removesuffix("/metrics").rpartition(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=60)


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServiceUnavailable) as refused,
            serve_metrics(CollectorRegistry(), "127.0.0.1", port),
        ):
            pass
    assert str(refused.value) == (
        f"metrics cannot be served on 127.0.0.1, port {port}: Address already in use; "
        "give another port, or an address of this machine"
    )


@pytest.mark.parametrize("host", ["no-such-host.invalid", "203.0.113.7"])
def test_an_address_that_is_not_ours_is_one_sentence(host: str) -> None:
    with (
        pytest.raises(ServiceUnavailable, match=rf"metrics cannot be served on {host}, port 0: "),
        serve_metrics(CollectorRegistry(), host, 0),
    ):
        pass
