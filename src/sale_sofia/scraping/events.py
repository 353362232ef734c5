"""Hearing of jobs that end. Who hears nothing looks at the database: an announcement may be lost."""

import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from redis import RedisError
from redis.client import PubSub

from sale_sofia.config.parallel import EVENTS_CHANNEL
from sale_sofia.services.redis_client import connect


class JobEvents:
    """The announcements from now on; without Redis only time passes, and it is asked again."""

    def __init__(self, url_of: Callable[[], str]) -> None:
        self._url_of = url_of
        self._heard: PubSub | None = None

    def wait(self, seconds: float) -> None:
        """Until a job's end is announced, at most so long."""
        end = time.monotonic() + seconds
        try:
            if self._heard is None:
                self._heard = connect(self._url_of()).pubsub(  # type: ignore[no-untyped-call]
                    ignore_subscribe_messages=True
                )
                self._heard.subscribe(EVENTS_CHANNEL)
            while (left := end - time.monotonic()) > 0:
                if self._heard.get_message(timeout=left):
                    return
        except (RedisError, OSError):
            self.close()
            time.sleep(max(0.0, end - time.monotonic()))

    def close(self) -> None:
        """Listen no more."""
        if self._heard is not None:
            with suppress(RedisError, OSError):
                self._heard.close()
                self._heard.connection_pool.disconnect()
            self._heard = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
