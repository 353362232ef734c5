"""The dashboard without a browser: the whole app in a thread, asked over HTTP, on a DATA_DIR of the test."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from selectolax.lexbor import LexborHTMLParser

from listening import NO_TLS, free_port
from ready_files import put_ready_file
from sale_sofia.app.application import application
from sale_sofia.app.server import routes
from sale_sofia.settings.model import Settings

PATIENCE = 120.0


class Browser(httpx.Client):
    """One person's browser: it keeps its cookies, and follows the way on after a form."""

    def __init__(
        self,
        base_url: httpx.URL | str,
        cookies: httpx.Cookies | None = None,
        *,
        follow_redirects: bool = True,
    ) -> None:
        super().__init__(
            base_url=base_url,
            cookies=cookies,
            follow_redirects=follow_redirects,
            timeout=PATIENCE,
            trust_env=False,
            verify=NO_TLS,
        )

    def text(self, path: str, status: int = 200) -> str:
        """All that is to be read at an address, spaces as plain single ones."""
        return plain(self.html(path, status))

    def html(self, path: str, status: int = 200) -> str:
        """The page as it is sent, spaces of numbers as plain ones."""
        answer = self.get(path)
        assert answer.status_code == status, (path, answer.status_code, plain(answer.text)[:500])
        return spaced(answer.text)

    def data(self, path: str) -> Any:  # noqa: ANN401 - any JSON
        """The page as data."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fill(self, path: str, **fields: Any) -> str:  # noqa: ANN401 - texts, or lists of them
        """Send a form, and read the page that it leads to."""
        answer = self.post(path, data=fields, headers={"origin": str(self.base_url).rstrip("/")})
        assert answer.status_code == 200, (path, answer.status_code, plain(answer.text)[:500])
        return plain(answer.text)


@contextmanager
def browser(data: Path, **settings: Any) -> Iterator[Browser]:  # noqa: ANN401 - any setting
    """Somebody who looks at the pages of this DATA_DIR."""
    put_ready_file(data / "sale_sofia.db")
    app = application(Settings(data_dir=data, **settings), routes())
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the dashboard did not start"
            time.sleep(0.005)
        with Browser(f"http://127.0.0.1:{port}") as opened:
            yield opened
    finally:
        server.should_exit = True
        thread.join()
        if "database" in vars(app.state.dashboard):
            app.state.dashboard.database.dispose()


def plain(html: str) -> str:
    """What is to be read of a page, in one line."""
    tree = LexborHTMLParser(html)
    for node in tree.css("script, style, head, svg, nav, option"):
        node.decompose()
    body = tree.body
    return re.sub(r"\s+", " ", spaced(unescape(body.text(separator=" ") if body else ""))).strip()


def spaced(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def harm(html: str) -> list[str]:
    """What in a page would run a script that is not a file of ours."""
    found = []
    for node in LexborHTMLParser(html).css("*"):
        given = {name: value or "" for name, value in node.attributes.items()}
        inline = node.tag == "script" and not given.get("src", "").startswith(("/static/", "/leaflet/"))
        leads = [given[name] for name in ("href", "src", "action") if name in given]
        bad = [one for one in leads if re.match(r"\s*(javascript|data:text)", one, re.IGNORECASE)]
        if inline or bad or "style" in given or any(name.startswith("on") for name in given):
            found.append(node.html or "")
    return found


def form_fields(html: str, selector: str) -> dict[str, Any]:
    """What a browser would send of this form as it stands on the page."""
    sent: dict[str, Any] = {}
    for one in LexborHTMLParser(html).css(selector)[0].css("input[name], select[name]"):
        name, value = str(one.attributes["name"]), one.attributes.get("value") or ""
        if one.tag == "select":
            options = one.css("option")
            chosen = next((option for option in options if "selected" in option.attributes), options[0])
            sent[name] = chosen.attributes["value"]
        elif one.attributes.get("type") != "checkbox":
            sent[name] = value
        elif "checked" in one.attributes:
            sent.setdefault(name, []).append(value)
    return sent
