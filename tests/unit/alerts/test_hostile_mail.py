"""A mail server that means harm: a message is not sent, in time and in a short sentence, and that is all."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from fleet_certificates import make_certificates
from sale_sofia.alerts.channels import Channel, ChannelSender, NotSent
from sale_sofia.alerts.wording import Text
from tables import each_row

SECONDS = 2.0
PATIENCE = 30.0
Talk = Callable[[socket.socket], None]


def pour(words: bytes) -> Talk:
    """Without end, as fast as it goes."""

    def talk(connection: socket.socket) -> None:
        while True:
            connection.sendall(words)

    return talk


def drip(words: bytes) -> Talk:
    """A byte now and then, without end."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(words)
        while True:
            connection.sendall(b"x")
            time.sleep(0.1)

    return talk


def polite(*, last: Talk | None = None, **answers: bytes) -> Talk:
    """As a good server, but for these answers; `last` is what it does after the mail."""

    def talk(connection: socket.socket) -> None:
        connection.sendall(answers.get("hello", b"220 loopback\r\n"))
        for line in connection.makefile("rb"):
            word = line.split()[0].decode("ascii", "replace").lower()
            if word == "data":
                connection.sendall(b"354 go on\r\n")
                _read_mail(connection)
                if last:
                    last(connection)
            connection.sendall(answers.get(word, b"250 fine\r\n"))

    return talk


def _read_mail(connection: socket.socket) -> None:
    read = b""
    while not read.endswith(b"\r\n.\r\n"):
        read += connection.recv(4096)


@contextmanager
def mail_server(talk: Talk) -> Iterator[int]:
    """Its port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError):
                        talk(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def send(port: int, scheme: str = "mailto", more: str = "") -> str:
    """Why a message was not sent; from a thread, as the dashboard sends, where no signal ends anything."""
    login = "user:secretword@" if scheme == "mailtos" else ""
    url = f"{scheme}://{login}127.0.0.1:{port}?from=a@example.com&to=b@example.com{more}"
    told: list[str] = []

    def work() -> None:
        try:
            ChannelSender(SECONDS).send(Channel("mail", SecretStr(url)), Text("s", "b"), "uid")
        except NotSent as error:
            told.append(str(error))

    began, thread = time.monotonic(), threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), f"it still waits after {time.monotonic() - began:.0f} seconds"
    return told[0] if told else "sent"


@pytest.mark.slow
@each_row(
    ("talk", "sentence"),
    [
        (pour(b"x" * 65_536), "500 Line too long"),
        (pour(b"220-x\r\n" * 10_000), "it does not stop speaking"),
        (drip(b"220-"), "it did not answer in time"),
        (polite(ehlo=b"250-x\r\n" * 100_000), "it does not stop speaking"),
        (polite(last=drip(b"250")), "it did not answer in time"),
        (polite(last=pour(b"250-x\r\n" * 1000)), "it does not stop speaking"),
        (polite(mail=b"999 \x1b[31m\x1b]0;owned\x07 no\r\n"), "999 [31m ]0;owned no"),
        (polite(hello=b"\x1b[2J\r\n"), "the mail server says -1"),
        (polite(rcpt=b"550 " + b"y" * 7000 + b"\r\n"), "yyy"),
        (polite(data=b"" , last=lambda connection: connection.close()), "cannot be reached"),
    ])  # fmt: skip
def test_it_is_not_waited_for_and_its_words_are_harmless(talk: Talk, sentence: str) -> None:
    with mail_server(talk) as port:
        told = send(port)
    assert sentence in told
    assert told.isprintable()
    assert len(told) < 500


def test_what_it_says_to_a_farewell_changes_nothing() -> None:
    with mail_server(polite(quit=b"500 no\r\n" * 3)) as port:
        assert send(port) == "sent"


def test_without_the_key_that_was_asked_for_it_gets_neither_password_nor_mail() -> None:
    heard: list[bytes] = []

    def stripped(connection: socket.socket) -> None:
        connection.sendall(b"220 loopback\r\n")
        for line in connection.makefile("rb"):
            heard.append(line)
            connection.sendall(b"250-loopback\r\n250 AUTH PLAIN LOGIN\r\n")

    with mail_server(stripped) as port:
        assert "STARTTLS extension not supported" in send(port, "mailtos", "&mode=starttls")
    assert {line.split()[0].lower() for line in heard} <= {b"ehlo", b"quit"}


def test_words_before_the_key_do_not_count_after_it(tmp_path: Path) -> None:
    """And a certificate of nobody ends it."""
    make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    heard: list[bytes] = []

    def injected(connection: socket.socket) -> None:
        connection.sendall(b"220 loopback\r\n")
        connection.recv(4096)
        connection.sendall(b"250-loopback\r\n250 STARTTLS\r\n")
        connection.recv(4096)
        connection.sendall(b"220 go on\r\n250 AUTH PLAIN\r\n235 in\r\n" + b"250 fine\r\n" * 5)
        with context.wrap_socket(connection, server_side=True) as secure:
            heard.append(secure.recv(4096))

    with mail_server(injected) as port:
        assert "CERTIFICATE_VERIFY_FAILED" in send(port, "mailtos", "&mode=starttls").upper()
        told = send(port, "mailtos", "&mode=starttls&verify=no")
    assert told != "sent"
    assert all(b"secretword" not in one for one in heard)
