"""URLs of services: which are allowed, and how one is shown without its secrets."""

import re
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote, unquote_plus

from pydantic import AfterValidator, SecretStr

MASK: Final = "***"
_ENCODED: Final = "special characters of a password percent-encoded"
DATABASE_ALLOWED: Final = f"sqlite:///path or postgresql[+psycopg]://user:password@host:port/name, {_ENCODED}"
REDIS_ALLOWED: Final = f"redis[s]://user:password@host:port/number or unix:///path, {_ENCODED}"
_DATABASE_SCHEMES: Final = frozenset({"postgresql", "postgresql+psycopg"})
_REDIS_SCHEMES: Final = frozenset({"redis", "rediss"})
# Any other name may stand for a password, and a "&" in that password for the next name: then all is hidden.
_SHOWN_QUERY_NAMES: Final = frozenset({"connect_timeout", "db", "host", "mode", "port", "sslmode", "timeout"})

_SQLITE_URL: Final = re.compile(r"(?P<place>sqlite://(?:/[^?]*)?)(?:\?(?P<query>.*))?", re.DOTALL)
_SQLITE_FILE: Final = re.compile(r"(?P<scheme>sqlite:///)(?P<path>(?!:memory:)[^?]+)(?P<query>.*)", re.DOTALL)
# At most one "@" and no "#": nobody who reads such a URL can take a piece of the password for something else.
_SERVER_URL: Final = re.compile(
    r"(?P<scheme>[a-z+]+)://"
    r"(?:(?P<user>[^:@/?#\s]*)(?P<password>:[^@/?#\s]*)?@)?"
    r"(?P<place>(?:[^:@/?#\s\[\]]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?P<path>/[^@?#\s]*)?)"
    r"(?:\?(?P<query>[^@#\s]*))?"
)
_REDIS_DATABASE: Final = re.compile(r"/?[0-9]*")


def masked_url(url: str) -> str:
    """The URL without its password and without a query that could hold one; safe to print.

    A URL of a form that the settings would refuse is hidden whole.
    """
    if parts := _SQLITE_URL.fullmatch(url):
        return parts["place"] + _masked_query(parts["query"])
    if parts := _SERVER_URL.fullmatch(url):
        return f"{parts['scheme']}://{_masked_login(parts)}{parts['place']}{_masked_query(parts['query'])}"
    return MASK


def with_password(url: str, path: Path) -> str:
    """The URL of a server with the password that the file holds, in place of any other.

    Raises:
        ValueError: the file cannot be read, or holds none.
    """
    parts = _SERVER_URL.fullmatch(url)
    if parts is None or _SQLITE_URL.fullmatch(url):
        return url  # a file of SQLite has no password
    login = f"{parts['user'] or ''}:{quote(password_in(path), safe='')}@"
    query = "" if parts["query"] is None else f"?{parts['query']}"
    return f"{parts['scheme']}://{login}{parts['place']}{query}"


def from_any_folder(url: str) -> str:
    """The URL; one of a SQLite file names the same file from whichever folder it is read."""
    parts = _SQLITE_FILE.fullmatch(url)
    return f"{parts['scheme']}{Path(parts['path']).absolute()}{parts['query']}" if parts else url


def password_in(path: Path) -> str:
    """The password that the file holds.

    Raises:
        ValueError: it cannot be read, or holds none.
    """
    try:
        password = path.read_text("utf-8").strip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        raise ValueError(f"the password file {path} cannot be read: {reason}") from None
    if not password:
        raise ValueError(f"the password file {path} is empty")
    return password


def _masked_login(parts: re.Match[str]) -> str:
    if parts["user"] is None:
        return ""
    # A lone name is hidden too: `redis://secret@host` is a common slip for `redis://:secret@host`.
    return f"{MASK}@" if parts["password"] is None else f"{parts['user']}:{MASK}@"


def _masked_query(query: str | None) -> str:
    if query is None:
        return ""
    names = {unquote_plus(pair.partition("=")[0]) for pair in query.split("&")}
    return f"?{query if names <= _SHOWN_QUERY_NAMES else MASK}"


def _check_database_url(secret: SecretStr) -> SecretStr:
    url = secret.get_secret_value()
    parts = _SERVER_URL.fullmatch(url)
    if _SQLITE_URL.fullmatch(url) or (parts and parts["scheme"] in _DATABASE_SCHEMES):
        return secret
    raise ValueError(DATABASE_ALLOWED)


def _check_redis_url(secret: SecretStr | None) -> SecretStr | None:
    if secret is None:
        return None
    parts = _SERVER_URL.fullmatch(secret.get_secret_value())
    if parts and (_is_redis_server(parts) or _is_redis_socket(parts)):
        return secret
    raise ValueError(REDIS_ALLOWED)


def _is_redis_server(parts: re.Match[str]) -> bool:
    # The client reads a database that is no number as database 0, without a word.
    return parts["scheme"] in _REDIS_SCHEMES and bool(_REDIS_DATABASE.fullmatch(parts["path"] or ""))


def _is_redis_socket(parts: re.Match[str]) -> bool:
    return parts["scheme"] == "unix" and bool(parts["path"])


DatabaseUrl = Annotated[SecretStr, AfterValidator(_check_database_url)]
RedisUrl = Annotated[SecretStr | None, AfterValidator(_check_redis_url)]
