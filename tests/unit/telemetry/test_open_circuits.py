from sale_sofia.telemetry.metrics import MetricsCollector, Span


class Watched:
    """A collector with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.meter = MetricsCollector("job", clock=lambda: self.now)

    def refuse(self, now: float, seconds: float) -> None:
        self.now = now
        self.meter.circuit_open("x", seconds)

    def let_through(self, now: float, waited: float = 0.0) -> None:
        self.now = now
        self.meter.waited("x", waited)

    def spans(self, now: float) -> tuple[Span, ...]:
        self.now = now
        taken = self.meter.take()
        return taken["x"].circuit_open.spans if "x" in taken else ()


def test_what_was_foretold_counts_when_it_has_passed() -> None:
    watched = Watched()
    watched.refuse(100, 60)
    assert watched.spans(100) == ()
    assert watched.spans(130) == ((100_000, 130_000),)
    assert watched.spans(500) == ((130_000, 160_000),)
    assert watched.spans(900) == ()


def test_several_refusals_of_one_opening_count_once() -> None:
    watched = Watched()
    for now in (100, 110, 120):
        watched.refuse(now, 160 - now)
    assert watched.spans(500) == ((100_000, 160_000),)


def test_a_refusal_that_lasts_longer_goes_on() -> None:
    watched = Watched()
    watched.refuse(100, 60)
    watched.refuse(150, 60)
    assert watched.spans(500) == ((100_000, 210_000),)


def test_a_shorter_word_takes_nothing_back() -> None:
    watched = Watched()
    watched.refuse(100, 60)
    watched.refuse(110, 5)
    assert watched.spans(500) == ((100_000, 160_000),)


def test_two_openings_are_two() -> None:
    watched = Watched()
    watched.refuse(100, 10)
    watched.refuse(150, 10)
    assert watched.spans(500) == ((100_000, 110_000), (150_000, 160_000))


def test_who_gets_through_ends_it() -> None:
    watched = Watched()
    watched.refuse(100, 60)
    watched.let_through(110)
    assert watched.spans(500) == ((100_000, 110_000),)


def test_the_wait_for_the_limiter_is_not_the_circuits() -> None:
    watched = Watched()
    watched.refuse(100, 60)
    watched.let_through(116, waited=6)
    assert watched.spans(500) == ((100_000, 110_000),)
    # Admitted before the circuit opened, it ends the belief without having counted anything.
    watched.refuse(600, 60)
    watched.let_through(601, waited=6)
    assert watched.spans(900) == ()


def test_whoever_leaves_counts_what_is_foretold_and_only_once() -> None:
    watched = Watched()
    watched.refuse(100, 60)
    watched.now = 110
    watched.meter.foretell()
    assert watched.spans(110) == ((100_000, 160_000),)
    assert watched.spans(500) == ()
