"""A bot of Telegram: whether its token is right, who wrote to it, and a message to one of them."""

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import httpx

from sale_sofia.alerts.settings import TELEGRAM_LONGEST
from sale_sofia.alerts.wording import Buttons, one_line
from sale_sofia.settings.words import Said

_NOT_SO: Final = "telegram.refused"
"""Telegram takes no message like this; nothing was said."""
_TOKEN: Final = re.compile(r"[0-9]{5,20}:[A-Za-z0-9_-]{20,100}")


class TelegramRefused(Exception):
    """Telegram did not do it, or cannot be asked; one sentence without the token."""


class Chat(NamedTuple):
    """Somebody, or a group, that wrote to the bot."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Bot:
    """Whoever has this token. It stands in addresses, so none of them may be shown or logged."""

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
        """Who pressed Start or wrote lately, the last one first. Raises TelegramRefused."""
        found: dict[int, Chat] = {}
        for update in reversed(self._ask("getUpdates", allowed_updates=["message", "my_chat_member"])):
            told = update.get("message") or update.get("my_chat_member") or {}
            if isinstance(number := told.get("chat", {}).get("id"), int):
                found.setdefault(number, Chat(number, _name_of(told["chat"])))
        return list(found.values())

    def send(
        self,
        chat: int | str,
        text: str,
        topic: int | None = None,
        picture: str | None = None,
        buttons: Buttons = (),
    ) -> None:
        """Say this in the chat, with a picture of that address shown large, and buttons below.

        Raises:
            TelegramRefused: it was not said.
        """
        shown = {"url": picture, "prefer_large_media": True} if picture else {"is_disabled": True}
        more: dict[str, Any] = {} if topic is None else {"message_thread_id": topic}
        if buttons:
            row = [{"text": label, "url": url} for label, url in buttons]
            more["reply_markup"] = {"inline_keyboard": [row]}
        if len(text) > TELEGRAM_LONGEST:  # a link is whole, or not there
            text = text[:TELEGRAM_LONGEST].rpartition("\n")[0]
        try:
            self._ask("sendMessage", chat_id=chat, text=text, link_preview_options=shown, **more)
        except TelegramRefused as error:
            if not buttons or Said.of(error).code != _NOT_SO:
                raise
            # No button may lead to a host without a dot, as `localhost`; a line of the text may.
            lines = (f"{label}: {url}" for label, url in buttons)
            self.send(chat, "\n".join((text, *lines)), topic, picture)

    def _ask(self, method: str, **values: Any) -> Any:  # noqa: ANN401 - each answer has a shape of its own
        try:
            answer = httpx.post(f"{self.server}/bot{self.token}/{method}", json=values, timeout=self.seconds)
            told = answer.json()
            if told["ok"]:
                return told["result"]
        except httpx.TimeoutException:
            raise TelegramRefused(Said("channel.silent", seconds=self.seconds)) from None
        except httpx.HTTPError:
            raise TelegramRefused(Said("telegram.unreachable")) from None
        except (ValueError, LookupError, TypeError):
            raise TelegramRefused(Said("telegram.strange")) from None
        raise TelegramRefused(_reason(told.get("error_code"), told.get("description", "?")))


def _reason(code: object, description: object) -> Said:
    """What Telegram's codes of errors mean to who set the bot up."""
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


def _name_of(chat: Any) -> str:  # noqa: ANN401 - whatever Telegram says
    given = (chat.get(name) for name in ("title", "first_name", "last_name"))
    return one_line(" ".join(filter(None, given)) or chat.get("username") or chat["id"])
