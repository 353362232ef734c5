"""`bench/all.py` on benchmarks made up here: what each says stands in the page as a ratio to its peer."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from collecting import Record
from guard import found_worse, worse

NO_FILES = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""What Git calls a tree without files."""
BENCH = Path(__file__).parents[2] / "bench"
PAGE = """# Measurements

<!-- results: summary -->
<!-- end of results: summary -->

## Parsing

Prose that stays.

<!-- results: parse -->
an old table
<!-- end of results: parse -->

The end.
"""
PARSE = """
import measure


def main() -> None:
    options = measure.options("how fast")
    cpu = {"sale-sofia": 3.0 if options.quick else 2.0, "lxml": 6.0, "parsel": 12.0}
    print("a table")
    measure.finish({"bench": "parse", "cpu_ms_per_page": cpu}, met=options.quick, check=options.check)


main()
"""
TINY = '''"""How many there are.

More words.
"""
import measure


def main() -> None:
    options = measure.options(__doc__)
    measure.finish({"bench": "tiny", "adverts": 12, "share": 0.25, "seed": 5}, met=False, check=options.check)


main()
'''
BROKEN = """
import measure


def main() -> None:
    measure.options("broken")
    raise SystemExit("no server here")
    measure.finish({}, met=True, check=False)


main()
"""


class Lab:
    """A folder of benchmarks, their results and a page."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.page, self.results = folder, folder / "benchmarks.md", folder / "results"
        self.page.write_text(PAGE, "utf-8")
        for name, text in (("parse", PARSE), ("tiny", TINY), ("helper", "def main() -> None: ...")):
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text, "utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        places = ("--folder", self.folder, "--results", self.results, "--page", self.page)
        return subprocess.run(
            [sys.executable, BENCH / "all.py", "--most-load", "1e9", *places, *arguments],
            env={**os.environ, "PYTHONPATH": str(BENCH)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def told(self) -> str:
        return self.page.read_text("utf-8")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page after a run of all, and a second writing of it."""
    lab = Lab(tmp_path_factory.mktemp("lab"))
    done = lab.run()
    assert done.returncode == 0, done.stderr
    assert lab.run("--page-only").returncode == 0
    return lab.told()


def test_all_are_run_and_told_as_ratios(told: str) -> None:
    assert "| CPU of a listing | lxml | 3 | 6 | 0.50× | less |" in told
    assert "| CPU of a listing | parsel | 3 | 12 | 0.25× | less |" in told
    assert 'make bench-parse ARGS="--quick"' in told
    assert "goal of short runs met" in told
    assert "Without a peer: adverts 12, share 0.25." in told
    assert "an old table" not in told
    assert "Prose that stays." in told
    assert "The end." in told


def test_a_benchmark_without_marks_gets_one_section_in_its_own_words(told: str) -> None:
    assert told.endswith("<!-- end of results: tiny -->\n")
    assert "## `bench/tiny.py`\n\nHow many there are.\n" in told
    assert told.count("## `bench/tiny.py`") == 1


def test_a_benchmark_without_marks_is_told_in_the_section_that_names_it(lab: Lab) -> None:
    lab.page.write_text(
        PAGE.replace("## Parsing", "## Few: `bench/tiny.py`\n\nIts prose.\n\n## Parsing"), "utf-8"
    )
    lab.run("--only", "tiny")
    told = lab.told()
    assert told.count("`bench/tiny.py`") == 1
    places = [told.index(piece) for piece in ("Its prose.", "adverts 12", "## Parsing")]
    assert places == sorted(places)


def test_the_summary_has_a_row_for_each_with_machine_and_versions(told: str) -> None:
    assert f"python {sys.version.split()[0]}" in told
    assert f"{os.cpu_count()} cores" in told
    rows = [line.split(" | ") for line in told.splitlines() if line.startswith("| `")]
    assert [(row[0], row[1], row[5], row[6]) for row in rows] == [
        ("| `parse`", "quick", "met", "CPU of a listing: 0.50× of lxml |"),
        ("| `tiny`", "quick", "missed", "– |"),
    ]


def test_one_alone_leaves_the_others_as_they_were(lab: Lab) -> None:
    lab.run()
    before = json.loads((lab.results / "tiny--quick.json").read_text("utf-8"))
    lab.add("tiny", TINY.replace("12", "13"))
    assert lab.run("--only", "parse", "--full").returncode == 0
    told = lab.told()
    assert "| CPU of a listing | lxml | 2 | 6 | 0.33× | less |" in told
    assert "`make bench-parse`," in told
    assert "adverts 12" in told
    assert json.loads((lab.results / "tiny--quick.json").read_text("utf-8")) == before
    assert before["result"] == {"bench": "tiny", "adverts": 12, "share": 0.25, "seed": 5, "met": False}


