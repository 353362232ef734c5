"""Limits of what is measured and reported; no environment variable sets them, each says its unit and why."""

from typing import Final

SKETCH_RELATIVE_ERROR: Final = 0.01
"""Largest share by which a quantile of response times may be wrong."""
SKETCH_LEAST_SECONDS: Final = 0.001
"""Response times below this are not told apart; no portal answers in a millisecond."""
SKETCH_MOST_SECONDS: Final = 3600.0
"""Response times above this are not told apart; with the least one it bounds a sketch to 757 buckets."""
OPEN_SPANS_MAX: Final = 200
"""Openings of one domain's circuit that a run keeps apart; beyond it the nearest two become one."""

METRICS_FLUSH_SECONDS: Final = 5.0
"""Time between two flushes of a process's counters: what a kill may lose of them."""
METRICS_WRITERS_MAX: Final = 256
"""Processes whose last flush a run remembers; one is repeated within seconds, not after so many others."""

REPORTS_FOLDER: Final = "reports"
"""Folder of the runs' reports, in DATA_DIR."""
TOP_ERRORS: Final = 10
"""Classes of errors that a report names."""
EXAMPLE_TEXT_MAX: Final = 500
"""Characters of an example's message in a report."""
COMPARED_RUNS: Final = 7
"""Earlier runs a run is compared with: a week of nightly crawls."""
COMPARED_JOBS: Final = 100
"""Earlier jobs of a portal that are looked through for them; the others were of another search."""
STREAMED_ROWS: Final = 500
"""Rows read at once where a run may have very many."""
STATUS_WATCH_SECONDS: Final = 2.0
"""How often `status --watch` looks again."""
LIVE_RATE_SECONDS: Final = 60.0
"""Over how long the rate beside a progress bar is counted."""
