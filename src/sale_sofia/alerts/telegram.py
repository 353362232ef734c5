"""A bot of Telegram: whether its token is right, who wrote to it, and a message to one of them."""

import re
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import httpx

from sale_sofia.alerts.settings import TELEGRAM_LONGEST
from sale_sofia.alerts.wording import one_line
from sale_sofia.settings.words import Said

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

    def send(self, chat: int | str, text: str, topic: int | None = None, picture: str | None = None) -> None:
        """Say this in the chat, with a picture of that address shown large. Raises TelegramRefused."""
        shown = {"url": picture, "prefer_large_media": True} if picture else {"is_disabled": True}
        place = {"chat_id": chat} if topic is None else {"chat_id": chat, "message_thread_id": topic}
        if len(text) > TELEGRAM_LONGEST:  # a link is whole, or not there
            text = text[:TELEGRAM_LONGEST].rpartition("\n")[0]
        self._ask("sendMessage", **place, text=text, link_preview_options=shown)

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
