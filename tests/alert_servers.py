"""A mail server, a webhook and Telegram on loopback; their logs say what came, how often, under which id."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from typing import Any, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from aiosmtpd.smtp import SMTP, AuthResult

T = TypeVar("T")
PATIENCE = 180.0
HOST = "127.0.0.1"
READER = "buyer@example.com"
BOT = "123456789:AAH-a-token-of-a-bot_that-nobody-has"
"""The token that Telegram knows here."""


@dataclass(frozen=True, slots=True)
class Came:
    """One message as a server took it."""

    channel: str
    uid: str
    subject: str
    body: str
    headers: dict[str, str]


@dataclass  # without slots: aiosmtpd goes through all members, and Python 3.11.2 stumbles over a slotted one
class AlertServers:
    """All servers in one thread; they can go away and come back on the same ports."""

    came: list[Came] = field(default_factory=list)
    answer_seconds: float = 0.0
    """How long a message that was taken waits for its answer."""
    mail_port: int = 0
    hook_port: int = 0
    connections: int = 0
    mail_password: str | None = None
    """Without it nobody has to say who they are."""
    mail_refusal: str | None = None
    """What is said of every reader of a mail."""
    chats: dict[int, str] = field(default_factory=dict)
    """Who pressed Start, by the number of the chat."""
    blocked: set[int] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _close: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)

    @property
    def mail_url(self) -> str:
        return f"mailto://{HOST}:{self.mail_port}?from=alerts@example.com&to={READER}"

    @property
    def hook_url(self) -> str:
        return f"json://{HOST}:{self.hook_port}/hook"

    @property
    def telegram_url(self) -> str:
        return f"http://{HOST}:{self.hook_port}"

    def counted(self, channel: str | None = None) -> Counter[str]:
        """How often each message came."""
        return Counter(one.uid for one in list(self.came) if channel in {None, one.channel})

    def up(self) -> None:
        self._call(self._up())

    def down(self) -> None:
        self._call(self._down())

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _up(self) -> None:
        server = await self._loop.create_server(self._smtp, sock=_listening(self.mail_port))
        self.mail_port = server.sockets[0].getsockname()[1]
        app = web.Application()
        app.router.add_post("/hook", self._hook)
        app.router.add_post("/bot{token}/{method}", self._telegram)
        runner = web.AppRunner(app, shutdown_timeout=PATIENCE)
        await runner.setup()
        listening = _listening(self.hook_port)
        self.hook_port = listening.getsockname()[1]
        await web.SockSite(runner, listening).start()

        async def close_mail() -> None:
            server.close()

        self._close = [close_mail, runner.cleanup]

    async def _down(self) -> None:
        for close in self._close:
            await close()
        self._close = []

    def _smtp(self) -> SMTP:
        self.connections += 1
        return SMTP(
            self,
            hostname="loopback.example",
            enable_SMTPUTF8=True,
            loop=self._loop,
            authenticator=self._login if self.mail_password else None,
            auth_require_tls=False,
        )

    def _login(self, *words: Any) -> AuthResult:  # noqa: ANN401 - aiosmtpd's
        given: bytes = words[-1].password
        return AuthResult(success=given == (self.mail_password or "").encode(), handled=False)

    async def handle_RCPT(self, *words: Any) -> str:  # noqa: ANN401, N802 - aiosmtpd's
        _server, _session, envelope, address, _options = words
        if self.mail_refusal is not None:
            return self.mail_refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: object, _session: object, envelope: Any) -> str:  # noqa: ANN401, N802
        mail = message_from_bytes(envelope.content, policy=policy.default)
        ids = mail.get_all("Message-ID") or []
        assert len(ids) == 1, f"a mail has one Message-ID, not {ids}"
        uid = str(ids[0]).strip().removeprefix("<").partition("@")[0]
        headers = {name: str(value) for name, value in mail.items()}
        self.came.append(Came("mail", uid, str(mail["Subject"]), mail.get_content(), headers))
        await asyncio.sleep(self.answer_seconds)
        return "250 taken"

    async def _hook(self, request: web.Request) -> web.Response:
        sent = await request.json()
        headers = dict(request.headers)
        assert sent["message_id"] == headers["Idempotency-Key"] == headers["X-Message-Id"]
        self.came.append(Came("hook", sent["message_id"], sent["title"], sent["message"], headers))
        await asyncio.sleep(self.answer_seconds)
        return web.Response(text="taken")

    async def _telegram(self, request: web.Request) -> web.Response:
        sent = await request.json()
        await asyncio.sleep(self.answer_seconds)
        if request.match_info["token"] != BOT:
            return _refuse(401, "Unauthorized")
        match request.match_info["method"]:
            case "getMe":
                return _answer({"id": 123456789, "is_bot": True, "username": "flat_teller_bot"})
            case "getUpdates":
                chats = [
                    {"id": number, "type": "private", "first_name": name}
                    for number, name in self.chats.items()
                ]
                return _answer(
                    [{"update_id": place, "message": {"chat": chat}} for place, chat in enumerate(chats)]
                )
            case "sendMessage":
                return self._say(sent)
            case _:
                return _refuse(404, "Not Found")

    def _say(self, sent: dict[str, Any]) -> web.Response:
        """A message of a bot; as Telegram does, none is taken whose buttons lead to a host without a dot."""
        if int(sent["chat_id"]) in self.blocked:
            return _refuse(403, "Forbidden: bot was blocked by the user")
        keyboard = sent.get("reply_markup", {"inline_keyboard": []})["inline_keyboard"]
        buttons = {one["text"]: one["url"] for row in keyboard for one in row}
        if any("." not in (urlsplit(url).hostname or "") for url in buttons.values()):
            return _refuse(400, "Bad Request: inline keyboard button URL is invalid: Wrong HTTP URL")
        subject, _, body = sent["text"].partition("\n\n")
        shown = {"picture": sent["link_preview_options"].get("url", ""), **buttons}
        self.came.append(Came("telegram", str(sent["chat_id"]), subject, body, shown))
        return _answer({"message_id": len(self.came)})

    def run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def stop(self) -> None:
        self.down()
        self._call(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)


def _answer(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def _refuse(code: int, why: str) -> web.Response:
    return web.json_response({"ok": False, "error_code": code, "description": why}, status=code)


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _listening(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((HOST, port))
    listening.listen(128)
    listening.setblocking(False)  # noqa: FBT003 - the socket's own word
    return listening


@contextmanager
def alert_servers() -> Iterator[AlertServers]:
    """All of them, up."""
    servers = AlertServers()
    thread = threading.Thread(target=servers.run, daemon=True)
    thread.start()
    try:
        servers.up()
        yield servers
    finally:
        servers.stop()
        thread.join(PATIENCE)
        servers._loop.close()  # noqa: SLF001 - our own
