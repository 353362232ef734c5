"""What happens in the month: 40 things for buyers, 12 incidents, and much that nobody must be told of."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Final

from alert_world import AlertWorld
from sale_sofia.listings.dates import SOFIA
from sale_sofia.telemetry.incidents import IncidentKind

Happens = Callable[[AlertWorld], None]
_INCIDENT_WORDS: Final = {
    IncidentKind.EMPTY_JOB: "обхождане без обяви",
    IncidentKind.COLLAPSE: "много по-малко обяви от обикновено",
    IncidentKind.DRIFT_FILL: "страниците на портала са променени",
    IncidentKind.CIRCUIT_OPEN_LONG: "порталът отказва твърде дълго",
    IncidentKind.NO_CRAWL: "порталът не е обхождан",
    IncidentKind.DISK_LOW: "малко място на диска",
}


def new(world: AlertWorld, name: str, number: int) -> None:
    world.seen(name, number)
    world.expect("new", name)


def cut(world: AlertWorld, name: str, percent: float) -> None:
    world.cut(name, percent)
    world.expect("cut", name)


def back(world: AlertWorld, name: str) -> None:
    world.change(name)
    world.expect("back", name)


def gone(world: AlertWorld, name: str) -> None:
    world.gone(name)
    world.expect("gone", name)


def cheaper(world: AlertWorld, name: str, twin: str) -> None:
    world.twin(name, twin, "bazar.bg", 5)
    world.expect("cheaper", twin)


def begins(world: AlertWorld, kind: IncidentKind, site: str) -> None:
    world.begins(kind, site)
    world.expect("incident", _incident(kind, site, world.now))


def ends(world: AlertWorld, kind: IncidentKind, site: str, since: int) -> None:
    world.ends(kind, site)
    world.expect("incident_end", _incident(kind, site, moment_of_day(world, since)))


def _incident(kind: IncidentKind, site: str, moment: float) -> str:
    here = datetime.fromtimestamp(moment, UTC).astimezone(SOFIA)
    return f"{_INCIDENT_WORDS[kind]} – {site} @ {here:%d.%m.%Y %H:%M}"


STARTS: Final[dict[int, float]] = {}
"""The moment of each day, as the month is played."""


def moment_of_day(_world: AlertWorld, day: int) -> float:
    return STARTS[day]


def quietly(action: str, *args: object) -> Happens:
    """Something that nobody must be told of."""
    return lambda world: getattr(world, action)(*args)


K = IncidentKind
DAYS: Final[Mapping[int, list[Happens]]] = {
    1: [partial(new, name="n1", number=101), partial(new, name="n2", number=102)],
    2: [partial(begins, kind=K.EMPTY_JOB, site="imot.bg"), quietly("cut", "old1", 1.0)],
    3: [
        partial(cut, name="old2", percent=5.0),
        partial(ends, kind=K.EMPTY_JOB, site="imot.bg", since=2),
        quietly("say", "old3", "rejected"),
    ],
    4: [quietly("cut", "old3", 20.0), partial(new, name="n3", number=103)],
    5: [quietly("cut", "old1", 1.0), partial(cheaper, name="old4", twin="b4")],
    6: [partial(cut, name="old1", percent=1.5), quietly("say", "old5", "shortlist")],  # 1 + 1 + 1.5 add up
    7: [partial(gone, name="old5"), partial(begins, kind=K.COLLAPSE, site="bazar.bg")],
    8: [partial(back, name="old5"), partial(ends, kind=K.COLLAPSE, site="bazar.bg", since=7)],
    9: [quietly("gone", "old6"), partial(new, name="n4", number=104), partial(new, name="n5", number=105)],
    # Both channels are down for an hour.
    10: [partial(back, name="old6"), partial(cut, name="old7", percent=8.0)],
    11: [
        partial(begins, kind=K.DRIFT_FILL, site="alo.bg"),
        # What a portal shows whose pages have changed is told when they are read again as they are.
        lambda world: world.seen("n6", 106, site="alo.bg"),
    ],
    12: [
        partial(ends, kind=K.DRIFT_FILL, site="alo.bg", since=11),
        lambda world: world.expect("new", "n6"),
    ],
    13: [quietly("change", "old8"), partial(begins, kind=K.CIRCUIT_OPEN_LONG, site="imot.bg")],
    14: [
        lambda world: world.seen("far1", 99, neighbourhood="Младост 1"),
        lambda world: world.seen("dear1", 301),
        partial(ends, kind=K.CIRCUIT_OPEN_LONG, site="imot.bg", since=13),
    ],
    15: [partial(new, name="n7", number=107), partial(cheaper, name="old9", twin="b9")],
    16: [
        quietly("say", "old10", "shortlist"),
        quietly("say", "old11", "viewing"),
        quietly("say", "old12", "offer"),
    ],
    17: [
        partial(gone, name="old10"),
        partial(gone, name="old11"),
        partial(begins, kind=K.NO_CRAWL, site="bazar.bg"),
    ],
    18: [partial(ends, kind=K.NO_CRAWL, site="bazar.bg", since=17), partial(back, name="old10")],
    19: [partial(cut, name="old13", percent=4.0), partial(cut, name="old14", percent=6.0)],
    20: [
        # Both channels are down again.
        partial(new, name="n8", number=108),
        partial(new, name="n9", number=109),
        partial(begins, kind=K.DISK_LOW, site="sale-sofia"),
    ],
    21: [
        partial(ends, kind=K.DISK_LOW, site="sale-sofia", since=20),
        partial(cut, name="old15", percent=9.0),
    ],
    22: [partial(cheaper, name="old16", twin="b16"), quietly("gone", "old17")],
    23: [partial(back, name="old17"), partial(begins, kind=K.EMPTY_JOB, site="alo.bg")],
    24: [partial(gone, name="old12"), partial(ends, kind=K.EMPTY_JOB, site="alo.bg", since=23)],
    25: [
        partial(new, name="n10", number=110),
        partial(new, name="n11", number=111),
        partial(cut, name="old18", percent=3.0),
        partial(begins, kind=K.COLLAPSE, site="imot.bg"),
    ],
    26: [
        partial(cut, name="n1", percent=7.0),
        partial(cheaper, name="old19", twin="b19"),
        partial(ends, kind=K.COLLAPSE, site="imot.bg", since=25),
        partial(begins, kind=K.CIRCUIT_OPEN_LONG, site="bazar.bg"),
    ],
    27: [
        partial(new, name="n12", number=112),
        partial(new, name="n13", number=113),
        partial(cut, name="old22", percent=12.0),
        quietly("gone", "old20"),
        partial(begins, kind=K.DRIFT_FILL, site="homes.bg"),
        partial(begins, kind=K.NO_CRAWL, site="alo.bg"),
    ],
    28: [
        partial(back, name="old20"),
        partial(cut, name="old2", percent=6.0),
        partial(cheaper, name="old21", twin="b21"),
        partial(ends, kind=K.CIRCUIT_OPEN_LONG, site="bazar.bg", since=26),
    ],
    29: [
        partial(new, name="n14", number=114),
        partial(new, name="n15", number=115),
        partial(new, name="n16", number=116),
        partial(begins, kind=K.EMPTY_JOB, site="bazar.bg"),
    ],
}  # fmt: skip
"""By day of the month."""
