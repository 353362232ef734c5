"""The address at which Prometheus finds the metrics."""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server

from sale_sofia.services.errors import ServiceError


@contextmanager
def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Iterator[str]:
    """Serve them by threads of this process until the block ends; gives the URL.

    Raises:
        ServiceError: nobody can listen there.
    """
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ServiceError(
            f"metrics cannot be served on {host}, port {port}: {error.strerror}; "
            "give another port, or an address of this machine"
        ) from None
    try:
        name = f"[{host}]" if ":" in host else host
        yield f"http://{name}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
