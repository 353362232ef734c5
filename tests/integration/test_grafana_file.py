"""The dashboard for Grafana and the scrape example agree with what is exported."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sale_sofia.crawl.runners.progress import LiveState
from sale_sofia.operations.metrics import Exporter, live_families
from sale_sofia.operations.settings import METRICS_HOST, METRICS_SERVER_PORT
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD = json.loads((DEPLOY / "grafana" / "sale-sofia.json").read_text("utf-8"))
PARTS = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("_total",), "gauge": ("",)}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Every name that the endpoint may give, with the labels it has."""
    folder = tmp_path_factory.mktemp("grafana")
    database = Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=30, busy_retries=3)
    initialize_database(database)
    families = [*Exporter(Settings(data_dir=folder), database).collect()]
    families += live_families(LiveState(redis=True))
    database.dispose()
    return {
        f"{family.name}{part}": {*getattr(family, "_labelnames", ()), *(["le"] if part == "_bucket" else [])}
        for family in families
        for part in PARTS[family.type]
    }


def expressions(tree: Any) -> Iterator[str]:  # noqa: ANN401 - any part of the file
    if isinstance(tree, dict):
        yield from (tree[key] for key in ("expr", "definition") if isinstance(tree.get(key), str))
        tree = list(tree.values())
    if isinstance(tree, list):
        for one in tree:
            yield from expressions(one)


def test_every_metric_that_is_drawn_is_exported(exported: dict[str, set[str]]) -> None:
    told = list(expressions(BOARD))
    named = {name for one in told for name in re.findall(r"\bsale_sofia_\w+", one)}
    assert len(told) >= len(BOARD["panels"]) >= 10
    assert named - exported.keys() == set()
    assert len(named) >= 12


def test_every_label_that_is_named_is_one_of_the_metric(exported: dict[str, set[str]]) -> None:
    wrong = [
        (name, label)
        for one in expressions(BOARD)
        for name, chosen in re.findall(r"\b(sale_sofia_\w+)\{([^}]*)\}", one)
        for label in re.findall(r"(\w+)(?:=~|!~|!=|=)", chosen)
        if label not in exported[name]
    ]
    assert wrong == []


def test_it_is_a_dashboard_with_a_source_to_choose() -> None:
    assert BOARD["schemaVersion"] >= 39
    assert BOARD["uid"] == "sale-sofia"
    kinds = {one["name"]: one["type"] for one in BOARD["templating"]["list"]}
    assert kinds == {"datasource": "datasource", "domain": "query"}
    sources = {panel["datasource"]["uid"] for panel in BOARD["panels"]}
    assert sources == {"${datasource}"}
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(numbers)) == len(numbers)
    assert all(panel["title"] and panel["gridPos"]["w"] <= 24 for panel in BOARD["panels"])


def test_no_two_panels_are_drawn_over_each_other() -> None:
    places = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in BOARD["panels"]
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(places)) == len(places)


def test_the_scrape_example_asks_where_metrics_are_served() -> None:
    [job] = yaml.safe_load((DEPLOY / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"{METRICS_HOST}:{METRICS_SERVER_PORT}"]}]
    assert job.get("metrics_path", "/metrics") == "/metrics"
