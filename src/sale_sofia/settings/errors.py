"""Errors of services; each message is one sentence for the person who runs the system."""


class ServiceUnavailable(RuntimeError):
    """A required service is not available."""


class ServiceFailed(ServiceUnavailable):
    """A service of ours does not start, or keeps dying; no setting is wrong."""


class NoRedisServer(ServiceUnavailable):
    """No program on this machine can be our own Redis."""


class RedisUnreachable(ServiceUnavailable):
    """The server of REDIS_URL cannot be used; the message never holds its password."""


class RedisNotStarted(ServiceUnavailable):
    """Our own server did not start, or its folder cannot be used."""


class RedisDied(RedisNotStarted):
    """Our own server ended while it started."""


class PortTaken(RedisNotStarted):
    """Another program listens where our own server should."""
