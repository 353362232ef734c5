"""Limits of the dashboard's server and of the demo it shows; each says its unit and why."""

from collections.abc import Mapping
from typing import Final

DASHBOARD_HOST: Final = "127.0.0.1"
"""Where it listens unless told otherwise: this machine alone."""
DASHBOARD_PORT: Final = 8501
"""Its usual port; another free one is taken where somebody listens there already."""
DASHBOARD_START_SECONDS: Final = 120.0
"""Longest wait for the server's first answer; it imports for some seconds, more on a busy machine."""
DASHBOARD_ASK_SECONDS: Final = 5.0
"""Longest wait for one answer while it starts."""
DASHBOARD_POLL_SECONDS: Final = 0.1
"""Time between two looks at a server that starts, and at whether it still runs."""
DASHBOARD_STOP_SECONDS: Final = 10.0
"""Time it has to leave before it is killed: it has nothing to finish, pages write in transactions."""
DASHBOARD_ENVIRONMENT: Final[Mapping[str, str]] = {
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OPENBLAS_NUM_THREADS": "1",
}
"""What its libraries read when they are loaded. Left to themselves they take address space for what no page
needs (64 MB for each thread, 1 GB for the first table); under a limit on it none is left for the flats."""
DASHBOARD_MOST_UPLOAD_MB: Final = 1
"""Largest upload in MB; no page asks for a file."""
DASHBOARD_MOST_MESSAGE_MB: Final = 50
"""Largest message to a browser in MB: a table of all adverts of one search, with room."""
DEMO_REQUESTS_PER_MINUTE: Final = 3000.0
"""The simulated portals ask for no patience; slow enough to pull the plug."""
DEMO_DAYS: Final = 14
"""Days of the demo's world that have passed when it is first shown: enough for prices to move."""
DEMO_SEED: Final = 20
"""The demo's city: after these days flats of the shipped profile have come, gone and changed their prices."""
DEMO_DAYS_MISSED: Final = 14
"""Days at most that a demo of long ago is crawled for; those before passed unseen."""
DASHBOARD_LOGIN_SECONDS: Final = 12 * 3600.0
"""How long a login holds: a day of looking; the browser forgets it when it is closed."""
DASHBOARD_LOGIN_MOST_BYTES: Final = 4_096
"""Largest form with a password; nothing longer is read."""
DASHBOARD_TRY_SECONDS: Final = 1.0
"""How long whoever gave a wrong password waits for the next try; doubled by each further one."""
DASHBOARD_TRY_MOST_SECONDS: Final = 300.0
"""Longest such wait: some 300 tries a day, too few to guess 8 characters."""
DASHBOARD_TRY_TOGETHER_SECONDS: Final = 10.0
"""Longest wait for what others gave wrong: whoever has very many addresses has some 9 000 tries a day, and
the owner, in a new browser, waits no longer than this for a turn."""
DASHBOARD_KNOWN_SECONDS: Final = 90 * 86_400.0
"""How long a browser that once gave the password is known by it, and waits for its own wrong tries alone."""
DASHBOARD_TRIES_FORGOTTEN_SECONDS: Final = 3600.0
"""Wrong tries before a pause as long as this count no more."""
DASHBOARD_TRIES_KNOWN: Final = 10_000
"""Senders of wrong passwords that are remembered at once; so that they cannot fill the memory."""
