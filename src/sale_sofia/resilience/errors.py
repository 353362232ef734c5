"""What can go wrong on the way to a page, and what the system does next.

CrawlError
├── TransportError          no answer came; retried with backoff, counts against the domain's circuit
│   ├── FetchTimeout        the deadline passed
│   ├── ConnectionFailed    refused, reset, or the name is unknown
│   ├── TlsFailed           the certificate is not valid; never retried without verification
│   └── BrokenAnswer        the answer broke off, or its encoding is damaged
├── AddressRefused          an address we may not ask: skipped, counts against nobody
│   ├── ForeignAddress      a host that is not the portal's own (also by redirect)
│   ├── PrivateAddress      a private or link-local address that no start URL named
│   └── RobotsDisallowed    robots.txt asks us to stay away
├── BodyTooLarge            the answer is larger than any page (also after decompression): skipped
└── RedirectLoop            redirected too often: skipped
"""


class CrawlError(Exception):
    """A page could not be had. `retry` says whether trying later makes sense."""

    retry = False
    counts_against_domain = False


class TransportError(CrawlError):
    """No answer came: try again later."""

    retry = True
    counts_against_domain = True


class FetchTimeout(TransportError):
    """The deadline passed before the whole answer was here."""


class ConnectionFailed(TransportError):
    """The connection was refused or reset, or the name is unknown."""


class TlsFailed(TransportError):
    """The certificate is not valid. Verification is never switched off."""


class BrokenAnswer(TransportError):
    """The answer broke off before its end, or its compression is damaged."""


class AddressRefused(CrawlError):
    """An address we may not ask: skip it."""


class ForeignAddress(AddressRefused):
    """A host that is not one of the portal's own."""


class PrivateAddress(AddressRefused):
    """A private or link-local address that no start URL named."""


class RobotsDisallowed(AddressRefused):
    """robots.txt asks us to stay away."""


class BodyTooLarge(CrawlError):
    """More bytes than any page of a portal has, before or after decompression."""


class RedirectLoop(CrawlError):
    """Redirected more often than any portal does."""
