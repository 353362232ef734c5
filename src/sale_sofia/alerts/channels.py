"""Channels: sending through Apprise, mail and Telegram, and masking the secrets of their URLs."""

import logging
import re
import signal
import smtplib
import socket
import ssl
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import policy
from email.parser import Parser
from threading import current_thread, main_thread
from types import FrameType, MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from sale_sofia.alerts.kept import KeptChannel
from sale_sofia.alerts.rules import AlertsFile, wrong_rules
from sale_sofia.alerts.settings import (
    LONGEST_BODY,
    LONGEST_ERROR,
    LONGEST_SUBJECT,
    MAIL_READ_BYTES,
    MAIL_WORDS_BYTES,
    TELEGRAM_LONGEST,
    AlertSettings,
)
from sale_sofia.alerts.wording import Buttons, Text, one_line
from sale_sofia.settings.types import MASK
from sale_sofia.settings.words import Said

_HOST: Final = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
_LEAST_SECRET: Final = 3
"""Shortest piece of a URL that is masked, in characters; shorter ones are in every word."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A named way to a reader. Printed, it shows its name and service only."""

    name: str
    url: SecretStr
    person: str | None = None
    """Whose it is: `Person.stamp`; None: nobody's own."""

    @property
    def service(self) -> str:
        """The scheme of its URL."""
        return self.url.get_secret_value().partition("://")[0]

    @property
    def has_buttons(self) -> bool:
        """Whether links of a message can be shown as buttons below it."""
        return self.service == "tgram"

    def masked(self, text: str) -> str:
        """The text in one line, without the URL and every piece of it that may be a secret."""
        for secret in sorted(set(_pieces(self.url.get_secret_value())), key=len, reverse=True):
            text = text.replace(secret, MASK)
        return one_line(text, LONGEST_ERROR)


def _pieces(url: str) -> Iterator[str]:
    """The URL and what it is made of, as written and decoded; a host's name and a port are no secrets."""
    yield url
    parts = urlsplit(url)
    login, _, place = parts.netloc.rpartition("@")
    tokens = [] if _HOST.fullmatch(place) else re.split(r"[:@]", place)
    query = re.split(r"[&=]", parts.query) + [value for _, value in parse_qsl(parts.query)]
    for piece in (*re.split(r"[:@]", login), *tokens, *parts.path.split("/"), *query, parts.fragment):
        yield from (text for text in (piece, unquote(piece)) if len(text) >= _LEAST_SECRET)


def channels_of(
    file: AlertsFile, kept: Mapping[str, KeptChannel] = MappingProxyType({})
) -> Mapping[str, Channel]:
    """The channels of the file, by name; `kept` tells the owners of those set up on the screen."""
    return {
        name: Channel(name, url, kept[name].person if name in kept and kept[name].url == url else None)
        for name, url in file.channels.items()
    }


def open_service(channel: Channel, seconds: float) -> Any:  # noqa: ANN401 - Apprise has no types
    """The Apprise service of a channel: no redirects, no files, no threads, and this timeout.

    Raises:
        AlertsError: Apprise cannot use the URL, or it has more than one reader.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecations in what it imports
        import apprise  # noqa: PLC0415 - seconds of loading, which few commands need

        apprise.Apprise.instantiate("json://localhost")
    asset = apprise.AppriseAsset(
        app_id="sale-sofia",
        http_redirects=False,
        secure_logging=True,
        storage_mode="memory",
        async_mode=False,
    )
    with _quiet_apprise() as complaints:
        service = apprise.Apprise.instantiate(channel.url.get_secret_value(), asset=asset)
    key = f"channels.{channel.name}"
    if service is None:
        why = channel.masked("; ".join(complaints)) or Said("channel.form")
        raise wrong_rules(key, Said("channel.url", why=why))
    if (readers := len(service)) != 1:
        raise wrong_rules(key, Said("channel.readers", readers=readers))
    service.socket_connect_timeout = service.socket_read_timeout = seconds
    return service


@contextmanager
def _quiet_apprise() -> Iterator[list[str]]:
    """Silence Apprise; its warnings are collected in the list, which may hold secrets."""
    complaints: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: complaints.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("apprise")
    before = log.propagate, log.level, log.handlers[:]
    log.propagate, log.handlers = False, [handler]
    log.setLevel(logging.WARNING)
    try:
        yield complaints
    finally:
        log.propagate, log.handlers = before[0], before[2]
        log.setLevel(before[1])


# A mail server is not trusted: its answers are limited in time and in size.


class _Lines:
    """The lines of a server as `smtplib` reads them, with one deadline: trickled bytes do not extend it."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until
        self._held = b""
        self._left = MAIL_WORDS_BYTES

    def readline(self, most: int) -> bytes:
        while b"\n" not in self._held and len(self._held) < most and (got := self._more()):
            self._held += got
        end = min(self._held.find(b"\n") + 1 or len(self._held), most)
        line, self._held = self._held[:end], self._held[end:]
        return line

    def _more(self) -> bytes:
        if self._left <= 0:
            raise OSError("it does not stop speaking")
        try:
            self._sock.settimeout(self._until - time.monotonic())
            got = self._sock.recv(MAIL_READ_BYTES)
        except (TimeoutError, ValueError):  # a wait of less than nothing is none
            raise TimeoutError("it did not answer in time") from None
        self._left -= len(got)
        return got

    def close(self) -> None:
        """Nothing is held open."""


