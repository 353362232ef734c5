"""What curl's error codes mean in our own tree."""

from collections.abc import Mapping
from typing import Final

from curl_cffi import CurlError
from curl_cffi.const import CurlECode

from sale_sofia.resilience.errors import (
    BodyTooLarge,
    CrawlError,
    ForeignAddress,
    NetworkBroken,
    NetworkConnection,
    NetworkDns,
    NetworkReset,
    NetworkTimeout,
    NetworkTls,
    ServiceProxy,
)

MEANING: Final[Mapping[int, type[CrawlError]]] = {
    CurlECode.OPERATION_TIMEDOUT: NetworkTimeout,
    CurlECode.FILESIZE_EXCEEDED: BodyTooLarge,
    CurlECode.URL_MALFORMAT: ForeignAddress,
    CurlECode.COULDNT_RESOLVE_HOST: NetworkDns,
    CurlECode.COULDNT_RESOLVE_PROXY: ServiceProxy,
    CurlECode.PROXY: ServiceProxy,
    CurlECode.GOT_NOTHING: NetworkReset,
    CurlECode.SEND_ERROR: NetworkReset,
    CurlECode.RECV_ERROR: NetworkReset,
    CurlECode.ABORTED_BY_CALLBACK: NetworkReset,  # curl wanted to send it again, see `sent_once`
    CurlECode.PEER_FAILED_VERIFICATION: NetworkTls,
    CurlECode.SSL_CERTPROBLEM: NetworkTls,
    CurlECode.SSL_CACERT_BADFILE: NetworkTls,
    CurlECode.SSL_ISSUER_ERROR: NetworkTls,
    CurlECode.SSL_INVALIDCERTSTATUS: NetworkTls,
    CurlECode.PARTIAL_FILE: NetworkBroken,
    CurlECode.UNSUPPORTED_PROTOCOL: NetworkBroken,
    CurlECode.BAD_CONTENT_ENCODING: NetworkBroken,
    CurlECode.WRITE_ERROR: NetworkBroken,
    CurlECode.WEIRD_SERVER_REPLY: NetworkBroken,
    CurlECode.HTTP2: NetworkBroken,
    CurlECode.HTTP2_STREAM: NetworkBroken,
    CurlECode.HTTP3: NetworkBroken,
    CurlECode.TOO_LARGE: NetworkBroken,
}


THROUGH_PROXY: Final = frozenset({CurlECode.COULDNT_CONNECT, CurlECode.RECV_ERROR, CurlECode.SEND_ERROR})
"""With a proxy these are its connection, or its refusal to lead on."""


def crawl_error(error: CurlError, url: str, *, through_proxy: bool = False) -> CrawlError:
    """The error of our tree for one of curl's; what is not known otherwise is a failed connection."""
    sentence = str(error).partition(". See http")[0]
    if through_proxy and error.code in THROUGH_PROXY:
        return ServiceProxy(f"{url}: {sentence}")
    return MEANING.get(int(error.code), NetworkConnection)(f"{url}: {sentence}")
