"""Waiting for worker and beat: who is not there yet is looked at often, Redis and all the rest are not."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from sale_sofia.operations.services.fleet import Fleet
from sale_sofia.operations.services.processes import StopSignals
from sale_sofia.settings.errors import ServiceFailed
from sale_sofia.settings.model import load_settings

LOOKS = 50


@dataclass
class Starting:
    """A program that is at work after so many looks."""

    looks: int = LOOKS
    alive: bool = True
    name: str = "worker"

    @property
    def ready(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Starting], int]:
    """How often everything was looked at until the program was at work."""
    monkeypatch.setattr("sale_sofia.operations.settings.SUPERVISE_SECONDS", 3600.0)
    monkeypatch.setattr(Fleet, "_pause", lambda _: None)

    def wait(child: Starting) -> int:
        supervised: list[Starting] = []
        monkeypatch.setattr(Fleet, "children", property(lambda _: (child,)))
        monkeypatch.setattr(Fleet, "supervise", lambda _: supervised.append(child))
        Fleet(load_settings(), StopSignals(), print)._wait_until_ready()  # noqa: SLF001
        return len(supervised)

    return wait


def test_while_all_live_only_their_signs_are_looked_at(waiting: Callable[[Starting], int]) -> None:
    assert waiting(Starting()) == 0


def test_who_dies_meanwhile_is_seen_at_once(waiting: Callable[[Starting], int]) -> None:
    assert waiting(Starting(alive=False)) == LOOKS


def test_a_crawl_whose_services_were_stopped_is_not_wrong_input(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet(load_settings(), StopSignals(), print)
    monkeypatch.setattr(fleet, "joined", True)
    with pytest.raises(ServiceFailed, match="go on with `sale-sofia resume --parallel`"):
        fleet.check_joined()
