"""The handles of one client: connections and cookies are theirs together."""

from collections import OrderedDict

from curl_cffi import AsyncCurl

from sale_sofia.config.fetching import MOST_IDLE_HANDLES, MOST_SESSIONS
from sale_sofia.fetching.cookies import CookieJar
from sale_sofia.fetching.curl_handles import Answer, Handle, Patience, Setup
from sale_sofia.resilience.turn import Turn


class CurlPool:
    """Makes a handle when none is idle, so no request waits for one; how many run is decided elsewhere.

    It belongs to the event loop it was made in.
    """

    def __init__(self) -> None:
        self._multi = AsyncCurl()
        self._cookies: OrderedDict[str, CookieJar] = OrderedDict()
        self._idle: list[Handle] = []
        self.closed = False

    async def get(self, url: str, setup: Setup, patience: Patience, turn: Turn) -> Answer:
        """Ask once, in this turn. A handle that failed or was cancelled is closed, its connection with it."""
        handle = self._take(setup)
        try:
            session = setup.route.session if setup.route else ""
            answer = await handle.get(url, patience, turn, self._multi, self.cookies_of(session))
        except BaseException:
            self._drop(handle)
            raise
        self._idle.append(handle)
        return answer

    @property
    def idle(self) -> int:
        """Handles that wait for work."""
        return len(self._idle)

    async def close(self) -> None:
        """Let go of all connections; requests under way end as if they were complete."""
        self.closed = True
        await self._multi.close()  # type: ignore[no-untyped-call]
        for handle in self._idle:
            handle.curl.close()
        self._idle.clear()

    def forget_sessions(self) -> None:
        """Begin anew, as other visitors."""
        self._cookies.clear()

    def cookies_of(self, session: str) -> CookieJar:
        """The cookies of a session; without a route all requests are the nameless one."""
        jar = self._cookies.setdefault(session, CookieJar())
        self._cookies.move_to_end(session)
        if len(self._cookies) > MOST_SESSIONS:
            self._cookies.popitem(last=False)
        return jar

    def _take(self, setup: Setup) -> Handle:
        for number in range(len(self._idle) - 1, -1, -1):
            if self._idle[number].setup == setup:
                return self._idle.pop(number)
        if len(self._idle) >= MOST_IDLE_HANDLES:
            self._idle.pop(0).curl.close()
        return Handle(setup)

    def _drop(self, handle: Handle) -> None:
        if not self.closed:
            self._multi.remove_handle(handle.curl)
        handle.curl.close()
