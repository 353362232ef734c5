import json
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sale_sofia.telemetry.metrics import DomainMetrics, MetricsCollector

NOW = 1_000_000.0
Call = Callable[[MetricsCollector], None]

_domains = st.sampled_from(["imot.bg", "bazar.bg"])
_seconds = st.floats(min_value=0, max_value=500, allow_nan=False)
_count = st.integers(0, 9)
CALLS: st.SearchStrategy[Call] = st.one_of(
    st.builds(
        lambda domain, verdict, size, seconds: lambda c: c.answered(domain, verdict, size, seconds),
        _domains,
        st.sampled_from(["ok", "blocked", "rate_limited", "unreadable"]),
        st.integers(0, 200_000),
        _seconds,
    ),
    st.builds(lambda domain: lambda c: c.unanswered(domain), _domains),
    st.builds(
        lambda domain, new, changed, unchanged, failed: (
            lambda c: c.stored(domain, new=new, changed=changed, unchanged=unchanged, failed=failed)
        ),
        _domains,
        _count,
        _count,
        _count,
        _count,
    ),
    st.builds(lambda domain: lambda c: c.retried(domain), _domains),
    st.builds(lambda domain, seconds: lambda c: c.waited(domain, seconds), _domains, _seconds),
    st.builds(
        lambda domain, start, seconds: lambda c: open_circuit(c, domain, start, seconds),
        _domains,
        st.integers(0, 2000),
        _seconds,
    ),
)


def open_circuit(collector: MetricsCollector, domain: str, start: int, seconds: float) -> None:
    """As if it had passed already."""
    collector.stored(domain)
    collector.domains[domain].circuit_open.add(start, seconds)


def collector(calls: list[Call] | None = None) -> MetricsCollector:
    made = MetricsCollector("job", clock=lambda: NOW)
    for call in calls or []:
        call(made)
    return made


def merged(*many: dict[str, DomainMetrics]) -> dict[str, DomainMetrics]:
    whole: dict[str, DomainMetrics] = {}
    for counters in many:
        for domain, counted in counters.items():
            whole.setdefault(domain, DomainMetrics()).merge(counted)
    return whole


def test_every_call_is_counted_where_it_belongs() -> None:
    now = [NOW]
    made = MetricsCollector("job", clock=lambda: now[0])
    made.circuit_open("imot.bg", 60)
    now[0] += 65
    made.answered("imot.bg", "ok", 1000, 0.5)
    made.answered("imot.bg", "blocked", 200, 1.5)
    made.unanswered("imot.bg")
    made.stored("imot.bg", new=3, changed=2, unchanged=5, failed=1)
    made.retried("imot.bg")
    made.waited("imot.bg", 2.5)
    made.waited("imot.bg", 0.0)
    made.answered("bazar.bg", "ok", 7, 0.1)
    imot = made.domains["imot.bg"]
    assert imot.verdicts == {"ok": 1, "blocked": 1, "no_answer": 1}
    assert imot.requests == 3
    assert imot.bytes == 1200
    assert (imot.response.count, imot.response.mean()) == (2, 1.0)
    assert (imot.new, imot.changed, imot.unchanged, imot.failed) == (3, 2, 5, 1)
    assert (imot.retries, imot.waits, imot.waited_seconds) == (1, 1, 2.5)
    assert imot.circuit_open.seconds_within(0, 2 * NOW) == 60.0
    assert made.domains["bazar.bg"].requests == 1


@given(st.lists(CALLS, max_size=15), st.lists(CALLS, max_size=15), st.lists(CALLS, max_size=15))
def test_merging_is_the_same_in_any_order_and_loses_nothing(
    first: list[Call], second: list[Call], third: list[Call]
) -> None:
    a, b, c = collector(first).domains, collector(second).domains, collector(third).domains
    whole = collector(first + second + third).domains
    assert merged(a, b, c) == whole
    assert merged(c, b, a) == whole
    assert merged(a, merged(b, c)) == whole


@given(st.lists(CALLS, max_size=15))
def test_json_gives_the_same_counters(calls: list[Call]) -> None:
    for made in collector(calls).domains.values():
        assert DomainMetrics.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def test_what_was_taken_is_counted_no_more() -> None:
    made = collector()
    made.retried("imot.bg")
    taken = made.take()
    made.retried("imot.bg")
    assert taken == {"imot.bg": DomainMetrics(retries=1)}
    assert made.take() == {"imot.bg": DomainMetrics(retries=1)}
    assert made.take() == {}


def test_a_million_pages_take_no_more_room_than_ten_thousand() -> None:
    made, many = collector(), DomainMetrics()
    for number in range(10_000):
        made.answered("imot.bg", "ok", 100_000, 0.05 + number % 1000 / 300)
    few = made.domains["imot.bg"]
    for _ in range(100):
        many.merge(few)
    assert many.requests == 1_000_000
    assert many.bytes == 100_000_000_000
    assert len(json.dumps(many.to_dict())) < len(json.dumps(few.to_dict())) * 1.5
