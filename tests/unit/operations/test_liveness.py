from sale_sofia.operations.services.fleet import Liveness
from sale_sofia.operations.settings import SERVICE_START_SECONDS


class Watched:
    """A liveness with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.liveness = Liveness(silent_seconds=10.0, clock=lambda: self.now)

    def hangs(self, now: float, sign: float | None, start: str = "first") -> bool:
        self.now = now
        return self.liveness.hangs("worker", (start, sign))


def test_silence_counts_from_the_last_new_sign_whatever_the_sign_says() -> None:
    watched = Watched()
    assert not watched.hangs(100, 9e9)
    assert not watched.hangs(110, 9e9)
    assert watched.hangs(110.1, 9e9)
    assert not watched.hangs(110.2, 3.0)  # the wall's clock was set back: a sign all the same
    assert not watched.hangs(120.2, 3.0)


def test_a_new_start_begins_anew_and_has_the_time_of_a_start() -> None:
    watched = Watched()
    assert not watched.hangs(0, 1.0)
    assert not watched.hangs(50, None, "second")
    assert not watched.hangs(50 + SERVICE_START_SECONDS, None, "second")
    assert watched.hangs(50.1 + SERVICE_START_SECONDS, None, "second")


def test_who_is_excused_is_looked_at_anew() -> None:
    watched = Watched()
    assert not watched.hangs(0, 1.0)
    watched.liveness.excuse_all()
    assert not watched.hangs(100, 1.0)
    assert watched.hangs(111, 1.0)


def test_services_do_not_speak_for_each_other() -> None:
    watched = Watched()
    assert not watched.hangs(0, 1.0)
    assert not watched.liveness.hangs("beat", ("other", 1.0))
    assert watched.hangs(11, 1.0)
