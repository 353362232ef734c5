"""Channels that were set up on the screen: `DATA_DIR/channels.yaml`, which only its owner can read."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import yaml
from pydantic import Field, SecretStr, ValidationError

from sale_sofia.alerts.settings import (
    ALERTS_FILE_SECONDS,
    CHANNELS_FILE,
    LONGEST_NAME,
    MAIL_SERVERS,
    MOST_CHANNELS,
)
from sale_sofia.operations.services.ownership import ALONE, StillLocked, lock_file, take
from sale_sofia.settings.files import write_whole
from sale_sofia.settings.words import Said
from sale_sofia.websites.site_file import SiteConfigError, Table, parse_yaml, read_text, sentences


class KeptChannel(Table):
    """A channel, and whose it is: `Person.stamp`; None: of the household before it had people."""

    url: SecretStr
    person: str | None = None


class _File(Table):
    channels: Annotated[dict[str, KeptChannel], Field(max_length=MOST_CHANNELS)] = Field(default_factory=dict)
    bots: dict[str, SecretStr] = Field(default_factory=dict)
    """By person: the bot of Telegram whose chat is not chosen yet."""


def kept_channels(folder: Path) -> Mapping[str, KeptChannel]:
    """The channels by name; none where there is no file.

    Raises:
        SiteConfigError: the file cannot be used; the text says why, without secrets.
    """
    return ChannelFile(folder).read().channels


@dataclass(frozen=True, slots=True)
class ChannelFile:
    """The channels file of an installation. Concurrent writes run one after the other."""

    folder: Path

    def read(self) -> _File:
        """What is in it; raises SiteConfigError."""
        path = self.folder / CHANNELS_FILE
        if not path.exists():
            return _File()
        try:
            return _File.model_validate(parse_yaml(path, read_text(path)))
        except ValidationError as error:
            raise SiteConfigError(sentences(path, error, _File)) from None

    def keep(self, called: str, channel: KeptChannel, taken: Collection[str]) -> str:
        """Store a channel under this name, with a number added where it is taken; the name it got.

        The bot that waited for its chat is forgotten. Raises SiteConfigError if there are too many.
        """
        names: list[str] = []

        def add(held: _File) -> _File:
            if len(held.channels) >= MOST_CHANNELS:
                raise SiteConfigError(Said("channel.many", most=MOST_CHANNELS))
            names.append(free_name(called, {*taken, *held.channels}))
            bots = {who: bot for who, bot in held.bots.items() if who != (channel.person or "")}
            return _File(channels={**held.channels, names[0]: channel}, bots=bots)

        self._change(add)
        return names[0]

    def keep_bot(self, person: str | None, token: str) -> None:
        """Store the bot whose chat this person is about to choose."""
        own = {person or "": SecretStr(token)}
        self._change(lambda held: _File(channels=held.channels, bots={**held.bots, **own}))

    def bot_of(self, person: str | None) -> str | None:
        """The token of that bot."""
        found = self.read().bots.get(person or "")
        return found.get_secret_value() if found else None

    def remove(self, name: str) -> None:
        """Forget the channel of this name, if there is one."""
        self._change(
            lambda held: _File(
                channels={key: channel for key, channel in held.channels.items() if key != name},
                bots=held.bots,
            )
        )

    def of_person(self, person: str) -> list[str]:
        """The names of this person's channels."""
        return [name for name, channel in self.read().channels.items() if channel.person == person]

    def forget_person(self, person: str) -> None:
        """Forget the channels of this person, and their bot."""
        self._change(
            lambda held: _File(
                channels={key: channel for key, channel in held.channels.items() if channel.person != person},
                bots={who: bot for who, bot in held.bots.items() if who != person},
            )
        )

    def hand_over(self, person: str) -> None:
        """Make the channels of this person the household's, which has no people any more."""

        def heir(channel: KeptChannel) -> KeptChannel:
            return channel.model_copy(update={"person": None}) if channel.person == person else channel

        self._change(
            lambda held: _File(
                channels={key: heir(channel) for key, channel in held.channels.items()}, bots=held.bots
            )
        )

    def _change(self, work: Callable[[_File], _File]) -> None:
        path = self.folder / CHANNELS_FILE
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_file(path.with_suffix(".lock")) as lock:
            try:
                take(lock, ALONE, ALERTS_FILE_SECONDS)
            except StillLocked:
                raise SiteConfigError(Said("wrong_rule.busy")) from None
            write_whole(
                path, yaml.safe_dump(_written(work(self.read())), allow_unicode=True, sort_keys=False)
            )


def _written(held: _File) -> dict[str, Any]:
    channels = {
        name: {"url": channel.url.get_secret_value(), "person": channel.person}
        for name, channel in held.channels.items()
    }
    return {"channels": channels, "bots": {who: bot.get_secret_value() for who, bot in held.bots.items()}}


def free_name(called: str, taken: Collection[str]) -> str:
    """The text as a valid name; with a number added where it is taken."""
    signs = "".join(sign if sign.isalnum() or sign in " .-" else " " for sign in called)
    plain = " ".join(signs.split())[: LONGEST_NAME - len(" 99")].rstrip()
    numbered = (f"{plain} {number}" for number in range(2, len(taken) + 3))
    return next(name for name in (plain, *numbered) if name not in taken)


# What is typed into the fields of the screen, as an address of Apprise.

_MAIL: Final = re.compile(r"[^\s@<>\"',;:]{1,64}@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
_TOPIC: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SERVER: Final = re.compile(r"(https?)://([A-Za-z0-9.-]+(?::[0-9]{1,5})?)/?")
_PLACE: Final = re.compile(r"[A-Za-z0-9.-]+:[0-9]{1,5}")
MAIL_MODES: Final = ("ssl", "starttls", "insecure")


class MailServer(NamedTuple):
    """A mail server and its mode, one of MAIL_MODES."""

    host: str
    port: str
    mode: str

    @property
    def usable(self) -> bool:
        """Whether it can be part of a URL."""
        return bool(_PLACE.fullmatch(f"{self.host}:{self.port}")) and self.mode in MAIL_MODES


def mail_url(address: str, password: str, server: MailServer | None) -> tuple[str, str]:
    """The domain of the address, and the URL by which it sends mail to itself.

    Without a server it is the one that its domain is known by. Raises SiteConfigError.
    """
    parts = _MAIL.fullmatch(address)
    if parts is None:
        raise SiteConfigError(Said("channel.mail_form", given=address))
    domain = parts[1].lower()
    if server is None and domain not in MAIL_SERVERS:
        raise SiteConfigError(Said("channel.mail_server", domain=domain))
    if server is not None and not server.usable:
        raise SiteConfigError(Said("channel.mail_place"))
    host, port, mode = server or MAIL_SERVERS[domain]
    login = f"{quote(address, safe='')}:{quote(password, safe='')}"
    query = urlencode({"smtp": host, "mode": mode, "from": address, "to": address})
    return domain, f"{'mailto' if mode == 'insecure' else 'mailtos'}://{login}@{host}:{port}?{query}"


def ntfy_url(topic: str, server: str) -> str:
    """The URL of a topic. Raises SiteConfigError."""
    if not _TOPIC.fullmatch(topic):
        raise SiteConfigError(Said("channel.topic"))
    parts = _SERVER.fullmatch(server)
    if parts is None:
        raise SiteConfigError(Said("channel.server"))
    return f"{'ntfys' if parts[1] == 'https' else 'ntfy'}://{parts[2]}/{topic}"
