"""Leaks by exact names and equal addresses; exits by network. A likeness proves nothing."""

from sale_sofia.proxies.checker import anonymity, is_own_exit
from tables import each_row

OWN = {"1.2.3.4", "2001:db8::7"}
BASELINE = {"host", "accept", "x-forwarded-proto"}


@each_row(
    ("name", "value", "found"),
    [
        ("X-Forwarded-For", "1.2.3.4", "transparent"),
        ("X-Forwarded-For", "9.9.9.9, 1.2.3.4", "transparent"),
        ("Forwarded", 'for="[2001:DB8:0::7]:4711";proto=http', "transparent"),
        ("X-Whatever", "1.2.3.4:5678", "transparent"),
        ("X-Real-IP", "::ffff:1.2.3.4", "transparent"),
        ("X-Forwarded-For", "11.2.3.45", "anonymous"),
        ("Via", "1.1 cache", "anonymous"),
        ("via", "", "anonymous"),
        ("X-Previa", "forwarded via nobody", "elite"),
        ("User-Agent", "11.2.3.45 via", "elite"),
        ("X-Forwarded-Proto", "http", "elite"),
        ("Accept", "*/*", "elite"),
    ],
)
def test_what_a_header_tells(name: str, value: str, found: str) -> None:
    assert anonymity([("Host", "judge"), (name, value)], OWN, BASELINE) == found


@each_row(
    ("exit_address", "own"),
    [
        ("1.2.3.4", True),
        ("1.2.3.250", True),
        ("1.2.4.4", False),
        ("::ffff:1.2.3.9", True),
        ("2001:db8::1", True),
        ("2001:db8:0:1::1", False),
        ("nonsense", False),
    ],
)
def test_whose_exit_it_is(exit_address: str, *, own: bool) -> None:
    assert is_own_exit(exit_address, OWN) is own
    assert not is_own_exit(exit_address, set())
