"""Fixed sizes by which an answer is judged, each with its unit and reason; not set by the environment."""

from typing import Final

PROGRAMS: Final = ("chromium", "chromium-browser")
"""Names under which systems install Chromium."""

LOOKED_AT_BYTES: Final = 65_536
"""Bytes of a body that are searched for marks of a block: challenge pages are small, adverts are not."""
TINY_BYTES: Final = 5_000
"""A body below this has no room for an advert or a list of them."""
TITLE_MAX_BYTES: Final = 200
"""No title of a challenge page is longer; a bound, so that a hostile page costs nothing."""
RETRY_AFTER_DIGITS: Final = 9
"""Digits of a Retry-After in seconds: nine are thirty years, more is no time span."""
MOST_IDLE_HANDLES: Final = 64
"""curl handles kept ready beyond those in use; more than any portal's requests at once."""
MOST_SESSIONS: Final = 256
"""Sessions whose cookies are kept; the longest unused are forgotten first."""
MOST_COOKIES: Final = 300
"""Cookies kept of one session, the newest; browsers keep fewer than 200 of a host, portals set a few."""
ARCHIVED_MOST_BYTES: Final = 1_000_000_000
"""Bytes of the largest page there can be, as MAX_PAGE_BYTES is no more; what would unpack to more is none."""
READ_BYTES: Final = 262_144
"""What is read of an answer at once: a page of a portal comes in one or two pieces instead of ten."""
ARCHIVED_READ_BYTES: Final = 1 << 20
"""An archived page is unpacked in pieces of this size to check it: small beside a page's most."""
