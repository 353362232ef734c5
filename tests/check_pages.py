"""A page of the user's over TLS on the loopback: what PROXY_CHECK_URL may name."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from fleet_certificates import make_certificates


@contextmanager
def check_page(folder: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Its port, which proxies have to lead to, and the settings that name it."""
    folder.mkdir(exist_ok=True)
    certificates = make_certificates(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    server.socket = certificates.server.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    port = int(server.server_address[1])
    try:
        yield (
            port,
            {"PROXY_CHECK_URL": f"https://127.0.0.1:{port}/here", "PROXY_JUDGE_CA": str(certificates.ca)},
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join(20)


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"here")

    def log_message(self, *_: object) -> None: ...
