"""What a page can turn out to be instead of what was asked for.

PageError
├── UnreadablePage      the bytes cannot be trusted; nothing of them is used, the page is fetched again later
│   ├── EmptyPage       nothing was sent
│   ├── PageTooLarge    more bytes than any page of a portal has
│   ├── HostilePage     built to exhaust the parser
│   ├── TruncatedPage   the end is missing
│   └── UndecodablePage the text was lost on its way here
├── NotAListing         a sound page that is not the advert; it is never stored as one
│   ├── ProjectPage     a new building, not a flat
│   ├── RemovedListing  the portal shows a category where the advert was: gone
│   └── WrongListing    another advert than the one asked for
├── ForeignPage         a page of another website; nothing of it is used
└── LayoutChanged       the portal's markup is not the one we know: a person must look
"""

import re


class PageError(Exception):
    """A page that gives no data, by its right name."""

    @property
    def code(self) -> str:
        """The name in the JSON of `sale-sofia parse`: `UndecodablePage` is `undecodable_page`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


class UnreadablePage(PageError):
    """The bytes cannot be trusted: try again later, use nothing."""


class EmptyPage(UnreadablePage):
    """Nothing was sent."""


class PageTooLarge(UnreadablePage):
    """More bytes than any page of a portal has."""


class HostilePage(UnreadablePage):
    """Made so that parsing takes seconds or more memory than a page may: no use to try again."""


class TruncatedPage(UnreadablePage):
    """The end of the page is missing, so a value may be missing half."""


class UndecodablePage(UnreadablePage):
    """Some of the text was lost before it reached us."""


class NotAListing(PageError):
    """A sound page that is not the advert asked for."""


class ProjectPage(NotAListing):
    """A new building with many flats: no price, no floor, another template."""


class RemovedListing(NotAListing):
    """The portal answers with a category instead of the advert."""


class WrongListing(NotAListing):
    """The page's own id is not the one asked for."""


class ForeignPage(PageError):
    """A page of another website."""


class LayoutChanged(PageError):
    """The page should hold what was asked for, and our selectors do not find it."""
