"""Checks candidates, many at once; each finding is told as soon as it is there."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from sale_sofia.proxies.anonymity import anonymity, is_own_exit
from sale_sofia.proxies.judge_client import PATIENCE, BreaksTls, JudgeClient, Ourselves, Seen, new_nonce
from sale_sofia.proxies.model import Proxy, Use
from sale_sofia.proxies.tunnel import Fault, TunnelFailed, connected

Label = Literal[
    "usable", "dead", "silent", "wants_password", "refuses", "http_only", "no_proxy", "breaks_tls",
    "injects", "fakes", "own_address",
]  # fmt: skip
"""usable: it may be handed out; dead: no connection, or it hangs up; silent: no answer in time; refuses: it
will not lead to the judge; http_only: only without TLS; no_proxy: it speaks something else; breaks_tls: it
sits in the middle; injects: it changes pages; fakes: it answers for the judge; own_address: it shows us."""
HOSTILE: Final = frozenset({"breaks_tls", "injects", "fakes"})
"""These are kept out until a check finds them clean."""
_BY_FAULT: Final[dict[Fault, Label]] = {
    "unreachable": "dead", "reset": "dead", "silent": "silent", "auth": "wants_password",
    "refused": "refuses", "protocol": "no_proxy",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found."""

    proxy: Proxy
    label: Label
    why: str = ""
    seconds: float = 0.0
    canaries: tuple[tuple[str, Use], ...] = ()
    """What each portal said."""

    @property
    def usable(self) -> bool:
        """Whether it may be handed out."""
        return self.label == "usable"


Canary = Callable[[Proxy], Awaitable[Use]]
Told = Callable[[Finding], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Finds out what a proxy is. Without a judge its exit and its manners stay unknown."""

    judge: JudgeClient | None
    ourselves: Ourselves | None
    canaries: dict[str, Canary] = field(default_factory=dict)
    """One small request to each portal."""
    clock: Callable[[], float] = time.time

    async def check(self, proxy: Proxy) -> Finding:
        """What this proxy is; nothing it does raises."""
        started = time.monotonic()
        finding = await self._judged(proxy)
        if finding.usable and self.canaries:
            finding = await self._with_canaries(finding)
        return replace(finding, seconds=time.monotonic() - started)

    async def check_all(self, proxies: Iterator[Proxy], at_once: int, told: Told) -> None:
        """Tell every finding when it comes; `proxies` is read no faster than they are checked."""
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(self._work(proxies, told))

    async def _work(self, proxies: Iterator[Proxy], told: Told) -> None:
        for proxy in proxies:
            await told(await self.check(proxy))

    async def _judged(self, proxy: Proxy) -> Finding:
        try:
            if self.judge is None:
                return await self._alive(proxy)
            return await self._ask(self.judge, proxy)
        except TunnelFailed as error:
            return Finding(proxy, _BY_FAULT[error.fault], str(error))
        except BreaksTls as error:
            return Finding(proxy, "breaks_tls", str(error))

    async def _alive(self, proxy: Proxy) -> Finding:
        """Without a judge it is only known that somebody listens there; the rest is shown by the portals."""
        async with connected(proxy.address, PATIENCE):
            return Finding(replace(proxy, checked_at=self.clock()), "usable", "not judged")

    async def _ask(self, judge: JudgeClient, proxy: Proxy) -> Finding:
        nonce = new_nonce()
        faithful, plainly = await self._ask_plainly(judge, proxy, nonce)
        try:
            seen = await judge.ask_securely(proxy.address, nonce)
        except TunnelFailed as error:
            if error.fault == "refused" and plainly and faithful:
                return Finding(proxy, "http_only", str(error))
            raise
        return self._verdict(proxy, seen, faithful=faithful, plainly=plainly)

    async def _ask_plainly(self, judge: JudgeClient, proxy: Proxy, nonce: str) -> tuple[bool, bool]:
        """Whether the page came as it was sent, and whether one came at all."""
        try:
            return await judge.ask_plainly(proxy.address, nonce), judge.plain_url is not None
        except TunnelFailed as error:
            if error.fault != "refused":
                raise
            return True, False  # many lead only to TLS, which is all we need

    def _verdict(self, proxy: Proxy, seen: Seen, *, faithful: bool, plainly: bool) -> Finding:
        ourselves = self.ourselves or Ourselves(frozenset(), frozenset())
        found = replace(proxy, exit_address=seen.exit_address, checked_at=self.clock())
        if plainly and seen.plain_headers is None:
            return Finding(found, "fakes", "it answered a plain request that the judge never saw")
        if not faithful:
            return Finding(found, "injects", "it changed a plain page")
        if is_own_exit(seen.exit_address, ourselves.addresses):
            return Finding(found, "own_address", f"portals would see {seen.exit_address}")
        if seen.plain_headers is not None:
            found = replace(
                found, anonymity=anonymity(seen.plain_headers, ourselves.addresses, ourselves.headers)
            )
        return Finding(found, "usable")

    async def _with_canaries(self, finding: Finding) -> Finding:
        said = [(domain, await ask(finding.proxy)) for domain, ask in self.canaries.items()]
        if said and all(use.kind == "transport" for _, use in said):
            return replace(finding, label="dead", why=said[0][1].why)
        return replace(finding, canaries=tuple(said))
