"""A request is sent once: curl would repeat one whose kept connection was reset, and no limit would know."""

from typing import Any, Final

from curl_cffi import Curl, CurlOpt, ffi, lib

_SEND: Final = 0
_REFUSE: Final = 1


class SentOnce:
    """Ends a request as aborted where curl is about to send it for the second time."""

    def __init__(self, curl: Curl) -> None:
        self.has_sent = False
        self._name = ffi.new_handle(self)
        # curl_cffi sets only the callbacks that it knows itself.
        lib._curl_easy_setopt(curl._curl, CurlOpt.PREREQFUNCTION, _before_sending)  # noqa: SLF001
        curl.setopt(CurlOpt.PREREQDATA, self._name)

    def begin(self) -> None:
        """From here on it is another request."""
        self.has_sent = False


@ffi.callback("int(void *, char *, char *, int, int)", error=_REFUSE)  # type: ignore[untyped-decorator]
def _before_sending(name: Any, *_: object) -> int:  # noqa: ANN401 - a pointer of curl's
    request: SentOnce = ffi.from_handle(name)
    has_sent, request.has_sent = request.has_sent, True
    return _REFUSE if has_sent else _SEND
