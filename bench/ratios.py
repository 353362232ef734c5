"""Which figures of a benchmark's last line stand beside which of its peers', as ratios of the same run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Step = str | Mapping[str, object]
"""A key, or of a list the element that says all of this."""
Where = tuple[Step, ...]


class Ratio(NamedTuple):
    """What is compared, where ours and the peer's figure stand, and whether less is better, or more."""

    what: str
    peer: str
    ours: Where
    theirs: Where
    better: str = "less"


class Compared(NamedTuple):
    """Both figures, and ours as a part of the peer's; None where the peer's is nought."""

    what: str
    peer: str
    ours: float
    theirs: float
    ratio: float | None
    better: str


_SHIPPED, _STEADY = "shared, as shipped", "shared, steady"
_LANE = {"processes": 8, "per_minute": 600}


def _crawlers(peer: str) -> Iterator[Ratio]:
    for what, key, better in (
        ("pages a second", "pages_per_second", "more"),
        ("CPU of a page", "cpu_ms_per_page", "less"),
        ("peak memory", "peak_mb", "less"),
    ):
        yield Ratio(what, peer, ("best", "sale-sofia", key), ("best", peer, key), better)


def _killed(peer: str) -> Iterator[Ratio]:
    for what, key in (("adverts lost", "lost"), ("pages fetched again", "repeated")):
        yield Ratio(what, peer, ("systems", "sale-sofia", key), ("systems", peer, key))


def _limiters(peer: str) -> Iterator[Ratio]:
    ours, theirs = ({"system": name, **_LANE} for name in ("sale-sofia", peer))
    for what, key in (
        ("round trips of a turn", "round_trips_per_turn"),
        ("fullest window of its bound", "overshoot"),
    ):
        yield Ratio(f"{what}, 8 processes at 600", peer, ("lanes", ours, key), ("lanes", theirs, key))


def _stores(store: str) -> Iterator[Ratio]:
    for processes in ("1", "4", "8"):
        at = (store, processes)
        what = f"adverts a second, {store}, {processes} processes"
        yield Ratio(what, "the driver's bare upsert", (*at, "per_second"), (*at, "bare"), "more")


def _searches() -> Iterator[Ratio]:
    every_text = ("broad", "a word, nothing else", "seconds")
    yield Ratio("seconds of 95 of 100 usual searches", "reading every description", ("p95",), every_text)


def _proxies(policy: str) -> Iterator[Ratio]:
    ours, theirs = {"policy": "sale-sofia"}, {"policy": policy}
    yield Ratio("pages had", policy, ("policies", ours, "success"), ("policies", theirs, "success"), "more")
    for what, key in (
        ("wasted requests of a page", "wasted_per_success"),
        ("wasted seconds", "wasted_seconds"),
    ):
        yield Ratio(what, policy, ("policies", ours, key), ("policies", theirs, key))


