"""A request is sent once, in its turn: curl would repeat one whose kept connection was reset, and late."""

from typing import Any, Final

from curl_cffi import Curl, CurlOpt, ffi, lib

from sale_sofia.resilience.turn import Turn

_SEND: Final = 0
_REFUSE: Final = 1


class SentOnce:
    """Ends a request as aborted where curl is about to send it without a turn."""

    def __init__(self, curl: Curl) -> None:
        self.turn = Turn()
        self._name = ffi.new_handle(self)
        # curl_cffi sets only the callbacks that it knows itself.
        lib._curl_easy_setopt(curl._curl, CurlOpt.PREREQFUNCTION, _before_sending)  # noqa: SLF001
        curl.setopt(CurlOpt.PREREQDATA, self._name)

    def begin(self, turn: Turn) -> None:
        """From here on it is another request."""
        self.turn = turn


@ffi.callback("int(void *, char *, char *, int, int)", error=_REFUSE)  # type: ignore[untyped-decorator]
def _before_sending(name: Any, *_: object) -> int:  # noqa: ANN401 - a pointer of curl's
    """The connection stands, and nothing was sent on it."""
    request: SentOnce = ffi.from_handle(name)
    return _SEND if request.turn.use() else _REFUSE