class _Server(smtplib.SMTP):
    """As in `smtplib`, with one timeout for the whole conversation."""

    def __init__(self, host: str, port: int, seconds: float, **more: Any) -> None:  # noqa: ANN401 - its own
        self._until = time.monotonic() + seconds
        super().__init__(host, port, timeout=seconds, **more)

    def getreply(self) -> tuple[int, bytes]:
        """One answer; whatever was buffered before a switch to TLS is dropped."""
        if self.file is None and self.sock is not None:
            self.file = _Lines(self.sock, self._until)
        return super().getreply()


class _TlsServer(_Server, smtplib.SMTP_SSL):
    """The same, encrypted from the first byte."""


def _tls_context(service: Any) -> ssl.SSLContext:  # noqa: ANN401 - Apprise's
    """Certificates are checked unless the URL says otherwise."""
    context = ssl.create_default_context()
    if not service.verify_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _send_mail(service: Any, text: Text, uid: str, answers: str | None) -> None:  # noqa: ANN401 - Apprise's
    """Send the mail; when this returns, the server has accepted it.

    Apprise reads the URL and writes the mail, but gives it a new Message-ID with every try. Ours keeps the id
    of its message, by which mailboxes recognise a mail that came twice.
    """
    from apprise import NotifyFormat  # noqa: PLC0415 - slow to load
    from apprise.plugins.email.base import NotifyEmail  # noqa: PLC0415

    (mail,) = NotifyEmail.prepare_emails(
        subject=text.subject,
        body=text.body,
        from_addr=service.from_addr,
        to=service.targets,
        smtp_host=service.smtp_host,
        notify_format=NotifyFormat.TEXT,
        headers={"X-Application": "sale-sofia", "X-Message-Id": uid, **service.headers},
        names=service.names,
    )
    message = Parser(policy=policy.compat32).parsestr(mail.body)
    message.replace_header("Message-ID", f"<{uid}@sale-sofia.invalid>")
    if answers is not None:
        message["In-Reply-To"] = message["References"] = f"<{answers}@sale-sofia.invalid>"
    place = service.smtp_host, service.port, service.socket_connect_timeout
    match service.secure_mode:
        case "ssl":
            server: _Server = _TlsServer(*place, context=_tls_context(service))
        case "starttls" | "insecure":
            server = _Server(*place)
        case mode:
            raise smtplib.SMTPException(f"no such way of speaking to a mail server: {mode}")
    try:
        if service.secure_mode == "starttls":  # a server that offers none gets neither password nor mail
            server.starttls(context=_tls_context(service))
        if service.user and service.password:
            server.login(service.user, service.password)
        server.sendmail(service.from_addr[1], [mail.recipient], message.as_string())
    finally:
        with suppress(OSError, smtplib.SMTPException):  # its answer to QUIT changes nothing
            server.quit()
        server.close()


