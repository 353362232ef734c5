"""Which lane is the cheapest that works for a portal, who is let through, how often the browser was used."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sale_sofia.config.browser import BUDGET_SECONDS
from sale_sofia.config.proxies import LANE_MEMORY_SECONDS
from sale_sofia.proxies.lane_notes import Notes

_BROWSER = "browser"
_PAGES = "pages"


@dataclass(frozen=True, slots=True)
class Clearance:
    """By what a visitor that passed a challenge is known: it holds for one way out."""

    cookies: tuple[str, ...]
    """As curl's own lines."""
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LaneMemory:
    """Everything is forgotten after a day, so that the cheaper lane is tried again."""

    notes: Notes
    pages_per_hour: int

    async def needs_browser(self) -> bool:
        """Whether only the browser worked lately."""
        return bool(await self.notes.read(_BROWSER))

    async def browser_helped(self, exit_name: str, clearance: Clearance) -> None:
        """Remember the lane, and the visitor for who goes the same way out."""
        await self.notes.write(_BROWSER, True, LANE_MEMORY_SECONDS)  # noqa: FBT003
        await self.notes.write(_key(exit_name), asdict(clearance), LANE_MEMORY_SECONDS)

    async def browser_failed(self) -> None:
        """It does not help any more: begin with the cheapest again."""
        await self.notes.forget(_BROWSER)

    async def may_spend(self) -> bool:
        """Whether the portal's budget has another page in the browser; it is taken."""
        return await self.notes.count(_PAGES, BUDGET_SECONDS) <= self.pages_per_hour

    async def clearance(self, exit_name: str) -> Clearance | None:
        """Of the visitor that was let through on this way out."""
        found = await self.notes.read(_key(exit_name))
        return Clearance(tuple(found["cookies"]), found["headers"]) if found else None

    async def refused(self, exit_name: str) -> None:
        """It is not let through any more."""
        await self.notes.forget(_key(exit_name))


def _key(exit_name: str) -> str:
    return f"visitor:{exit_name or 'direct'}"
