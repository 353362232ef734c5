"""How the browser lane works; no environment variable sets it, each says its unit."""

from typing import Final

PROGRAMS: Final = ("chromium", "chromium-browser")
"""Names under which systems install Chromium."""
FOLDER: Final = "lanes"
"""Of what is remembered of the lanes where there is no Redis, in DATA_DIR; readable by its owner alone."""
BUDGET_SECONDS: Final = 3600.0
"""For so long BROWSER_PAGES_PER_HOUR counts."""
LADDER_BUDGET: Final = 3
"""Challenges taken to the browser before the ladder goes on."""
MOST_DOCUMENTS: Final = 6
"""Pages in one visit: a challenge that only leads to another one is given up."""
DOOR_CONNECT_SECONDS: Final = 10.0
"""Patience of the browser's way out with one connection."""
CLOSE_SECONDS: Final = 10.0
"""Patience with a browser that is told to end; its driver then kills it."""
MOST_GIVEN: Final = 1000
"""Sessions of which is known that they have their cookies; beyond it they are given them again."""
