"""The password in a real browser: asked once, kept for the browser's session, and out of reach of others."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser_pages import PATIENCE_MS, Window, window
from dashboards import Served, running_dashboard

PASSWORD = "correct horse"  # noqa: S105 - of this test
expect.set_options(timeout=PATIENCE_MS)
STRANGERS = ("127.0.0.1", "evil.localhost")
"""Pages of another program of this machine, to which browsers send cookies of all ports, and of elsewhere."""
TRY_ALL = """async (url) => {
  const socket = await new Promise((resolve) => {
    const one = new WebSocket(url.replace("http", "ws") + "/today");
    one.onopen = () => resolve("open");
    one.onerror = () => resolve("refused");
  });
  const ask = (path, options) => fetch(url + path, {credentials: "include", ...options})
    .then((answer) => answer.type === "opaque" ? "not to be read" : answer.status, () => "refused");
  const form = {method: "POST", mode: "no-cors", body: new URLSearchParams({password: "wrong horse"})};
  const frame = document.createElement("iframe");
  await new Promise((resolve) => {
    frame.onload = resolve; frame.src = url + "/today"; document.body.append(frame);
  });
  return {
    socket, read: await ask("/", {}), data: await ask("/search.json", {}),
    note: await ask("/flat/1/note", {method: "POST", body: "text=x", headers: {"x-own": "1"}}),
    remove: await ask("/search/forget", {method: "DELETE"}),
    forms: [await ask("/", form), await ask("/", form)],
  };
}"""
"""All that a page can have a browser do without being asked."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard with a password on an empty database."""
    data: Path = tmp_path_factory.mktemp("guarded")
    with running_dashboard(data, DASHBOARD_PASSWORD=PASSWORD) as running:
        yield running


def test_a_login_is_kept_over_reloads_and_in_new_tabs(browser: Browser, guarded: Served) -> None:
    with window(browser, guarded.url) as opened:
        opened.page.goto(f"{guarded.url}/search?price_max=150000")
        assert _is_asked(opened)
        assert opened.serious() == []
        _give(opened, "wrong horse")
        expect(opened.page.get_by_role("alert")).to_have_text("Паролата не е вярна.")
        opened.page.wait_for_timeout(1100)  # a wrong try costs a second
        _give(opened, PASSWORD)
        opened.settle()
        expect(opened.page).to_have_url(re.compile(r"/search\?.*price_max=150000"))
        opened.reload()
        assert not _is_asked(opened)
        tab = Window(opened.page.context.new_page(), guarded.url)
        tab.open("today")
        tab.has("Още няма нито една обява.")
        assert "login" not in opened.page.evaluate("document.cookie")
        kept = {one["name"]: one for one in opened.page.context.cookies()}["sale_sofia_login"]
        assert (kept["httpOnly"], kept["sameSite"], kept["expires"]) == (True, "Strict", -1)
        assert opened.errors == []
    with window(browser, guarded.url) as stranger:
        stranger.page.goto(guarded.url)
        assert _is_asked(stranger)


class EmptyPage(BaseHTTPRequestHandler):
    """A page of somebody else; its scripts are given by the test."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>x</title><body>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server of somebody else."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_pages_of_others_can_do_nothing_with_a_login(browser: Browser, guarded: Served, port: int) -> None:
    with window(browser, guarded.url) as opened:
        opened.page.goto(guarded.url)
        _give(opened, PASSWORD)
        opened.settle()
        for name in STRANGERS:
            _try_all(opened, guarded.url, f"http://{name}:{port}/")
        opened.reload()
        assert not _is_asked(opened)
    with window(browser, guarded.url) as owner:  # no wrong try of a page is one of the buyer's
        owner.page.goto(guarded.url)
        _give(owner, PASSWORD)
        owner.settle()


def _try_all(opened: Window, url: str, origin: str) -> None:
    stranger = opened.page.context.new_page()
    stranger.goto(origin)
    told = stranger.evaluate(TRY_ALL, url)
    no = dict.fromkeys(("socket", "read", "data", "note", "remove"), "refused")
    assert (origin, told) == (origin, {**no, "forms": ["not to be read"] * 2})
    assert [one.url for one in stranger.frames[1:] if one.url.startswith(url)] == []
    stranger.goto(origin)
    stranger.evaluate(FORM, [url, PASSWORD])
    expect(stranger.get_by_text("A page of another address asked for this")).to_be_visible()
    stranger.close()


FORM = """([url, password]) => {
  document.body.innerHTML = '<form method="post"><input name="password"></form>';
  const form = document.forms[0];
  form.action = url; form.password.value = password; form.submit();
}"""


def _is_asked(opened: Window) -> bool:
    return opened.page.get_by_label("Парола").count() == 1


def _give(opened: Window, password: str) -> None:
    opened.page.get_by_label("Парола").fill(password)
    opened.page.get_by_role("button", name="Влез").click()
