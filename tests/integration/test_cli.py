"""The command as a person runs it: what it prints, where, and its exit code."""

import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app_runs import put_adverts
from command_server import PATIENCE_SECONDS, shared_commands


def run(
    *arguments: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "COLUMNS": "120", **environment}
    words = [str(one) for one in arguments]
    return shared_commands().run(words, surroundings, cwd or Path.cwd(), PATIENCE_SECONDS)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "pages"
    rendered = run("simulate", "render", folder, "--properties", "5", "--seed", "3")
    assert rendered.returncode == 0, rendered.stderr
    return folder


def entries(world: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (world / "manifest.jsonl").read_text("utf-8").splitlines()]


def test_help_names_every_command() -> None:
    told = run("--help")
    assert told.returncode == 0
    for command in (
        "demo",
        "crawl",
        "resume",
        "jobs",
        "status",
        "report",
        "export",
        "parse",
        "sites",
        "db",
        "settings",
    ):
        assert f" {command} " in told.stdout
    assert "Exit codes: 0 done" in told.stdout


def test_no_command_is_help_and_wrong_input() -> None:
    assert run().returncode == 2


def test_version() -> None:
    told = run("--version")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert (told.returncode, told.stdout) == (0, f"sale-sofia {project['version']}\n")


def test_a_manifest_gives_one_answer_a_line_in_order(world: Path) -> None:
    told = run("parse", "--manifest", world / "manifest.jsonl")
    truth = json.loads((world / "truth.json").read_text("utf-8"))
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert told.returncode == 0
    assert [answer["url"] for answer in answers] == [entry["url"] for entry in entries(world)]
    by_url = {one["url"]: one for one in truth.values()}
    listings = [answer for answer in answers if answer["kind"] == "listing"]
    assert len(listings) == 10
    assert all(answer[key] == value for answer in listings for key, value in by_url[answer["url"]].items())


def test_one_page(world: Path) -> None:
    entry = next(entry for entry in entries(world) if "/obiava-" in entry["url"])
    told = run("parse", entry["site"], world / entry["file"], "--url", entry["url"])
    answer = json.loads(told.stdout)
    assert (told.returncode, answer["kind"], answer["url"]) == (0, "listing", entry["url"])


def test_a_page_that_is_an_error_exits_non_zero(tmp_path: Path) -> None:
    (tmp_path / "empty.html").write_bytes(b"")
    told = run(
        "parse", "imot.bg", tmp_path / "empty.html", "--url", "https://www.imot.bg/obiava-1b177634821891002"
    )
    assert told.returncode == 1
    assert json.loads(told.stdout)["error"] == {"type": "empty_page", "message": "the page is empty"}


def test_an_error_in_a_manifest_is_a_line_and_the_run_goes_on(world: Path, tmp_path: Path) -> None:
    good = {**entries(world)[0], "file": str(world / entries(world)[0]["file"])}
    (tmp_path / "empty.html").write_bytes(b"")
    bad = {**good, "file": str(tmp_path / "empty.html")}
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text(f"{json.dumps(bad)}\n\n{json.dumps(good)}\n", "utf-8")
    told = run("parse", "--manifest", manifest)
    first, second = (json.loads(line) for line in told.stdout.splitlines())
    assert told.returncode == 0
    assert first["error"] == {"type": "empty_page", "message": "the page is empty"}
    assert second["kind"] != "error"
    assert "1 page is an error" in told.stderr


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nonsense", "line 2: not JSON; a line is {'site': …, 'file': …, 'url': …}"),
        ("[" * 50_000, "line 2: not JSON; a line is {'site': …, 'file': …, 'url': …}"),
        ("null", "line 2: not JSON; a line is {'site': …, 'file': …, 'url': …}"),
        ("[1]", "line 2: must have the texts site, file, url"),
        ('{"site": "imot.bg", "file": "x"}', "line 2: must have the texts site, file, url"),
        ('{"site": "imot.bg", "file": 1, "url": "y"}', "line 2: must have the texts site, file, url"),
        ('{"site": "imot", "file": "x", "url": "y"}', "line 2: no site 'imot'; allowed: alo.bg, bazar.bg"),
        ('{"site": "imot.bg", "file": "no.html", "url": "y"}', "line 2: no.html: No such file or directory"),
    ],
)
def test_a_bad_line_of_a_manifest_is_one_error_with_its_number(
    world: Path, tmp_path: Path, line: str, sentence: str
) -> None:
    good = json.dumps({**entries(world)[0], "file": str(world / entries(world)[0]["file"])})
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text(f"{good}\n{line}\n{good}\n", "utf-8")
    told = run("parse", "--manifest", manifest)
    first, bad, last = (json.loads(answer) for answer in told.stdout.splitlines())
    assert told.returncode == 1
    assert first == last
    assert first["kind"] != "error"
    assert (bad["kind"], bad["error"]["type"]) == ("error", "bad_line")
    assert bad["error"]["message"].startswith(f"{manifest}, {sentence}")
    assert "1 page is an error" in told.stderr


