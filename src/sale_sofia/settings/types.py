"""Types of settings; each field carries the text of what is allowed in it."""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin
from urllib.parse import quote, unquote_plus

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import NoDecode

from sale_sofia.settings.words import Said, dictionary

DEFAULT_DOMAIN: Final = "default"
DEFAULT_RATE: Final = 10.0
MAX_RATE: Final = 60_000
RATES_ALLOWED: Final = f"a JSON object of lower-case domain: number above 0, up to {MAX_RATE}"
FOLDER_ALLOWED: Final = "a folder's path, without '?'"
_SHOWN_CHARACTERS: Final = 80


def whole(default: int, least: int, most: int, unit: str, sentence: str) -> int:
    """A whole number from least to most, both included."""
    extra = notes(f"a whole number from {least} to {most}", unit)
    return Field(default, ge=least, le=most, description=sentence, json_schema_extra=extra)


def decimal(default: float, least: float, most: float, unit: str, sentence: str) -> float:
    """A number from least to most, both included; so neither infinite nor NaN."""
    extra = notes(f"a number from {least} to {most}", unit)
    return Field(default, ge=least, le=most, description=sentence, json_schema_extra=extra)


def switch(*, default: bool | None, sentence: str) -> Any:  # noqa: ANN401 - as the field's own type says
    """True or false; None, when unset, follows the mode."""
    return described(default, "true or false", "switch", sentence)


def described(default: Any, allowed: str, unit: str, sentence: str) -> Any:  # noqa: ANN401 - as the field's own type says
    """A value whose type does not say what is allowed."""
    return Field(default, description=sentence, json_schema_extra=notes(allowed, unit))


def password_file(setting: str) -> Any:  # noqa: ANN401 - a path, or None
    """A file with the password of another setting, to keep it out of the environment."""
    allowed = "the path of a file that can be read, with the password alone in it"
    sentence = f"File with the password of {setting}; unset: it stands there, or none is needed."
    return described(None, allowed, "file", sentence)


def notes(allowed: str, unit: str) -> JsonDict:
    """Metadata of a field beyond its type; `note` reads it."""
    return {"allowed": allowed, "unit": unit}


def note(field: FieldInfo, key: Literal["allowed", "unit"]) -> str:
    """Return what the field allows, or its unit."""
    extra = field.json_schema_extra
    return str(extra[key]) if isinstance(extra, dict) else ""


def wrong_value(field: FieldInfo, details: ErrorDetails) -> str:
    """Say what was set and what is allowed, in one sentence that never holds a secret."""
    value = "the given value"
    if SecretStr not in {field.annotation, *get_args(field.annotation)}:
        value = shown_input(details)
        match details["loc"]:
            case (_, key):  # one entry of a setting that has several
                value += f" for {key!r}"
    reason = details.get("ctx", {}).get("error", note(field, "allowed"))
    return f"{value} is not allowed; {reason} ({note(field, 'unit')})."


def shown_input(details: ErrorDetails) -> str:
    """Return the refused value as text, shortened; not for secrets."""
    return repr(str(details["input"])[:_SHOWN_CHARACTERS])


def at_key(place: Sequence[int | str], why: Said) -> Said:
    """Say what is wrong at a key of a file, or with the whole of it."""
    key = ".".join(map(str, place))
    return Said("wrong_file.key", key=key, why=why) if key else Said("wrong_file.whole", why=why)


def why_refused(details: ErrorDetails, model: type[BaseModel]) -> Said:
    """Say why a value was refused: the sentence of our own check, or that of pydantic's code."""
    context = details.get("ctx", {})
    if "error" in context:
        return Said.of(context["error"])
    code = f"pydantic.{details['type']}"
    match [*_choices(model, details["loc"])]:
        case [[*choices, last]] if choices and code == "pydantic.literal_error":
            return Said(code, choices=[repr(choice) for choice in choices], last=repr(last))
    has_sentence = code in dictionary() and context.get("min_length", 1) == 1 and "expected" not in context
    return Said(code, **context) if has_sentence else Said.of(details["msg"].replace("Input should", "must"))


def _choices(kind: Any, place: Sequence[int | str]) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - a model, or a type in it
    """Yield the literals allowed at a place of a model, for each type there that has some."""
    if get_origin(kind) is Literal:
        yield get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        if place and (field := kind.model_fields.get(str(place[0]))):
            yield from _choices(field.annotation, place[1:])
    else:
        below = place[1:] if get_origin(kind) in {tuple, list, dict} else place
        for argument in get_args(kind):
            yield from _choices(argument, below)


def _read_json(raw: object) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise ValueError(RATES_ALLOWED) from None


def _with_default(rates: Mapping[str, float]) -> Mapping[str, float]:
    return {DEFAULT_DOMAIN: DEFAULT_RATE, **rates}


def _check_folder(path: Path) -> Path:
    # In a database URL everything after a "?" is read as options, and the file would be another one.
    if "?" in str(path) or not str(path).strip():
        raise ValueError(FOLDER_ALLOWED)
    try:
        return path.expanduser()
    except RuntimeError as error:  # `~name` of an unknown user
        raise ValueError(FOLDER_ALLOWED) from error


