"""Limits of the metrics that Prometheus reads; each says its unit and why."""

from typing import Final

METRICS_HOST: Final = "127.0.0.1"
"""Where they are served unless told otherwise: this machine alone."""
METRICS_SERVER_PORT: Final = 9877
"""The port of `sale-sofia metrics`; none of the well-known exporters has it."""
RESPONSE_BOUNDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds that part the response times: from a quick answer to the longest that is waited for."""
SETTLED_SECONDS: Final = 3600.0
"""A run that ended so long ago counts nothing more: lanes end a quarter of an hour after their job."""
LIVE_SECONDS: Final = 10.0
"""How long an answer of Redis and the workers is good for: a scrape comes every 15 seconds or later."""
STORED_SECONDS: Final = 60.0
"""How long the counts of all adverts and the size of the archive are: each looks at every one of them."""
STOP_POLL_SECONDS: Final = 0.2
"""Time between two looks at whether the server is to stop."""
