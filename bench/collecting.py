"""Benchmarks found in a folder, run one after the other, and what each said kept as a file of its own."""

import ast
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

WAYS: Mapping[str, tuple[str, ...]] = {
    "chaos": ("", "--postgres", "--hosts 3", "--outage 60"),
    "history": ("", "--crawls", "--writes", "--scale"),
    "parallel": ("", "--company", "--frontier"),
    "searching": ("", "--adverts 1000000"),
}
"""The arguments of those that measure several things, one thing a run."""
LAST = ("chaos", "power_loss", "soak", "three_hosts", "upgrade_kills")
"""They take longest, and what they show does not depend on how fast the machine is."""
VERSIONS = (
    "sale-sofia", "celery", "curl-cffi", "redis", "selectolax", "sqlalchemy", "starlette", "beautifulsoup4",
    "crawlee", "limits", "lxml", "parsel", "pybreaker", "pyrate-limiter", "scrapy", "scrapy-redis", "splink",
)  # fmt: skip
PATIENCE_SECONDS = {True: 1800.0, False: 6 * 3600.0}
"""Of a quick and of a whole run: one that hangs must not keep the others from running."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A file with a `main` that ends by `measure.finish`, and one way to run it."""

    path: Path
    way: str = ""

    @property
    def name(self) -> str:
        """As in the page and on the command line: `history --crawls`."""
        return f"{self.path.stem} {self.way}".strip()

    def command(self, *, quick: bool) -> list[str]:
        """What runs it."""
        return [str(self.path), *shlex.split(self.way), *(["--quick"] if quick else [])]


@dataclass(frozen=True, slots=True)
class Record:
    """One run: when, where, how, and what was said at its end; `failed` says why nothing was."""

    bench: str
    command: str
    date: str
    seconds: float
    load: float
    machine: str
    versions: dict[str, str]
    result: dict[str, Any]
    failed: str | None = None
    commit: str = ""
    """Of the code that was measured; empty where there is none, and in records that did not keep it."""

    @property
    def verdict(self) -> str:
        """In one word."""
        return "failed" if self.failed else "met" if self.result.get("met") else "missed"

    @property
    def quick(self) -> bool:
        """Whether it was a short run, with the wider goal of short runs."""
        return "--quick" in self.command


def find_benches(folder: Path) -> list[Bench]:
    """Every benchmark of a folder, by name but for the `LAST`; helpers of benchmarks are not among them."""
    found = [path for path in sorted(folder.glob("*.py")) if _is_bench(path)]
    found.sort(key=lambda path: path.stem in LAST)
    return [Bench(path, way) for path in found for way in WAYS.get(path.stem, ("",))]


def _is_bench(path: Path) -> bool:
    tree = ast.parse(path.read_text("utf-8"))
    has_main = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
    ends = (ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))
    return has_main and "measure.finish" in ends


def settle(most: float, seconds: float) -> None:
    """Wait until the load of the last minute is at most this, or so long."""
    until = time.monotonic() + seconds
    while os.getloadavg()[0] > most and time.monotonic() < until:
        time.sleep(1)


def run(bench: Bench, *, quick: bool) -> Record:
    """Run it in a process of its own; what it prints is shown, what it says at its end is kept."""
    began, load = time.monotonic(), os.getloadavg()[0]
    result, failed = _said(bench, quick=quick)
    arguments = " ".join(bench.command(quick=quick)[1:])
    return Record(
        bench=bench.name,
        command=f"make bench-{bench.path.stem}" + (f' ARGS="{arguments}"' if arguments else ""),
        date=datetime.now(UTC).date().isoformat(),
        seconds=round(time.monotonic() - began, 1),
        load=round(load, 1),
        machine=machine(),
        versions=versions(),
        result=result,
        failed=failed,
        commit=commit(),
    )


def _said(bench: Bench, *, quick: bool) -> tuple[dict[str, Any], str | None]:
    try:
        done = subprocess.run(
            [sys.executable, *bench.command(quick=quick)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS[quick],
        )
    except subprocess.TimeoutExpired:
        return {}, f"it did not end in {PATIENCE_SECONDS[quick]:g} s"
    print(done.stdout, end="", flush=True)
    lines = done.stdout.strip().splitlines() or ["it said nothing"]
    result = _json_object(lines[-1])
    failed = result is None or done.returncode != 0
    return result or {}, f"exit code {done.returncode}: {lines[-1][:200]}" if failed else None


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def commit() -> str:
    """The commit that lies here, with a plus where the program or its benchmarks differ from it."""
    found = _git("rev-parse", "--short=8", "HEAD")
    differs = _git("diff", "--quiet", "HEAD", "--", "../src", ".", ":(exclude)results").returncode
    return found.stdout.strip() + ("+" if found.stdout and differs else "")


def is_of_this_code(record: Record) -> bool:
    """Whether the last commit has the program as it was when this was measured."""
    if not record.commit or record.commit.endswith("+"):
        return False
    return _git("diff", "--quiet", record.commit, "HEAD", "--", "../src").returncode == 0


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments],  # noqa: S607 - the one of this machine
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )


def machine() -> str:
    """The machine in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "a processor")


def versions() -> dict[str, str]:
    """Python's, ours and the peers'; what is not installed is not there."""
    found = {"python": platform.python_version()}
    for name in VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def save(record: Record, folder: Path) -> None:
    """Keep it in place of the benchmark's last one of the same form: a short run replaces no whole one."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(record), ensure_ascii=False, indent=1)
    name = f"{record.bench.replace(' ', '')}{'--quick' if record.quick else ''}"
    (folder / f"{name}.json").write_text(text + "\n", "utf-8")


def load_shown(folder: Path) -> list[Record]:
    """One kept run of each benchmark, by name: the whole one, where there is one."""
    kept = {one.bench: one for quick in (True, False) for one in load_all(folder) if one.quick is quick}
    return [kept[name] for name in sorted(kept)]


def load_all(folder: Path) -> list[Record]:
    """All kept ones, by name."""
    texts = (path.read_text("utf-8") for path in folder.glob("*.json"))
    return sorted((Record(**json.loads(text)) for text in texts), key=lambda one: one.bench)
