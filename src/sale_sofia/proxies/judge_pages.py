"""What judge and client agree on, apart from the web server, which no client needs to import."""

import hashlib
from typing import Final

PLAIN_PATH: Final = "/plain"
SEEN_PATH: Final = "/seen"


def plain_page(nonce: str) -> bytes:
    """The page that a plain request with this nonce gets; who changes it is found out."""
    digest = hashlib.sha256(nonce.encode()).hexdigest()
    return f"<!doctype html><html><head><title>{digest}</title></head><body>{digest}</body></html>\n".encode()
