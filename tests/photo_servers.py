"""A portal's pictures on the loopback, good ones and traps; and adverts that may be one flat."""

import io
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from PIL import Image

from property_worlds import advert
from sale_sofia.listings.model import Listing

ROUND = {"price_eur": 480_000.0, "area_sqm": 85.0}
"""Numbers that many flats have."""
Sent = tuple[int, Mapping[str, str], bytes | Callable[[BaseHTTPRequestHandler], None]]


@dataclass
class PhotoServer:
    """What it answers to each path, and what it was asked."""

    url: str = ""
    answers: dict[str, Sent] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    accepted: set[str | None] = field(default_factory=set)

    def show(self, path: str, body: bytes, kind: str = "image/jpeg") -> str:
        """From now on this picture is there; its address."""
        self.answers[path] = (200, {"Content-Type": kind}, body)
        return self.url + path

    @property
    def photos(self) -> list[str]:
        """The paths that were asked for, but for robots.txt."""
        return [path for path in self.asked if path != "/robots.txt"]


@contextmanager
def photo_server() -> Iterator[PhotoServer]:
    portal = PhotoServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            portal.asked.append(self.path)
            portal.accepted.add(self.headers["Accept"])
            status, headers, body = portal.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(OSError):  # who asked has had enough
                    self.wfile.write(body)
                return
            self.end_headers()
            body(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    portal.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield portal
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def pair(portal: PhotoServer, one: Sequence[str], two: Sequence[str], **second: object) -> list[Listing]:
    """Two adverts that a person would have to judge, with these photos."""
    first = advert("a1", **ROUND, url=f"{portal.url}/obiava-a1", photo_urls=tuple(one))
    own = {"floor": None, "seller_name": "СИНЯ ЖАБА", "url": f"{portal.url}/obiava-a2"}
    return [first, advert("a2", **{**ROUND, **own, **second}, photo_urls=tuple(two))]


# Traps.


def png(width: int, height: int, rows: bytes) -> bytes:
    """A grey picture that says it has this size, whatever its rows are."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def bomb(side: int) -> bytes:
    """So many rows of so many pixels, all black: a thousand times smaller than what comes out."""
    packer = zlib.compressobj(9)
    rows = [packer.compress(bytes(side + 1)) for _ in range(side)]
    return png(side, side, b"".join([*rows, packer.flush()]))


def endless_scans(side: int, scans: int) -> bytes:
    """A progressive JPEG whose last scan is said again and again: small to send, long to unpack."""
    file = io.BytesIO()
    Image.new("L", (side, side)).save(file, "JPEG", progressive=True)
    whole = file.getvalue()
    last = whole.rindex(b"\xff\xda")
    return whole[:last] + whole[last:-2] * scans + whole[-2:]
