from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from sale_sofia.operations.services.dashboard import (
    DashboardNotStarted,
    DashboardServer,
    bound_port,
    free_port,
)
from sale_sofia.operations.services.processes import StopSignals
from tables import each_row


@each_row(
    ("host", "asked"),
    [
        ("127.0.0.1", "http://127.0.0.1:8501/healthz"),
        ("0.0.0.0", "http://127.0.0.1:8501/healthz"),  # noqa: S104 - nothing listens
        ("::", "http://[::1]:8501/healthz"),
        ("2001:db8::1", "http://[2001:db8::1]:8501/healthz"),
    ],
)
def test_a_server_is_asked_where_it_listens(
    host: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    urls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        return httpx.Response(200)

    monkeypatch.setattr(httpx, "Client", partial(httpx.Client, transport=httpx.MockTransport(answer)))
    DashboardServer(cast("Any", None), host, 8501, tmp_path / "log").wait_ready(StopSignals())
    assert urls == [asked]


def test_there_is_no_port_above_the_last() -> None:
    assert bound_port("127.0.0.1", 65_536) is None


def test_without_any_free_port_no_option_is_spoken_of() -> None:
    """An address of nobody's: no port of it can be had."""
    with pytest.raises(DashboardNotStarted, match=r"^no port is free on 203\.0\.113\.1; "):
        free_port("203.0.113.1", None)
    with pytest.raises(DashboardNotStarted, match=r"^--port: 8500 cannot be had on 203\.0\.113\.1"):
        free_port("203.0.113.1", 8500)