def _reason_of(error: Exception, channel: Channel) -> Said:
    """Why a mail was not accepted, in the server's words where there are any."""
    match error:
        case smtplib.SMTPRecipientsRefused(recipients=refused) if refused:
            code, words = next(iter(refused.values()))
        case smtplib.SMTPResponseException(smtp_code=code, smtp_error=words):
            pass
        case TimeoutError() | smtplib.SMTPServerDisconnected(__context__=TimeoutError()):
            return Said("mail.unreachable", why=Said("mail.slow"))
        case _:
            return Said("mail.unreachable", why=channel.masked(str(error) or type(error).__name__))
    answer = channel.masked(words.decode("utf-8", "replace") if isinstance(words, bytes) else words)
    if isinstance(error, smtplib.SMTPAuthenticationError):
        return Said("mail.login", code=code, words=answer)
    return Said("mail.says", code=code, words=answer)


# Handing one message over to one channel.


class ChatExtras(NamedTuple):
    """What a chat of Telegram shows with a message: a picture, and buttons."""

    picture: str | None = None
    buttons: Buttons = ()


class NotSent(Exception):
    """The message was not accepted, or it is not known; the text says why, without secrets."""


class _TooSlow(BaseException):
    """The time limit was reached. A BaseException, so that no library swallows it."""


@dataclass(slots=True)
class ChannelSender:
    """Sends to channels, each opened once. A message is one request: never split, never retried here."""

    seconds: float
    """Longest time for one message."""
    telegram: str = AlertSettings.model_fields["alert_telegram_url"].default
    """The server of the Telegram Bot API."""
    _services: dict[str, Any] = field(default_factory=dict)

    def longest(self, channel: Channel) -> int:
        """Characters of a body that the channel takes, beside the subject. Raises AlertsError, as `send`."""
        service = self._service(channel)
        subject = 0 if service.title_maxlen else LONGEST_SUBJECT + 2  # it stands above the text, and counts
        return min(LONGEST_BODY, int(service.body_maxlen) - subject)

    def send(
        self,
        channel: Channel,
        text: Text,
        uid: str,
        answers: str | None = None,
        extras: ChatExtras = ChatExtras(),  # noqa: B008 - immutable
    ) -> None:
        """Send the message under its id; when this returns, the channel has accepted it.

        `answers` is the id of the message that this one belongs to.

        Raises:
            NotSent: it did not, or did not confirm in time.
            AlertsError: Apprise cannot use the channel's URL.
        """
        service = self._service(channel)
        try:
            with _time_limit(self.seconds):
                if channel.service in {"mailto", "mailtos"}:
                    _send_mail(service, text, uid, answers)
                elif channel.has_buttons and service.targets:
                    self._send_telegram(service, text, extras)
                else:
                    _notify(channel, service, text, uid)
        except NotSent:
            raise
        except TelegramRefused as error:
            raise NotSent(Said.of(error)) from None
        except _TooSlow:
            raise NotSent(Said("channel.silent", seconds=self.seconds)) from None
        except (OSError, smtplib.SMTPException) as error:
            raise NotSent(_reason_of(error, channel)) from None
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its words may hold secrets
            raise NotSent(channel.masked(f"{type(error).__name__}: {error}")) from None

    def _service(self, channel: Channel) -> Any:  # noqa: ANN401 - Apprise's
        if channel.name not in self._services:
            self._services[channel.name] = open_service(channel, self.seconds)
        return self._services[channel.name]

    def _send_telegram(self, service: Any, text: Text, extras: ChatExtras) -> None:  # noqa: ANN401 - Apprise's
        """Apprise reads the URL; it cannot tell a wrong token from a blocked bot, so the Bot API is used."""
        ((chat, topic),) = service.targets
        bot = Bot(self.telegram, service.bot_token, self.seconds)
        bot.send(chat, f"{text.subject}\n\n{text.body}", topic, *extras)


