"""What is done when proxies do not help: step by step, each within its budget. Pure: no clock, no network."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from sale_sofia.config.browser import LADDER_BUDGET
from sale_sofia.config.proxies import DIRECT_BUDGET, LANE_MEMORY_SECONDS, NEW_SESSION_BUDGET
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_proxies import ProxyTable


class Rung(StrEnum):
    """From the cheapest step to the last one."""

    OTHER_PROXY = "other_proxy"
    NEW_SESSION = "new_session"
    RESTART = "restart_rotator"
    REFRESH = "refresh"
    NEXT_TIER = "next_tier"
    BROWSER = "browser"
    DIRECT = "direct"
    OPEN_CIRCUIT = "open_circuit"


_ORDER: Final = tuple(Rung)


@dataclass(slots=True)
class Ladder:
    """One portal's way up. A success leads back to the bottom; the tier that helped is kept for a day.

    A rung without budget does not exist for this portal: nothing goes out directly unless its file allows it.
    """

    budgets: Mapping[Rung, int]
    counters: Counter[Rung] = field(default_factory=Counter)
    """Steps taken, over all climbs."""
    level: int = 0
    """How many tiers beyond the first are used."""
    _rung: int = 0
    _used: int = 0
    _down_at: float = 0.0

    def failed(self, now: float, *, challenged: bool = False) -> Rung:
        """The next step: the budget of a rung is used up before the next one is tried.

        The browser is one only for a page that was `challenged`: against a bare refusal it does not help.
        """
        while self._is_used_up(_ORDER[self._rung], challenged=challenged):
            self._rung, self._used = self._rung + 1, 0
        step = _ORDER[self._rung]
        self._used += 1
        self.counters[step] += 1
        if step is Rung.NEXT_TIER:
            self.level += 1
            self._down_at = now + LANE_MEMORY_SECONDS
        return step

    def _is_used_up(self, rung: Rung, *, challenged: bool) -> bool:
        if rung is _ORDER[-1]:
            return False
        return self._used >= self.budgets.get(rung, 0) or (rung is Rung.BROWSER and not challenged)

    def succeeded(self) -> None:
        """Back to the bottom."""
        self._rung = self._used = 0

    def level_at(self, now: float) -> int:
        """How many tiers beyond the first may be used; once a day the cheapest are tried again."""
        if self.level and now >= self._down_at:
            self.level = 0
        return self.level


def budgets_of(
    settings: Settings, table: ProxyTable, *, can_refresh: bool, browser: bool = False
) -> dict[Rung, int]:
    """The rungs that a portal has."""
    return {
        Rung.OTHER_PROXY: settings.proxy_rotate_budget,
        Rung.NEW_SESSION: NEW_SESSION_BUDGET,
        Rung.RESTART: settings.proxy_restart_budget,
        Rung.REFRESH: settings.proxy_refresh_budget if can_refresh else 0,
        Rung.NEXT_TIER: len(table.tiers) - 1,
        Rung.BROWSER: LADDER_BUDGET if browser else 0,
        Rung.DIRECT: DIRECT_BUDGET if table.direct_allowed else 0,
    }
