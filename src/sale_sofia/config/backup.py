"""What a backup holds, and the limits of making and reading one; no environment variable sets them."""

from typing import Final

from sale_sofia.config.alerts import ALERTS_FILE
from sale_sofia.config.matching import SECRET_FILE
from sale_sofia.config.monitoring import REPORTS_FOLDER
from sale_sofia.config.proxies import FOLDER as PROXIES_FOLDER
from sale_sofia.config.schedule import SCHEDULE_FILE

FORMAT: Final = 1
"""The form of the file; a program refuses a form that it does not know."""
BACKUPS_FOLDER: Final = "backups"
"""Where backups go, in DATA_DIR, when BACKUP_DIR is not set."""
PAGES_FOLDER: Final = "archive"
"""The page archive, in DATA_DIR."""
SITES_FOLDER: Final = "sites"
"""Where site files of the user's own are in a backup, and in the DATA_DIR that is restored from it."""
KEPT_FILES: Final = (SCHEDULE_FILE, ALERTS_FILE, SECRET_FILE)
"""Files of DATA_DIR that a backup holds. The key of hashed phones is one: they mean nothing without it."""
KEPT_FOLDERS: Final = ("profiles", PROXIES_FOLDER, REPORTS_FOLDER)
"""Folders of DATA_DIR whose files a backup holds. What is not named here is left out, passwords above all."""

SQLITE_PAGES_AT_ONCE: Final = 2_000
"""Pages of SQLite copied between two signs of progress: 8 MB. No writer ever waits for it."""
COMPRESSION_LEVEL: Final = 3
"""zstd's own choice: a database shrinks to about a quarter, as fast as a disk writes."""
READ_BYTES: Final = 1 << 20
"""Bytes read, hashed and written in one go."""
LONGEST_NAME: Final = 100
"""Bytes of a file's name in a tar that needs no further headers; ours are shorter."""
ABOUT_MOST_BYTES: Final = 1_000_000
"""Bytes of what a backup says of itself; it takes some thousand."""
SUMS_MOST_BYTES: Final = 1_000_000_000
"""Bytes of the list of checksums: 140 for each page, so seven million pages."""
WINDOW_MOST_BYTES: Final = 1 << 27
"""Memory that a compressed file may ask for: zstd's own limit for files of strangers."""
MOST_GROWTH: Final = 250
"""A file may unpack to so many times its size: databases reach 20. More is a trap to fill the disk."""
GROWTH_ALLOWED_BYTES: Final = 100_000_000
"""Bytes that a file may unpack to in any case: the emptiest of databases shrink the most."""
PAGE_CLOCK_SECONDS: Final = 60.0
"""A page's file may be so much older than the moment the database has for it: disks round times."""
SHOWN_PAGES: Final = 5
"""Names of damaged or lost pages that are told; JSON has all of them."""
NEWEST_MOMENT: Final = 1 << 33
"""Seconds since 1970 beyond which a file's time is no time: the year 2242."""
