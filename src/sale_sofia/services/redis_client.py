"""Asking a Redis server who and how it is: short timeouts, no retries, nothing changed."""

import re
from typing import Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from sale_sofia.config.services import REDIS_ANSWER_SECONDS, REDIS_CONNECT_SECONDS
from sale_sofia.services.errors import RedisUnreachable

_NO_SUCH_KEY: Final = "sale_sofia:no_such_key"
_ERROR_CODE: Final = re.compile(r"[A-Z]+")
_NOT_REDIS: Final = "does not speak like a Redis server"
_REASONS: Final[dict[type[Exception], str]] = {
    redis.AuthenticationError: "does not accept this user name and password, or wants some",
    redis.exceptions.NoPermissionError: "does not let this user write",
    redis.ReadOnlyError: "is a read-only copy of another server; name the one that takes writes",
    redis.BusyLoadingError: "is still reading its data; try again in a while",
    redis.InvalidResponse: _NOT_REDIS,
    redis.TimeoutError: f"did not answer within {REDIS_ANSWER_SECONDS:g} s",
}


def connect(url: str) -> redis.Redis:
    """A client that gives up at once; it connects with the first command."""
    return redis.Redis.from_url(
        url,
        decode_responses=True,
        socket_connect_timeout=REDIS_CONNECT_SECONDS,
        socket_timeout=REDIS_ANSWER_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def check_reachable(url: str) -> str:
    """Host and port of a server that answers and takes writes; it is not changed.

    Raises:
        RedisUnreachable: it does not; the message holds no password.
    """
    with _connect_or_say_why(url) as client:
        place = _place(client)
        try:
            _use(client)
        except Exception as error:  # noqa: BLE001 - a stranger may answer anything, the client raise anything
            # Their words are not repeated: one of them could be the password they were sent.
            raise RedisUnreachable(f"REDIS_URL: {place} {_reason(error)}.") from None
    return place


def _connect_or_say_why(url: str) -> redis.Redis:
    try:
        client = connect(url)
        client.connection_pool.make_connection()
    except (ValueError, TypeError, AttributeError):
        raise RedisUnreachable(
            "REDIS_URL: the client cannot use its port or an option behind its '?'."
        ) from None
    return client


def _use(client: redis.Redis) -> None:
    if not client.ping():
        raise redis.InvalidResponse
    client.delete(_NO_SUCH_KEY)  # does nothing, but counts as a write


def identity(url: str) -> tuple[str, int] | None:
    """Name of the data file and process number of the server at this address; None when it does not say."""
    try:
        with connect(url) as client:
            name = client.config_get("dbfilename")["dbfilename"]
            return str(name), int(client.info("server")["process_id"])
    except Exception:  # noqa: BLE001 - a stranger may answer anything, and the client then raise anything
        return None


def is_ready(url: str) -> bool:
    """Whether the server at this address has read its data and answers."""
    try:
        with connect(url) as client:
            return bool(client.ping())
    except (redis.RedisError, OSError):
        return False


def _place(client: redis.Redis) -> str:
    asked = client.connection_pool.connection_kwargs
    return (
        str(asked["path"])
        if "path" in asked
        else f"{asked.get('host', 'localhost')}:{asked.get('port', 6379)}"
    )


def _reason(error: Exception) -> str:
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            return reason
    if isinstance(error, redis.ResponseError):
        return _told_by_server(error)
    if isinstance(error, redis.ConnectionError | OSError):
        return f"cannot be reached ({_told_by_system(error)})"
    return _NOT_REDIS


def _told_by_server(error: Exception) -> str:
    if "DB index" in str(error):
        return "has no database of this number"
    code = _ERROR_CODE.match(str(error))
    return f"refuses our commands ({code.group() if code else 'no reason given'})"


def _told_by_system(error: BaseException) -> str:
    cause = error.__cause__ or error.__context__ or error
    return (isinstance(cause, OSError) and cause.strerror) or "it closed the connection"
