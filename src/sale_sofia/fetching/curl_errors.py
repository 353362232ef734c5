"""What curl's error codes mean in our own tree."""

from collections.abc import Mapping
from typing import Final

from curl_cffi import CurlError
from curl_cffi.const import CurlECode

from sale_sofia.resilience.errors import (
    BodyTooLarge,
    BrokenAnswer,
    ConnectionFailed,
    CrawlError,
    FetchTimeout,
    ForeignAddress,
    TlsFailed,
)

MEANING: Final[Mapping[int, type[CrawlError]]] = {
    CurlECode.OPERATION_TIMEDOUT: FetchTimeout,
    CurlECode.FILESIZE_EXCEEDED: BodyTooLarge,
    CurlECode.URL_MALFORMAT: ForeignAddress,
    CurlECode.PEER_FAILED_VERIFICATION: TlsFailed,
    CurlECode.SSL_CERTPROBLEM: TlsFailed,
    CurlECode.SSL_CACERT_BADFILE: TlsFailed,
    CurlECode.SSL_ISSUER_ERROR: TlsFailed,
    CurlECode.SSL_INVALIDCERTSTATUS: TlsFailed,
    CurlECode.PARTIAL_FILE: BrokenAnswer,
    CurlECode.UNSUPPORTED_PROTOCOL: BrokenAnswer,
    CurlECode.BAD_CONTENT_ENCODING: BrokenAnswer,
    CurlECode.WRITE_ERROR: BrokenAnswer,
    CurlECode.WEIRD_SERVER_REPLY: BrokenAnswer,
    CurlECode.HTTP2: BrokenAnswer,
    CurlECode.HTTP2_STREAM: BrokenAnswer,
    CurlECode.HTTP3: BrokenAnswer,
    CurlECode.TOO_LARGE: BrokenAnswer,
}


def crawl_error(error: CurlError, url: str) -> CrawlError:
    """The error of our tree for one of curl's; what is not known otherwise is a failed connection."""
    sentence = str(error).partition(". See http")[0]
    return MEANING.get(int(error.code), ConnectionFailed)(f"{url}: {sentence}")