def _notify(channel: Channel, service: Any, text: Text, uid: str) -> None:  # noqa: ANN401 - Apprise's
    # Where a service accepts headers or fields, a reader recognises a repeated message by its id.
    if isinstance(headers := getattr(service, "headers", None), dict):
        headers |= {"X-Message-Id": uid, "Idempotency-Key": uid}
    if isinstance(extras := getattr(service, "payload_extras", None), dict):
        extras |= {"message_id": uid}
    with _quiet_apprise() as complaints:
        accepted = service.notify(body=text.body, title=text.subject, body_format="text", overflow="truncate")
    if not accepted:
        reason = channel.masked("; ".join(complaints))
        raise NotSent(Said("channel.told", why=reason) if reason else Said("channel.refused"))


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Interrupt the body after so many seconds; only in the main thread of systems with `setitimer`."""
    if not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        yield
        return

    def strike(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, strike)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# A bot of Telegram: whether its token is right, who wrote to it, and a message to one of them.


_NOT_SO: Final = "telegram.refused"
"""Telegram rejects such a message; nothing was sent."""
_TOKEN: Final = re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{20,100}")


class TelegramRefused(Exception):
    """Telegram refused or cannot be reached; one sentence without the token."""


class Chat(NamedTuple):
    """Somebody, or a group, that wrote to the bot."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot of this token. The token is part of URLs, so none of them may be shown or logged."""

    server: str
    token: str
    seconds: float
    """Longest wait for an answer."""

    def name(self) -> str:
        """What the bot is called. Raises TelegramRefused."""
        if not _TOKEN.fullmatch(self.token):
            raise TelegramRefused(Said("telegram.token_form"))
        return str(self._ask("getMe").get("username", ""))

    def chats(self) -> list[Chat]:
        """Who pressed Start or wrote recently, the latest first. Raises TelegramRefused."""
        found: dict[int, Chat] = {}
        for update in reversed(self._ask("getUpdates", allowed_updates=["message", "my_chat_member"])):
            event = update.get("message") or update.get("my_chat_member") or {}
            if isinstance(number := event.get("chat", {}).get("id"), int):
                found.setdefault(number, Chat(number, _name_of(event["chat"])))
        return list(found.values())

    def send(
        self,
        chat: int | str,
        text: str,
        topic: int | None = None,
        picture: str | None = None,
        buttons: Buttons = (),
    ) -> None:
        """Send the text to the chat, with the picture of that address shown large, and buttons below.

        Raises:
            TelegramRefused: it was not sent.
        """
        preview = {"url": picture, "prefer_large_media": True} if picture else {"is_disabled": True}
        more: dict[str, Any] = {} if topic is None else {"message_thread_id": topic}
        if buttons:
            row = [{"text": label, "url": url} for label, url in buttons]
            more["reply_markup"] = {"inline_keyboard": [row]}
        if len(text) > TELEGRAM_LONGEST:  # cut at a line end, so that no link is broken
            text = text[:TELEGRAM_LONGEST].rpartition("\n")[0]
        try:
            self._ask("sendMessage", chat_id=chat, text=text, link_preview_options=preview, **more)
        except TelegramRefused as error:
            if not buttons or Said.of(error).code != _NOT_SO:
                raise
            # No button may lead to a host without a dot, as `localhost`; a line of the text may.
            lines = (f"{label}: {url}" for label, url in buttons)
            self.send(chat, "\n".join((text, *lines)), topic, picture)

    def _ask(self, method: str, **values: Any) -> Any:  # noqa: ANN401 - each answer has a shape of its own
        import httpx  # noqa: PLC0415 - large; pages name channels without asking Telegram

        try:
            url = f"{self.server}/bot{self.token}/{method}"
            answer = httpx.post(url, json=values, timeout=self.seconds).json()
            if answer["ok"]:
                return answer["result"]
        except httpx.TimeoutException:
            raise TelegramRefused(Said("channel.silent", seconds=self.seconds)) from None
        except httpx.HTTPError:
            raise TelegramRefused(Said("telegram.unreachable")) from None
        except (ValueError, LookupError, TypeError):
            raise TelegramRefused(Said("telegram.strange")) from None
        raise TelegramRefused(_reason(answer.get("error_code"), answer.get("description", "?")))


def _reason(code: object, description: object) -> Said:
    """Telegram's error codes as sentences for the person who set the bot up."""
    match code:
        case 401 | 404:
            return Said("telegram.token")
        case 403:
            return Said("telegram.blocked")
        case 409:
            return Said("telegram.elsewhere")
        case 429:
            return Said("telegram.slower")
        case _:
            return Said("telegram.refused", code=code, why=one_line(description))


def _name_of(chat: Any) -> str:  # noqa: ANN401 - JSON of Telegram
    names = (chat.get(key) for key in ("title", "first_name", "last_name"))
    return one_line(" ".join(filter(None, names)) or chat.get("username") or chat["id"])
