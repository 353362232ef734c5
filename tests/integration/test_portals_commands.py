"""`sites list`, `sites check` and `sites new` as a person uses them."""

import json
from pathlib import Path

import pytest

from crawls import run
from forked_simulators import start_forked
from sale_sofia.cli.sites import write_site
from sale_sofia.websites.site_file import load_site_config
from sale_sofia_simulator.simulation import SITES, SimulatorConfig


def test_every_portal_is_listed_with_its_pace_and_its_start(tmp_path: Path) -> None:
    told = json.loads(run(tmp_path, "sites", "list", "--json").stdout)["sites"]
    assert {row["site"] for row in told} == set(SITES)
    assert all(row["start_urls"] and row["delay_seconds"] >= 2 and row["concurrency"] <= 2 for row in told)


@pytest.mark.parametrize("site", ["imoti.com", "alo.bg"])
def test_without_a_page_the_simulated_portal_is_looked_at(tmp_path: Path, site: str) -> None:
    done = run(tmp_path, "sites", "check", site, "--json")
    assert done.returncode == 0, done.stderr
    listing, search = (json.loads(line) for line in done.stdout.splitlines())
    rows = {row["field"]: row for row in listing["fields"]}
    assert rows["price"]["link"] in range(1, rows["price"]["links"] + 1)
    assert rows["area_sqm"]["value"]["area_sqm"]
    assert search["cards"] == sum(search["fields"][0]["matched"].values())
    assert search["kind"] == "search"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    url = "https://www.imoti.net/bg/obiava/prodava/sofia/lozenec/dvustaen/6000001/"
    head, place = f'<link rel="canonical" href="{url}">', '<i class="location">навсякъде</i>'
    page.write_text(f'<html>{head}<p id="js-ad-container">{place}</html>', "utf-8")
    done = run(tmp_path, "sites", "check", "imoti.net", "--file", page, "--url", url)
    assert done.returncode == 0, done.stderr
    assert "none of 1" in done.stdout
    assert "found but not understood: place" in done.stdout.replace("\n", " ")
    assert "price, vat, area_sqm, floor" in done.stdout.replace("\n", " ")


def test_the_portal_itself_is_asked_only_when_its_address_is_given(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    config = SimulatorConfig(sites=("homes.bg",), properties=3, port=0, log=log)
    with start_forked(config) as simulator:
        url = simulator.start_urls("homes.bg")[0]
        done = run(tmp_path, "sites", "check", "homes.bg", "--url", url, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["cards"] > 0
        closed = run(
            tmp_path, "sites", "check", "homes.bg", "--url", f"{simulator.urls['homes.bg']}/notepad/as1000000"
        )
    assert closed.returncode == 2
    paths = [json.loads(line)["path"] for line in log.read_text("utf-8").splitlines()]
    assert [path.partition("?")[0] for path in paths] == ["/robots.txt", "/api/offers"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "nowhere.bg"), "no site 'nowhere.bg'; allowed: alo.bg, bazar.bg, homes.bg"),
        (("check", "imot.bg", "--file", "/dev/null/x"), "does not exist"),
        (
            ("check", "imot.bg", "--url", "https://bazar.bg/obiava-54108077"),
            "leads to no search and no advert of imot.bg",
        ),
        (("new", "Not A Domain"), "is no domain; write it like flats.example"),
        (("new", "imot.bg"), "there is a portal imot.bg already"),
    ],
)
def test_wrong_input_is_one_sentence(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = run(tmp_path, "sites", *arguments)
    assert done.returncode == 2, done.stdout
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_page_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>Здравейте</html>", "utf-8")
    done = run(
        tmp_path,
        "sites",
        "check",
        "alo.bg",
        "--file",
        page,
        "--url",
        "https://www.alo.bg/x-10000001",
        "--json",
    )
    assert (done.returncode, json.loads(done.stdout)["error"]["type"]) == (1, "layout_changed")


def test_a_new_portal_is_asked_by_no_crawl_until_it_is_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    path, _ = write_site("flats.example", tmp_path)
    text = path.read_text("utf-8")
    assert not load_site_config("flats.example").enabled
    path.write_text(text.replace("enabled: false\n", ""), "utf-8")
    assert load_site_config("flats.example").enabled


def test_a_new_portal_overwrites_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "sites"
    first = run(tmp_path, "sites", "new", "flats.example", "--folder", folder, "--json")
    assert json.loads(first.stdout)["written"] == [
        str(folder / "flats.example.yaml"),
        str(folder / "test_flats_example.py"),
    ]
    other = run(tmp_path, "sites", "new", "other.example", "--folder", folder)
    assert "remove `enabled: false` from other.example.yaml" in " ".join(other.stdout.split())
    (folder / "flats.example.yaml").write_text("mine", "utf-8")
    again = run(tmp_path, "sites", "new", "flats.example", "--folder", folder)
    assert again.returncode == 2
    assert (folder / "flats.example.yaml").read_text("utf-8") == "mine"