RATIOS: Mapping[str, Sequence[Ratio]] = {
    "parse": [
        Ratio("CPU of a listing", peer, ("cpu_ms_per_page", "sale-sofia"), ("cpu_ms_per_page", peer))
        for peer in ("bare selectolax parse", "lxml", "parsel", "BeautifulSoup")
    ],
    "engine": [*_crawlers("Scrapy"), *_crawlers("Crawlee")],
    "kill9": [*_killed("Scrapy JOBDIR"), *_killed("Crawlee file system")],
    "limiter": [*_limiters("limits"), *_limiters("pyrate-limiter")],
    "breaker": [
        Ratio("requests while down", peer, ("requests_of", f"{ours} / {peer}"), ())
        for ours, peer in (
            (_STEADY, "one per process, steady"),
            (_STEADY, "pybreaker per process"),
            (_SHIPPED, "one per process, as shipped"),
        )
    ],
    "parallel": [
        Ratio("makespan in one process", "the rates' bound", ("ways", "local", "ratio"), ()),
        Ratio("makespan on workers", "the rates' bound", ("ways", "parallel", "ratio"), ()),
        *(
            Ratio(what, "scrapy-redis", ("two_processes", "sale-sofia", key), ("two_processes", peer, key))
            for peer in ("scrapy-redis",)
            for what, key in (
                ("most requests in a second", "most_in_a_second"),
                ("requests over the limit", "over"),
                ("adverts lost after a kill", "lost"),
            )
        ),
    ],
    "parallel --company": [
        Ratio(
            f"seconds of {name} beside portals in trouble",
            "alone",
            ("company", "beside", name),
            ("company", "alone", name),
        )
        for name in ("healthy-400.test", "healthy-200.test")
    ],
    "parallel --frontier": [
        Ratio(
            f"{role}'s memory, a queue of 100 000",
            "a short queue",
            ("many", "highest", role),
            ("few", "highest", role),
        )
        for role in ("dispatcher", "worker", "redis")
    ],
    "searching": list(_searches()),
    "searching --adverts 1000000": list(_searches()),
    "store": [*_stores("sqlite"), *_stores("postgres")],
    "matching": [
        Ratio(what, "splink", ("sizes", "100000", key), ("splink", key), better)
        for what, key, better in (
            ("seconds to match 100 000", "matching_s", "less"),
            ("peak memory", "peak_mb", "less"),
            ("precision", "precision", "more"),
            ("recall", "recall", "more"),
        )
    ],
    "descriptions": [
        Ratio(what, "keywords", (what,), (f"keywords_{what}",), "more") for what in ("precision", "recall")
    ],
    "scoring": [
        Ratio("CPU of a first run", "each flat by itself", ("first", "cpu_seconds"), ("plain_cpu_seconds",)),
    ],
    "valuation": [
        Ratio(
            "median error",
            "the neighbourhood's median",
            ("by_flat", "error", "median"),
            ("by_flat", "neighbourhood_median", "median"),
        ),
    ],
    "proxies": [
        ratio
        for policy in ("round-robin", "random", "scrapy-rotating-proxies", "crawlee")
        for ratio in _proxies(policy)
    ],
    "scale": [
        Ratio(
            "requests above a portal's rate",
            "a bucket in each worker",
            ("many", "over_the_rate"),
            ("peers", "own_buckets", "over_the_rate"),
        ),
        Ratio(
            "seconds for all portals",
            "the rate divided by the workers",
            ("many", "makespan"),
            ("peers", "divided", "makespan"),
        ),
        Ratio(
            "requests to portals that are down",
            "no breaker",
            ("outage", "with", "wasted"),
            ("outage", "without", "wasted"),
        ),
    ],
    "metrics": [Ratio("CPU of metrics and logs", "the whole crawl", ("metrics_and_logs_share",), ())],
    "history --crawls": [
        Ratio("requests of the same portal again", "the first crawl", ("again",), ()),
        Ratio("requests a day later", "the first crawl", ("day_later",), ()),
        Ratio("requests of an average day", "the first crawl", ("mean_day",), ()),
    ],
    "dashboard": [
        Ratio(
            "the search on a phone",
            "a plain page",
            ("pages", "phone", "search", "usable"),
            ("plain_streamlit", "phone", "usable"),
        ),
        Ratio(
            "bytes of the search",
            "a plain page",
            ("pages", "phone", "search", "kilobytes"),
            ("plain_streamlit", "phone", "kilobytes"),
        ),
    ],
}
"""By benchmark; one that is not here, or has no peer, is told by its own figures."""


def compared(name: str, result: Mapping[str, Any]) -> list[Compared]:
    """Every ratio of the benchmark whose figures this run has; a short run may leave peers out."""
    found = (_compared(ratio, result) for ratio in RATIOS.get(name, ()))
    return [one for one in found if one]


def left_out(name: str, result: Mapping[str, Any]) -> list[str]:
    """What the benchmark compares in its whole run and this run has no figures of."""
    return [f"{one.what} beside {one.peer}" for one in RATIOS.get(name, ()) if not _compared(one, result)]


def _compared(ratio: Ratio, result: Mapping[str, Any]) -> Compared | None:
    ours = number_at(result, ratio.ours)
    theirs = number_at(result, ratio.theirs) if ratio.theirs else 1.0  # ours is a ratio already
    if ours is None or theirs is None:
        return None
    share = ours / theirs if theirs else None
    return Compared(ratio.what, ratio.peer, ours, theirs, share, ratio.better)


def number_at(value: object, where: Where) -> float | None:
    """The number there, of a list of numbers their sum; None where there is none."""
    for step in where:
        value = _step(value, step)
    if isinstance(value, list) and all(isinstance(one, int | float) for one in value):
        value = sum(value)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _step(value: object, step: Step) -> object:
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    rows = value if isinstance(value, list) else []
    return next((row for row in rows if step.items() <= row.items()), None)