Domain = Annotated[str, Field(pattern=r"^[a-z0-9_][a-z0-9_.-]*(:[0-9]+)?$")]
Rate = Annotated[float, Field(strict=True, gt=0, le=MAX_RATE)]
DomainRates = Annotated[
    Mapping[Domain, Rate], NoDecode, BeforeValidator(_read_json), AfterValidator(_with_default)
]
Folder = Annotated[Path, AfterValidator(_check_folder)]


# URLs of services: which are allowed, and how one is shown without its secrets.

MASK: Final = "***"
_ENCODED: Final = "special characters of a password percent-encoded"
DATABASE_ALLOWED: Final = f"sqlite:///path or postgresql[+psycopg]://user:password@host:port/name, {_ENCODED}"
REDIS_ALLOWED: Final = f"redis[s]://user:password@host:port/number or unix:///path, {_ENCODED}"
# Any other name may be a password's, and a "&" in that password looks like the next name: all is hidden.
_SHOWN_QUERY_NAMES: Final = frozenset({"connect_timeout", "db", "host", "mode", "port", "sslmode", "timeout"})

_SQLITE_URL: Final = re.compile(r"(?P<place>sqlite://(?:/[^?]*)?)(?:\?(?P<query>.*))?", re.DOTALL)
_SQLITE_FILE: Final = re.compile(r"(?P<scheme>sqlite:///)(?P<path>(?!:memory:)[^?]+)(?P<query>.*)", re.DOTALL)
# At most one "@" and no "#": no parser can take a piece of the password for something else.
_SERVER_URL: Final = re.compile(
    r"(?P<scheme>[a-z+]+)://"
    r"(?:(?P<user>[^:@/?#\s]*)(?P<password>:[^@/?#\s]*)?@)?"
    r"(?P<place>(?:[^:@/?#\s\[\]]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?P<path>/[^@?#\s]*)?)"
    r"(?:\?(?P<query>[^@#\s]*))?"
)


def masked_url(url: str) -> str:
    """Mask the password of a URL, and a query that could hold one; safe to print.

    A URL that the settings would refuse is masked whole.
    """
    if parts := _SQLITE_URL.fullmatch(url):
        return parts["place"] + _masked_query(parts["query"])
    if parts := _SERVER_URL.fullmatch(url):
        # A lone name is masked too: `redis://secret@host` is a common slip for `redis://:secret@host`.
        user = MASK if parts["password"] is None else f"{parts['user']}:{MASK}"
        login = "" if parts["user"] is None else f"{user}@"
        return f"{parts['scheme']}://{login}{parts['place']}{_masked_query(parts['query'])}"
    return MASK


def with_password(url: str, path: Path) -> str:
    """Return the URL of a server with the password of a file in place of any other.

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
    """Return the URL, with the absolute path of a SQLite file."""
    parts = _SQLITE_FILE.fullmatch(url)
    return f"{parts['scheme']}{Path(parts['path']).absolute()}{parts['query']}" if parts else url


def password_in(path: Path) -> str:
    """Read the password from a file.

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


SERVER_ALLOWED: Final = "http[s]://host:port, without a path"
_WEB_SERVER: Final = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?/?")


def _check_server(url: str) -> str:
    if not _WEB_SERVER.fullmatch(url):
        raise ValueError(SERVER_ALLOWED)
    return url.rstrip("/")


ServerUrl = Annotated[str, AfterValidator(_check_server)]
"""The address of a web server."""


def _masked_query(query: str | None) -> str:
    if query is None:
        return ""
    names = {unquote_plus(pair.partition("=")[0]) for pair in query.split("&")}
    return f"?{query if names <= _SHOWN_QUERY_NAMES else MASK}"


def _check_database_url(secret: SecretStr) -> SecretStr:
    url = secret.get_secret_value()
    parts = _SERVER_URL.fullmatch(url)
    if _SQLITE_URL.fullmatch(url) or (parts and parts["scheme"] in {"postgresql", "postgresql+psycopg"}):
        return secret
    raise ValueError(DATABASE_ALLOWED)


def _check_redis_url(secret: SecretStr | None) -> SecretStr | None:
    if secret is None:
        return None
    parts = _SERVER_URL.fullmatch(secret.get_secret_value())
    if parts:
        path = parts["path"] or ""
        # The client silently reads a database that is no number as database 0.
        if parts["scheme"] in {"redis", "rediss"} and re.fullmatch(r"/?[0-9]*", path):
            return secret
        if parts["scheme"] == "unix" and path:
            return secret
    raise ValueError(REDIS_ALLOWED)


DatabaseUrl = Annotated[SecretStr, AfterValidator(_check_database_url)]
RedisUrl = Annotated[SecretStr | None, AfterValidator(_check_redis_url)]


# Settings that name machines: addresses and networks, with commas between them.

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
NETWORKS_ALLOWED: Final = "addresses or networks such as 127.0.0.1 or 10.0.0.0/8, with commas between them"


def networks(value: object) -> object:
    """Parse the networks of a text; an address is a network of one.

    Raises:
        ValueError: one of them is neither.
    """
    if not isinstance(value, str):
        return value
    try:
        return tuple(ipaddress.ip_network(network.strip()) for network in value.split(","))
    except ValueError:
        raise ValueError(NETWORKS_ALLOWED) from None


Networks = Annotated[tuple[Network, ...], NoDecode, BeforeValidator(networks)]