def test_files_are_looked_up_from_here_or_else_beside_the_manifest(world: Path) -> None:
    elsewhere, here = (
        run("parse", "--manifest", world / "manifest.jsonl"),
        run("parse", "--manifest", "manifest.jsonl", cwd=world),
    )
    assert elsewhere.stdout == here.stdout
    assert elsewhere.stdout.count("\n") == len(entries(world))


def test_a_manifest_that_is_not_text(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_bytes(b"\xff\xfe")
    assert run("parse", "--manifest", manifest).stderr == f"sale-sofia: {manifest}: not UTF-8 text\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("parse", "imot.bg"), "give SITE, FILE and --url, or --manifest"),
        (("parse", "imot.bg", "/nowhere.html", "--url", "x"), "file '/nowhere.html' does not exist"),
        (
            ("parse", "imot", __file__, "--url", "x"),
            "sale-sofia: no site 'imot'; allowed: alo.bg, bazar.bg, homes.bg, imot.bg",
        ),
        (("parse", "imot.bg", "--manifest", __file__), "with --manifest give no SITE, FILE or --url"),
        (("simulate", "render", "new", "--properties", "0"), "Input should be greater than or equal to 1"),
        (("nonsense",), "No such command 'nonsense'"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    told = run(*arguments)
    assert (told.returncode, told.stdout) == (2, "")
    assert sentence in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("arguments", [("circuits",), ("rate", "imot.bg", "5"), ("proxies", "list")])
def test_a_redis_that_does_not_answer_is_one_sentence(arguments: tuple[str, ...], tmp_path: Path) -> None:
    told = run(*arguments, DATA_DIR=str(tmp_path), REDIS_URL="redis://127.0.0.1:1/0")
    sentence = "sale-sofia: REDIS_URL: 127.0.0.1:1 cannot be reached (Connection refused).\n"
    assert (told.returncode, told.stdout, told.stderr) == (2, "", sentence)


def test_sites_list() -> None:
    told = run("sites", "list", "--json")
    sites = {row["site"]: row for row in json.loads(told.stdout)["sites"]}
    assert set(sites) == {
        "alo.bg", "bazar.bg", "homes.bg", "imot.bg", "imoti.com", "imoti.net", "luximmo.bg", "olx.bg",
    "suprimmo.bg",
    }  # fmt: skip
    assert (sites["imot.bg"]["delay_seconds"], sites["imot.bg"]["concurrency"]) == (3.0, 2)
    assert sites["bazar.bg"]["start_urls"] == ["https://bazar.bg/obiavi/prodazhba-apartamenti/sofia"]
    assert "www.imot.bg, imot.bg" in run("sites", "list").stdout


def test_settings_with_their_sources_and_without_secrets() -> None:
    url = "postgresql://anna:s3cret@db.example/flats"
    told = run("settings", "--json", SCRAPING_CHUNK_SIZE="7", DATABASE_URL=url)
    rows = {row["name"]: row for row in json.loads(told.stdout)}
    assert (rows["SCRAPING_CHUNK_SIZE"]["value"], rows["SCRAPING_CHUNK_SIZE"]["source"]) == (
        "7",
        "environment",
    )
    assert rows["CHECKPOINT_BATCH_SIZE"]["source"] == "default"
    assert "s3cret" not in told.stdout + run("settings", DATABASE_URL=url).stdout
    assert "SCRAPING_CHUNK_SIZE" in run("settings").stdout


def test_a_wrong_setting_is_one_sentence() -> None:
    told = run("settings", SCRAPING_CHUNK_SIZE="0")
    sentence = "SCRAPING_CHUNK_SIZE: '0' is not allowed; a whole number from 1 to 1000 (adverts)."
    assert (told.returncode, told.stderr) == (2, f"sale-sofia: {sentence}\n")


def test_doctor(tmp_path: Path) -> None:
    told = run("doctor", "--json", cwd=tmp_path)
    checks = {check["name"]: check for check in json.loads(told.stdout)["checks"]}
    assert told.returncode == 0
    assert checks["time zone"] == {"name": "time zone", "ok": True, "detail": "Europe/Sofia", "advice": None}
    assert run("doctor", cwd=tmp_path).stderr == "before the first crawl: sale-sofia sites probe\n"
    put_adverts(tmp_path / "data", {"deal": "sale"})
    assert run("doctor", cwd=tmp_path).stderr == ""
    wrong = run("doctor", cwd=tmp_path, SCRAPING_CHUNK_SIZE="0")
    assert wrong.stderr == ""
    assert (wrong.returncode, "Europe/Sofia" in wrong.stdout) == (1, True)


def test_rendering_twice_gives_the_same_bytes(world: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert run("simulate", "render", again, "--properties", "5", "--seed", "3").returncode == 0
    assert run("simulate", "render", again, "--properties", "5", "--seed", "3").returncode == 0
    pages = sorted(path.relative_to(world) for path in world.rglob("*.html"))
    assert len(pages) > 10
    assert [(world / page).read_bytes() for page in pages] == [(again / page).read_bytes() for page in pages]


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", "utf-8")
    told = run("simulate", "render", tmp_path, "--properties", "1")
    assert (told.returncode, [path.name for path in tmp_path.iterdir()]) == (2, ["letter.txt"])
    assert str(tmp_path) in told.stderr
    assert "Traceback" not in told.stderr


def test_demo_crawls_two_portals_day_by_day_and_sums_up(tmp_path: Path) -> None:
    activated = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    told = run("demo", "--properties", "4", "--days", "2", DATA_DIR=str(tmp_path), PATH=activated)
    assert told.returncode == 0, told.stderr
    assert "day 0 of 2: imot.bg 4 new, 0 changed; bazar.bg 1 new, 0 changed" in told.stderr
    assert "day 1 of 2: " in told.stderr
    rows = [line.split() for line in told.stdout.splitlines() if "COMPLETE" in line]
    assert [(row[0], row[1]) for row in rows] == [("imot.bg", "COMPLETE"), ("bazar.bg", "COMPLETE")]
    assert f"database: {tmp_path}/demo/sale_sofia.db" in told.stdout
    # Nobody sits before it, so it names the dashboard and does not serve on.
    last = (
        f"dashboard: http://127.0.0.1:8501 once it is started: DATA_DIR={tmp_path}/demo sale-sofia dashboard"
    )
    assert told.stdout.splitlines()[-1] == last
    with sqlite3.connect(tmp_path / "demo" / "sale_sofia.db") as database:
        begun = [row[0] for row in database.execute("select created_at from jobs where site = 'imot.bg'")]
    database.close()
    assert [round((max(begun) - at) / 86_400) for at in sorted(begun)] == [2, 1, 0]
    again = run("demo", "--properties", "4", "--days", "2", DATA_DIR=str(tmp_path))
    assert "day " not in again.stderr
    assert [line.split()[3:5] for line in again.stdout.splitlines() if "COMPLETE" in line] == [["0", "0"]] * 2
