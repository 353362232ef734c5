"""A server in front of a simulated portal: it hands pages on, and changes those that it is told to."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    location: str = ""


Instead = Callable[[Sent], Sent]


def always(sent: Sent) -> Instead:
    """This, whatever the portal says."""
    return lambda _: sent


def replaced(old: str, new: str, charset: str = "windows-1251") -> Instead:
    """The portal's page with other words in it."""

    def change(sent: Sent) -> Sent:
        text = sent.body.decode(charset)
        assert re.search(old, text), old
        return replace(sent, body=re.sub(old, new, text).encode(charset))

    return change


@dataclass(slots=True)
class Front:
    """Where it is, and what it was asked for, in order."""

    behind: str
    instead: Mapping[str, Instead]
    """By a pattern of the whole path and query: what becomes of the portal's answer; the first counts."""
    url: str = ""
    asked: list[str] = field(default_factory=list)

    def here(self, url: str) -> str:
        """An address of the portal's, at this server."""
        return url.replace(self.behind, self.url)

    def answer(self, path: str) -> Sent:
        """What is sent."""
        self.asked.append(path)
        change = next((how for pattern, how in self.instead.items() if re.fullmatch(pattern, path)), None)
        sent = self._handed_on(path)
        return change(sent) if change else sent

    def _handed_on(self, path: str) -> Sent:
        try:
            with urlopen(self.behind + path, timeout=PATIENCE_SECONDS) as got:  # noqa: S310 - our own
                status, body, kind = got.status, got.read(), got.headers["Content-Type"]
        except HTTPError as error:
            with error:
                status, body, kind = error.code, error.read(), error.headers["Content-Type"]
        return Sent(status, body.replace(self.behind.encode(), self.url.encode()), kind)


@contextmanager
def in_front(behind: str, instead: Mapping[str, Instead]) -> Iterator[Front]:
    """The server, until the block ends."""
    front = Front(behind, instead)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = front.answer(self.path)
            self.send_response(sent.status)
            self.send_header("Content-Type", sent.content_type)
            self.send_header("Content-Length", str(len(sent.body)))
            if sent.location:
                self.send_header("Location", sent.location)
            self.end_headers()
            self.wfile.write(sent.body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        front.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield front
        finally:
            server.shutdown()
