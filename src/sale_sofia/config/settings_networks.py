"""Settings that name machines: addresses and networks, with commas between them."""

import ipaddress
from typing import Annotated, Final

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
NETWORKS_ALLOWED: Final = "addresses or networks such as 127.0.0.1 or 10.0.0.0/8, with commas between them"


def networks(given: object) -> object:
    """The networks of a text; an address is a network of one.

    Raises:
        ValueError: one of them is neither.
    """
    if not isinstance(given, str):
        return given
    try:
        return tuple(ipaddress.ip_network(one.strip()) for one in given.split(","))
    except ValueError:
        raise ValueError(NETWORKS_ALLOWED) from None


Networks = Annotated[tuple[Network, ...], NoDecode, BeforeValidator(networks)]