def test_one_that_fails_is_told_and_the_others_go_on(lab: Lab) -> None:
    lab.add("broken", BROKEN)
    done = lab.run()
    assert done.returncode == 1
    assert "failed, exit code 1: no server here" in lab.told()
    assert "| CPU of a listing | lxml | 3 | 6 | 0.50× | less |" in lab.told()
    verdicts = [line.split()[:2] for line in done.stdout.splitlines()[-3:]]
    assert verdicts == [["broken", "failed"], ["parse", "met"], ["tiny", "missed"]]


@pytest.mark.parametrize("commit", ["HEAD+", NO_FILES])
def test_those_measured_with_the_code_as_it_is_need_not_be_run_again(lab: Lab, commit: str) -> None:
    lab.run()
    for name, of in (("parse", "HEAD"), ("tiny", commit)):
        kept = lab.results / f"{name}--quick.json"
        kept.write_text(json.dumps(json.loads(kept.read_text("utf-8")) | {"commit": of}), "utf-8")
    done = lab.run("--go-on")
    assert [line.split()[0] for line in done.stdout.splitlines() if " s " in line] == ["tiny"]
    assert "== parse" in lab.run("--go-on", "--full").stdout


def test_a_missed_goal_fails_only_a_check(lab: Lab) -> None:
    assert lab.run("--only", "tiny", "--check").returncode == 1
    assert lab.run("--only", "parse", "--check").returncode == 0


def test_a_run_begun_on_a_busy_machine_is_told_and_not_kept(lab: Lab) -> None:
    done = lab.run("--only", "tiny", "--most-load", "-1", "--settle", "0")
    assert "not kept, the last record stays" in done.stdout
    assert not lab.results.exists()


def record(cpu: float, lost: int, *, met: bool = True, failed: str | None = None) -> Record:
    ours, peer = {"lost": [lost], "repeated": [cpu]}, {"lost": [9], "repeated": [1]}
    systems = {"sale-sofia": ours, "Scrapy JOBDIR": peer}
    best = {"sale-sofia": {"cpu_ms_per_page": cpu}, "Scrapy": {"cpu_ms_per_page": 10.0}}
    result = {"best": best, "systems": systems, "met": met}
    return Record("engine", "", "2026-01-02", 1.0, 0.1, "", {}, result, failed)


def test_the_guard_tells_what_is_worse_than_kept_by_more_than_chance() -> None:
    kept = record(cpu=3.0, lost=0)
    assert list(worse(kept, record(cpu=3.4, lost=0))) == []
    assert list(worse(kept, record(cpu=1.0, lost=0))) == []
    assert list(worse(kept, record(cpu=3.6, lost=0, met=False))) == [
        "engine: the goal was met on 2026-01-02, and is missed",
        "engine: CPU of a page 0.36 of Scrapy, 0.30 on 2026-01-02; less is better",
    ]
    assert list(worse(kept, record(cpu=1.0, lost=0, failed="exit code 1"))) == ["engine: exit code 1"]
    killed = replace(kept, bench="kill9")
    assert list(worse(killed, replace(record(cpu=99.0, lost=1), bench="kill9"))) == [
        "kill9: adverts lost 0.11 of Scrapy JOBDIR, 0.00 on 2026-01-02; less is better"
    ]


def test_the_guard_compares_runs_of_the_same_form() -> None:
    whole = replace(record(cpu=1.0, lost=0), command="make bench-engine")
    quick = replace(record(cpu=3.0, lost=0), command='make bench-engine ARGS="--quick"')
    for kept in ([whole, quick], [quick, whole]):
        assert list(found_worse(kept, [quick])) == []
    assert list(found_worse([whole], [quick])) == [
        "engine: no run of this form is kept; `make bench ONLY=engine` keeps one"
    ]


def test_a_short_run_takes_the_place_of_no_whole_one(lab: Lab) -> None:
    lab.run("--only", "parse", "--full")
    lab.run("--only", "parse")
    assert sorted(path.name for path in lab.results.iterdir()) == ["parse--quick.json", "parse.json"]
    assert "| CPU of a listing | lxml | 2 | 6 | 0.33× | less |" in lab.told()


def test_an_unknown_name_is_one_sentence(lab: Lab) -> None:
    done = lab.run("--only", "pars")
    assert done.returncode == 1
    assert done.stderr == "no benchmark pars; there are parse, tiny\n"
    assert not lab.results.exists()


def test_the_benchmarks_of_the_project_are_all_found() -> None:
    done = subprocess.run(
        [sys.executable, BENCH / "all.py", "--list"], capture_output=True, text=True, check=True
    )
    named = done.stdout.splitlines()
    main_ones = {
        "parse",
        "engine",
        "kill9",
        "limiter",
        "breaker",
        "chaos",
        "parallel",
        "store",
        "three_hosts",
    }
    later_ones = {
        "history",
        "matching",
        "descriptions",
        "searching",
        "scoring",
        "valuation",
        "alerts",
        "drift",
    }
    assert main_ones | later_ones | {"proxies", "dashboard", "fuzz", "history --crawls"} <= set(named)
    assert not {"measure", "all", "screenshots", "limiter_team"} & set(named)
