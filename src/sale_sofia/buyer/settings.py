"""Constants and settings of what the buyer writes; each states its unit and its reason."""

from typing import Final

from pydantic import BaseModel

from sale_sofia.settings.types import whole

VISIT_PAUSE_SECONDS: Final = 30 * 60.0
"""A return within this time continues the visit: what was new stays new."""
FIRST_VISIT_SECONDS: Final = 7 * 24 * 3600.0
"""How far back the first visit looks: a week of adverts."""
VISIT_NOTED_SECONDS: Final = 60.0
"""Precision of a visit's end: requests closer together are not stored."""

LONGEST_NOTE: Final = 10_000
"""Characters of a note: several pages; more is a file pasted by mistake."""
SENT_AGAIN_SECONDS: Final = 600.0
"""Within this the same words by the same person are one note: the first sending got no answer."""
LONGEST_LINE: Final = 1_000
"""Characters of a reason, an address, a plus or a minus."""
LONGEST_WHO: Final = 80
"""Characters of the name of who wrote."""
LONGEST_SEARCH_NAME: Final = 60
"""Characters of the name of a saved search, as its column holds."""
MOST_RENOVATION_EUR: Final = 10_000_000
"""Euros: beyond it a digit too many was typed."""
VIEWING_MINUTES: Final = 30
"""How long a viewing takes when nobody says: what agents reckon with."""
MOST_VIEWING_MINUTES: Final = 24 * 60
"""A viewing ends within a day."""
FIRST_VIEWING_YEAR: Final = 2000
"""A viewing before it has a mistyped date."""
LAST_VIEWING_YEAR: Final = 2100
"""So has one after it."""
WALKED_MINUTES: Final = 15
"""From one viewing to the next one walks so long, rather than wait for a bus."""
CALENDAR_LINE_OCTETS: Final = 75
"""Octets of a line of a calendar file, its end not counted (RFC 5545, 3.1)."""
MOST_PRICE_EUR: Final = 100_000_000
"""Euros: no flat of Sofia costs more."""
MOST_STARS: Final = 5
"""How good a person can find a flat; the least is one."""
MOST_PEOPLE: Final = 20
"""People of a household, with parents, children and an agent they trust."""
LEAST_PASSWORD: Final = 10
"""Characters of a person's password: wrong tries are slowed down, and it opens one household's notes."""
LONGEST_PASSWORD: Final = 200
"""Characters: more is no password, and hashing it costs."""
SIGN_IN_LINK_SECONDS: Final = 3 * 86_400.0
"""How long a sign-in link may lie in a chat before it is used."""
SIGN_IN_AGAIN_SECONDS: Final = 600.0
"""Within this a browser that used a link and got no answer is given the same session once more."""
SESSION_SECONDS: Final = 90 * 86_400.0
"""How long a browser stays signed in after it was last used."""
SESSION_NOTED_SECONDS: Final = 3_600.0
"""How exactly it is known when a session was last used: looks closer together are not written down."""
MOST_SIGN_INS: Final = 50
"""Links and sessions of one person; the oldest make room."""
LONGEST_DEVICE: Final = 120
"""Characters of what a browser calls itself, as its column holds."""
SCRYPT_COST: Final = 2**14
"""Work of hashing a password: 16 MB and some 50 ms, as RFC 7914 gives for signing in."""
OWN_PHOTOS_FOLDER: Final = "own_photos"
"""Photos of the household's own, in DATA_DIR."""
MOST_OWN_PHOTOS: Final = 200
"""Of one flat: several viewings of it, and a plan."""
CALENDAR_PATH: Final = "/calendar/"
"""Where a calendar asks for a person's viewings, before its token."""
SIGN_IN_PATH: Final = "/enter/"
"""Where a sign-in link leads, before its token."""
SHARED_PATH: Final = "/shared/"
"""Where a link to one flat leads, before its token."""
SHARED_DAYS: Final = (1, 7, 14, 30, 90)
"""Days that a link to a flat may last, to choose from on the page; what the setting says besides."""
MOST_SHARED_DAYS: Final = 365
"""Days: after a year the flat is another's."""
MOST_SHARED: Final = 300
"""Links to flats that last at once: some for each flat of a long search."""


class SharingSettings(BaseModel, defer_build=True):
    """Settings of what is shown to people who are not of the household."""

    share_link_days: int = whole(
        14, 1, MOST_SHARED_DAYS, "days", "How long a link to one flat lasts, unless another time is chosen."
    )
