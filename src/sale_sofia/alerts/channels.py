"""Channels: what Apprise makes of a URL, and how a channel is spoken of without its secrets."""

import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from sale_sofia.alerts.cleaning import one_line
from sale_sofia.config.alert_file import AlertsError, AlertsFile
from sale_sofia.config.alerts import ALERTS_FILE, LONGEST_ERROR
from sale_sofia.config.settings_urls import MASK

_MAIL: Final = frozenset({"mailto", "mailtos"})
_ONE: Final = 1
_HOST: Final = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
_LEAST_SECRET: Final = 3
"""Characters from which on a piece of a URL is hidden wherever it appears; shorter ones are in every word."""


@dataclass(frozen=True, slots=True)
class Channel:
    """A named way to a reader. Printed, it shows its name and service only."""

    name: str
    url: SecretStr

    @property
    def service(self) -> str:
        """The scheme of its URL."""
        return self.url.get_secret_value().partition("://")[0]

    @property
    def is_mail(self) -> bool:
        """Whether it is plain mail, which we send ourselves."""
        return self.service in _MAIL

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
        yield from (one for one in (piece, unquote(piece)) if len(one) >= _LEAST_SECRET)


def channels_of(file: AlertsFile) -> Mapping[str, Channel]:
    """The channels of the file, by name."""
    return {name: Channel(name, url) for name, url in file.channels.items()}


def open_service(channel: Channel, seconds: float) -> Any:  # noqa: ANN401 - Apprise has no types
    """What Apprise sends with: no redirects, no files, no threads, and no longer waiting than this.

    Raises:
        AlertsError: Apprise cannot use the URL, or it has more than one reader.
    """
    apprise = load_apprise()
    asset = apprise.AppriseAsset(
        app_id="sale-sofia",
        http_redirects=False,
        secure_logging=True,
        storage_mode="memory",
        async_mode=False,
    )
    with quiet_apprise() as said:
        service = apprise.Apprise.instantiate(channel.url.get_secret_value(), asset=asset)
    if service is None:
        reason = channel.masked("; ".join(said)) or "Apprise does not know its form"
        raise AlertsError(f"{ALERTS_FILE}: channels.{channel.name}: not a usable Apprise URL: {reason}")
    if len(service) != _ONE:
        raise AlertsError(
            f"{ALERTS_FILE}: channels.{channel.name}: has {len(service)} readers; allowed: one for each "
            "channel, so that none gets a message twice because another did not get it"
        )
    service.socket_connect_timeout = service.socket_read_timeout = seconds
    return service


def load_apprise() -> Any:  # noqa: ANN401 - a module without types
    """Apprise with all its services: seconds of loading, which few commands need."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it loads and Python will drop one day
        import apprise  # noqa: PLC0415 - see above

        apprise.Apprise.instantiate("json://localhost")
    return apprise


@contextmanager
def quiet_apprise() -> Iterator[list[str]]:
    """Within it Apprise prints nothing; what it warns of comes into the list. It may hold secrets."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("apprise")
    before = log.propagate, log.level, log.handlers[:]
    log.propagate, log.handlers = False, [handler]
    log.setLevel(logging.WARNING)
    try:
        yield said
    finally:
        log.propagate, log.handlers = before[0], before[2]
        log.setLevel(before[1])
