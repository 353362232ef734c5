"""Every name that docs/specification.md gives for a name of the documents is there."""

import asyncio
import os
import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from typer.main import get_command

from sale_sofia.cli.main import app
from sale_sofia.crawl.resilience.breaker import MemoryCircuitBreaker
from sale_sofia.crawl.resilience.factory import get_circuit_breaker, get_rate_limiter
from sale_sofia.orchestrator import Orchestrator
from sale_sofia.settings.model import DOCUMENTED_NAMES, Settings
from sale_sofia.storage.all_tables import metadata
from tables import each_row

PAGE = Path(__file__).parents[2] / "docs" / "specification.md"
ROWS = re.findall(r"^\| (.+?) \| (\w+) \| `([^`]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)


def is_there(kind: str, name: str) -> bool:
    match kind:
        case "import":
            module, _, path = name.partition(":")
            return attrgetter(path)(import_module(module)) is not None
        case "setting":
            return name.lower() in Settings.model_fields
        case "table":
            return name in metadata.tables
        case "command":
            return name in get_command(app).list_commands(None)  # type: ignore[attr-defined]
    return False


@each_row("row", ROWS)
def test_a_name_of_the_documents_leads_to_ours(row: tuple[str, str, str]) -> None:
    _, kind, name = row
    assert is_there(kind, name), name


def test_the_page_has_all_that_is_named_otherwise() -> None:
    assert len(ROWS) > 40
    quoted = set(re.findall(r"`([A-Z_]+)`", PAGE.read_text("utf-8")))
    assert {name for names in DOCUMENTED_NAMES.values() for name in names} <= quoted


def test_the_package_runs_as_a_module() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "sale_sofia", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith("sale-sofia ")


@pytest.mark.slow
def test_a_program_that_imports_a_task_alone_sends_to_our_redis_from_every_thread() -> None:
    program = (
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "from sale_sofia.crawl.runners.tasks import scrape_chunk\n"
        "from sale_sofia.proxies.tasks import check_proxies\n"
        "print(Pool().submit(lambda: (scrape_chunk.app.main, check_proxies.app.conf.broker_url)).result())\n"
    )
    environment = os.environ | {"REDIS_URL": "redis://127.0.0.1:1/0"}
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout == "('sale_sofia', 'redis://127.0.0.1:1/0')\n"


def test_the_documents_calls_need_no_settings_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("DOMAIN_RATE_LIMITS", '{"default": 7}')
    assert Orchestrator().settings.data_dir == tmp_path
    assert isinstance(get_circuit_breaker(), MemoryCircuitBreaker)
    limiter = get_rate_limiter()
    waits = [asyncio.run(limiter.reserve("a.bg", 60, now=0.0)).wait_seconds for _ in range(2)]
    assert waits == [0.0, pytest.approx(60 / 7)]
