"""How many lanes portals feed, and which worker processes have nothing to do."""

import json

import pytest

from sale_sofia.crawl.runners.lane import idle_processes, lanes_for, visitors_for
from sale_sofia.settings.model import load_settings
from sale_sofia.websites.registry import get_scraper

SITE, OTHER = "imot.bg", "bazar.bg"


PLACES = get_scraper(SITE).config.politeness.concurrency


@pytest.mark.parametrize(("per_minute", "lanes"), [(10, 1), (600, 1), (601, 2), (60_000, PLACES)])
def test_a_portal_gets_as_many_lanes_as_its_rate_and_its_places_feed(
    monkeypatch: pytest.MonkeyPatch, per_minute: int, lanes: int
) -> None:
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", json.dumps({SITE: per_minute}))
    settings = load_settings()
    assert lanes_for(settings, SITE) == lanes
    assert (lanes - 1) * visitors_for(settings, SITE) < PLACES <= lanes * visitors_for(settings, SITE)


def test_processes_that_no_lane_needs_are_said_to_be_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", json.dumps({SITE: 700, OTHER: 20}))
    monkeypatch.setenv("WORKER_PROCESSES", "8")
    assert idle_processes(load_settings(), [SITE, OTHER]) == (
        "4 of 8 worker processes stay idle: 2 portals feed 3 lanes at the rates that are set, "
        "so WORKER_PROCESSES=4 is enough"
    )
    assert "6 of 8 worker processes stay idle: 1 portal feeds 1 lane " in str(
        idle_processes(load_settings(), [OTHER])
    )
    monkeypatch.setenv("WORKER_PROCESSES", "4")
    assert idle_processes(load_settings(), [SITE, OTHER]) is None
