"""What the documentation says of the project's own files, settings and version is so."""

import re
import tomllib
from pathlib import Path

import pytest

from sale_sofia.settings.model import Settings
from tables import each_row

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
SETTINGS = {name.upper() for name in Settings.model_fields}
OTHERS = {
    "TESTS_INSTALL_NOTHING",  # of the tests
    "MAIN_HOST", "PRIVATE_ADDRESS",  # of the Compose files
    "MAIL_USER", "MAIL_PASSWORD", "TELEGRAM_TOKEN", "TELEGRAM_CHAT", "ALERT_URL",  # the reader's own
    "NAME_FILE",
    "DOWNLOAD_DELAY",  # Scrapy's
}  # fmt: skip
"""Variables that are named and are no settings of the program."""
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@each_row("page", PAGES)
def test_every_link_leads_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text("utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.slow
@each_row("page", PAGES)
def test_every_setting_that_is_quoted_is_there(page: Path) -> None:
    quoted = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)[`=]", page.read_text("utf-8")))
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert {name for name in quoted - SETTINGS - OTHERS if name not in code} == set()


def test_the_index_has_every_page_and_every_decision() -> None:
    told = (DOCS / "README.md").read_text("utf-8")
    assert [page.name for page in DOCS.glob("*.md") if page.name not in {"README.md", *linked(told)}] == []
    decisions = (DOCS / "decisions" / "README.md").read_text("utf-8")
    assert [
        path.name for path in (DOCS / "decisions").glob("0*.md") if path.name not in linked(decisions)
    ] == []


def test_every_package_that_is_installed_has_its_licence_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["browser"], *extras["parquet"]]
    told = re.findall(r"^\| ([\w-]+) \| [^|]*\w", (DOCS / "licences.md").read_text("utf-8"), re.MULTILINE)
    assert told[0] == "package"
    assert told[1:] == sorted(re.split(r"[^\w-]", one)[0] for one in asked)


def linked(text: str) -> set[str]:
    return {path for path, _ in LINK.findall(text)}


def test_the_newest_release_of_the_changelog_is_the_version_and_dated() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    heads = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d", heads[1])


def test_the_first_screen_shows_what_it_is_with_pictures_and_two_commands() -> None:
    screen = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:25])
    assert len(re.findall(r"!\[\w[^\]]*\]\(docs/images/[\w-]+\.png\)", screen)) == 4
    assert re.findall(r"^make \w+", screen, re.MULTILINE) == ["make demo", "make test"]
    assert all(f"**{who}**" in screen for who in ("buyer", "operator", "analyst"))
