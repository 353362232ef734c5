"""A mail server, which is not trusted: whatever it does, it is heard up to a moment and up to a size."""

import smtplib
import socket
import ssl
import time
from typing import Any, Final

from sale_sofia.config.alerts import MAIL_READ_BYTES, MAIL_WORDS_BYTES

STARTTLS: Final = "starttls"
_TLS: Final = "ssl"
_MODES: Final = frozenset({STARTTLS, _TLS, "insecure"})
"""As Apprise names them."""


class _Lines:
    """Lines of a server, as `smtplib` reads them. A byte every second is no way to hold us up."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until
        self._held = b""
        self._left = MAIL_WORDS_BYTES

    def readline(self, most: int) -> bytes:
        while b"\n" not in self._held and len(self._held) < most and (got := self._more()):
            self._held += got
        end = self._held.find(b"\n") + 1 or len(self._held)
        line, self._held = self._held[: min(end, most)], self._held[min(end, most) :]
        return line

    def _more(self) -> bytes:
        seconds = self._until - time.monotonic()
        if self._left <= 0:
            raise OSError("it does not stop speaking")
        try:
            self._sock.settimeout(seconds)
            got = self._sock.recv(MAIL_READ_BYTES)
        except (TimeoutError, ValueError):  # a wait of less than nothing is none
            raise TimeoutError("it did not answer in time") from None
        self._left -= len(got)
        return got

    def close(self) -> None:
        """Nothing is held open."""


class _Server(smtplib.SMTP):
    """As `smtplib` has it, for so many seconds from the first word to the last."""

    def __init__(self, host: str, port: int, seconds: float, **more: Any) -> None:  # noqa: ANN401 - its own
        self._until = time.monotonic() + seconds
        super().__init__(host, port, timeout=seconds, **more)

    def getreply(self) -> tuple[int, bytes]:
        """One answer; after a change to TLS nothing counts that was said before it."""
        if self.file is None and self.sock is not None:
            self.file = _Lines(self.sock, self._until)
        return super().getreply()


class _TlsServer(_Server, smtplib.SMTP_SSL):
    """The same, with a key from the first byte."""


def connect(service: Any) -> smtplib.SMTP:  # noqa: ANN401 - Apprise's
    """The server of Apprise's URL, which has greeted.

    Raises:
        OSError, smtplib.SMTPException: it cannot be had.
    """
    if service.secure_mode not in _MODES:
        raise smtplib.SMTPException(f"no such way of speaking to a mail server: {service.secure_mode}")
    place = service.smtp_host, service.port, service.socket_connect_timeout
    if service.secure_mode == _TLS:
        return _TlsServer(*place, context=tls_context(service))
    return _Server(*place)


def tls_context(service: Any) -> ssl.SSLContext:  # noqa: ANN401 - Apprise's
    """Certificates are checked unless the URL says otherwise."""
    context = ssl.create_default_context()
    if not service.verify_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
