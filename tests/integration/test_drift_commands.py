"""`sites drift` and `sites repair`, from the command line: from the alarm to a repaired site file."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from crawls import run
from drift_days import DriftDays, drift_days
from sale_sofia.settings.model import get_settings
from sale_sofia.websites.site_file import CONFIG_FOLDER

SITE = "imoti.net"


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriftDays]:
    """A portal whose price stands elsewhere since its last run; one run is enough to say what is usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRIFT_LEAST_RUNS", "1")
        get_settings.cache_clear()
        with drift_days(tmp_path_factory.mktemp("drift"), SITE, sound_runs=1) as days:
            days.crawl("moved-block")
        yield days
    get_settings.cache_clear()


def command(portal: DriftDays, *arguments: str, **more: str) -> tuple[int, str, str]:
    url = portal.days.database.url.render_as_string(hide_password=False)
    done = run(portal.days.settings.data_dir, "sites", *arguments, DATABASE_URL=url, **more)
    return done.returncode, done.stdout, done.stderr


def test_drift_shows_the_field_and_ends_with_one(portal: DriftDays) -> None:
    code, out, _ = command(portal, "drift", SITE, "--json")
    answer = json.loads(out)
    found, floor = answer["open"]
    assert (floor["kind"], floor["findings"][0]["field"]) == ("drift_floor", "listing.price")
    assert (code, found["kind"], found["findings"][0]["field"]) == (1, "drift_fill", "listing.price")
    verdicts = {(one["kind"], one["field"]): one["verdict"] for one in answer["checks"]}
    assert verdicts["drift_fill", "listing.price"] == "drifted"
    assert verdicts["drift_fill", "search.price"] == "usual"
    code, out, _ = command(portal, "drift", SITE)
    assert code == 1
    assert "listing.price" in out


def test_a_portal_that_was_never_crawled_has_no_drift(portal: DriftDays) -> None:
    code, _, err = command(portal, "drift", "bazar.bg")
    assert (code, "no run yet" in err) == (0, True)


def test_repair_prints_a_snippet_that_repairs(portal: DriftDays, tmp_path: Path) -> None:
    code, out, _ = command(portal, "repair", SITE)
    assert code == 0
    assert "# listing.fields.price: right on " in out
    code, out, _ = command(portal, "repair", SITE, "--json")
    best = json.loads(out)["fields"]["price"][0]
    assert best["right"] == best["pages"] > 20
    link = best["listing"]["fields"]["price"]["from"][0]
    assert link["css"] == "div.big-price"
    (tmp_path / f"{SITE}.yaml").write_text(repaired(link), encoding="utf-8")
    code, out, _ = command(portal, "check", SITE, SITES_DIR=str(tmp_path))
    assert code == 0
    assert "strong.price" in out


def repaired(link: dict[str, object]) -> str:
    config = yaml.safe_load((CONFIG_FOLDER / "sites" / f"{SITE}.yaml").read_text("utf-8"))
    config["listing"]["fields"]["price"]["from"].insert(0, link)
    return yaml.safe_dump(config, allow_unicode=True)


def test_repair_says_in_one_sentence_why_there_is_nothing(portal: DriftDays, tmp_path: Path) -> None:
    code, out, err = command(portal, "repair", "bazar.bg")
    assert (code, out) == (2, "")
    assert "bazar.bg: nothing has drifted" in err
    code, _, err = command(portal, "repair", "nowhere.bg")
    assert (code, "no site 'nowhere.bg'" in err) == (2, True)
    code, _, err = command(portal, "repair", SITE, DATA_DIR=str(tmp_path / "empty"))
    assert code == 2
    assert "no advert has an archived page" in " ".join(err.split())


def test_what_a_person_accepts_is_over(portal: DriftDays) -> None:
    code, _, err = command(portal, "drift", "--accept")
    assert (code, "--accept needs a portal" in " ".join(err.split())) == (2, True)
    portal.keep()
    code, out, _ = command(portal, "drift", SITE, "--accept")
    assert (code, "says from now on what is usual" in " ".join(out.split())) == (0, True)
    assert portal.drift() == []
    assert command(portal, "drift", SITE)[0] == 0
    portal.restore()
