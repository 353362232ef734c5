"""What can be wrong with a service; each message is one sentence for the person who runs the system."""


class ServiceError(RuntimeError):
    """A service that is needed cannot be had."""


class ServiceFailed(ServiceError):
    """A service of ours does not start, or dies all the time: nothing that a person gave us is wrong."""


class NoRedisServer(ServiceError):
    """There is no program on this machine that could be our own Redis."""


class RedisUnreachable(ServiceError):
    """The server of REDIS_URL cannot be used; the message never holds its password."""


class RedisNotStarted(ServiceError):
    """Our own server did not come up, or its folder cannot be used."""


class RedisDied(RedisNotStarted):
    """Our own server ended while it started."""


class PortTaken(RedisNotStarted):
    """Another program listens where our own server should."""
