"""Limits of the dashboard's server and of the demo it shows; each says its unit and why."""

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
DASHBOARD_MOST_UPLOAD_MB: Final = 1
"""Largest upload in MB; no page asks for a file."""
DASHBOARD_MOST_MESSAGE_MB: Final = 50
"""Largest message to a browser in MB: a table of all adverts of one search, with room."""
DEMO_DAYS: Final = 14
"""Days of the demo's world that have passed when it is first shown: enough for prices to move."""
DEMO_DAYS_MISSED: Final = 14
"""Days at most that a demo of long ago is crawled for; those before passed unseen."""
