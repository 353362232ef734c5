"""No line holds a secret: logins in addresses, values named like secrets, and the secrets of the settings."""

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import unquote

from pydantic import SecretStr

from sale_sofia.config.logs import LEAST_SECRET
from sale_sofia.config.settings import Settings
from sale_sofia.config.settings_urls import MASK

_PATTERNS: Final = (
    (re.compile(r"(?<=://)[^\s/?#@]*@"), f"{MASK}@"),
    # Proxies are written without a scheme, too. What may stand in a name may not stand before it: so the
    # text is gone through once, however long.
    (re.compile(r"(?<![\w.%+~-])[\w.%+~-]+:[^\s/@:]+@(?=[\w\[])"), f"{MASK}@"),
    (
        re.compile(r"(?i)\b((?:\w*(?:password|passwd|secret|token)|api_?key)\"?'?\s?[=:]\s?)[^\s&,;]+"),
        rf"\1{MASK}",
    ),
)
_LOGIN: Final = re.compile(r"[^:]*://(?P<user>[^/?#@:]*)(?::(?P<password>[^@]*))?@")


@dataclass(frozen=True, slots=True)
class Masking:
    """A processor of structlog: hides what is secret in every value of a line, whatever it is."""

    secrets: tuple[str, ...] = ()
    """The longest first, so that none leaves a piece of another behind."""

    @classmethod
    def of(cls, settings: Settings | None) -> Self:
        """Hides this installation's own secrets, too."""
        found = set() if settings is None else set(_secrets(settings))
        return cls(tuple(sorted(found, key=lambda secret: (-len(secret), secret))))

    def __call__(
        self, _logger: object, _method: str, line: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        """The line without secrets."""
        return {name: self._value(value) for name, value in line.items()}

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret in self.secrets:
            text = text.replace(secret, MASK)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text

    def _value(self, value: object) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.text(str(name)): self._value(one) for name, one in value.items()}
            case str():
                return self.text(value)
            case Sequence() if not isinstance(value, bytes):
                return [self._value(one) for one in value]
            case _:
                return self.text(str(value))


def _secrets(settings: Settings) -> Iterator[str]:
    """The secrets of the settings, as they are and as they stand in a URL."""
    for _, value in settings:
        if isinstance(value, SecretStr):
            yield from (one for one in _pieces(value.get_secret_value()) if len(one) >= LEAST_SECRET)


def _pieces(secret: str) -> Iterator[str]:
    if "://" not in secret:
        yield secret
    elif found := _LOGIN.match(secret):
        # A lone name is a password that stands in the wrong place.
        password = found["password"] if found["password"] is not None else found["user"]
        yield from (password, unquote(password))
