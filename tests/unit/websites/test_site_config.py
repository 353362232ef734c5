import shutil
from pathlib import Path

import pytest

from sale_sofia.crawl.frontier.planning import JobPlan, check_plans
from sale_sofia.websites.engine import TableSite
from sale_sofia.websites.registry import page_limits
from sale_sofia.websites.site_file import (
    CONFIG_FOLDER,
    SiteConfigError,
    available_sites,
    enabled_sites,
    load_site_config,
    load_start_urls,
    load_yaml,
    merge,
    own_sites_folder,
    sources,
    start_urls_of,
)

INSTALLED = (
    "alo.bg", "bazar.bg", "homes.bg", "imot.bg", "imoti.com", "imoti.net", "luximmo.bg", "olx.bg",
    "suprimmo.bg",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the site files that a test may spoil."""
    copy = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return copy


def spoil(folder: Path, site: str, old: str, new: str) -> Path:
    path = folder / "sites" / f"{site}.yaml"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    return path


def test_the_portals_with_a_file_are_available() -> None:
    assert available_sites() == INSTALLED


def test_a_site_file_lies_over_the_defaults() -> None:
    politeness = load_site_config("imot.bg").politeness
    assert (politeness.delay_seconds, politeness.concurrency) == (3.0, 2)
    assert (politeness.connect_timeout_seconds, politeness.read_timeout_seconds) == (10.0, 30.0)
    assert politeness.retries is None


def test_start_urls_are_real_searches_of_their_portals() -> None:
    start_urls = load_start_urls()
    assert set(start_urls) == set(INSTALLED)
    assert start_urls["imot.bg"] == (
        "https://www.imot.bg/obiavi/prodazhbi/grad-sofiya/ednostaen?type_home=2~3~4~5~6~",
    )
    assert start_urls["bazar.bg"] == ("https://bazar.bg/obiavi/prodazhba-apartamenti/sofia",)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "delay_seconds: 3.0",
            "delay_seconds: -1",
            "politeness.delay_seconds: must be at least 0.05",
        ),
        (
            "delay_seconds: 3.0",
            "delai: 3.0",
            "politeness: unknown key delai; allowed: concurrency, connect_timeout_seconds, ",
        ),
        ("{row: Площ}", "{row: Площ, css: div}", "a link has exactly one of css, row, jsonld, json, page"),
        (r"'^/obiavi/'", "'^/obiavi/('", "urls.search: not a regular expression: missing )"),
        ("parse: vat", "parse: 7", "listing.fields.vat.parse"),
        ("hosts: [www.imot.bg, imot.bg, m.imot.bg]", "", "hosts: Field required"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(folder: Path, old: str, new: str, sentence: str) -> None:
    path = spoil(folder, "imot.bg", old, new)
    with pytest.raises(SiteConfigError) as raised:
        load_site_config("imot.bg", folder)
    assert f"{path}: " in str(raised.value)
    assert sentence in str(raised.value)


def test_broken_yaml_is_named_with_its_line(folder: Path) -> None:
    path = spoil(folder, "imot.bg", "site: imot.bg", "site: [imot.bg")
    with pytest.raises(SiteConfigError, match=r"line \d+: not valid YAML") as raised:
        load_site_config("imot.bg", folder)
    assert str(path) in str(raised.value)


def test_a_missing_file_and_a_file_that_is_no_mapping(folder: Path) -> None:
    with pytest.raises(SiteConfigError, match="cannot be read: No such file"):
        load_site_config("nowhere.bg", folder)
    (folder / "sites" / "imot.bg.yaml").write_text("- a\n- b\n", "utf-8")
    with pytest.raises(SiteConfigError, match="must hold a mapping"):
        load_site_config("imot.bg", folder)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nowhere.bg: []", "nowhere.bg: no such site; allowed: alo.bg, bazar.bg, homes.bg, imot.bg, "),
        ("imot.bg: [ftp://x]", "imot.bg: must be a list of https:// addresses"),
        ("imot.bg: https://x", "imot.bg: must be a list of https:// addresses"),
    ],
)
def test_wrong_start_urls(folder: Path, text: str, sentence: str) -> None:
    (folder / "start_urls.yaml").write_text(text, "utf-8")
    with pytest.raises(SiteConfigError, match=sentence):
        load_start_urls(folder)


def test_merging_goes_section_by_section() -> None:
    assert merge({"a": {"b": 1, "c": [1]}, "d": 2}, {"a": {"c": [3]}, "e": 4}) == {
        "a": {"b": 1, "c": [3]},
        "d": 2,
        "e": 4,
    }


def own_site(folder: Path, name: str, more: str = "") -> None:
    text = (CONFIG_FOLDER / "sites" / "bazar.bg.yaml").read_text("utf-8")
    (folder / f"{name}.yaml").write_text(text.replace("site: bazar.bg", f"site: {name}") + more, "utf-8")


def test_a_site_file_of_ones_own_is_a_portal_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_site(tmp_path, "flats.test", "start_urls: ['http://127.0.0.1:1/obiavi']\n")
    own_site(tmp_path, "silent.test")
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    available_sites.cache_clear()
    try:
        assert available_sites() == tuple(sorted((*INSTALLED, "flats.test", "silent.test")))
    finally:
        available_sites.cache_clear()
    assert start_urls_of("flats.test") == ("http://127.0.0.1:1/obiavi",)
    assert start_urls_of("bazar.bg") == load_start_urls()["bazar.bg"]
    with pytest.raises(SiteConfigError, match=r"silent\.test: its file names no start_urls"):
        start_urls_of("silent.test")


def test_a_file_without_its_site_is_laid_over_the_installed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = load_site_config("imot.bg")
    mine = tmp_path / "imot.bg.yaml"
    mine.write_text("politeness: {delay_seconds: 9}\nhosts: [www.imot.bg]\n", "utf-8")
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    politeness = installed.politeness.model_copy(update={"delay_seconds": 9.0})
    expected = installed.model_copy(update={"politeness": politeness, "hosts": ("www.imot.bg",)})
    assert load_site_config("imot.bg") == expected
    found = sources("imot.bg")
    assert found["politeness.delay_seconds"] == (9, mine)
    assert found["hosts"] == (["www.imot.bg"], mine)
    assert found["politeness.concurrency"] == (2, CONFIG_FOLDER / "sites" / "imot.bg.yaml")
    assert found["history.most_hours"][1] == CONFIG_FOLDER / "defaults.yaml"
    mine.write_text("politness: {delay_seconds: 9}\n", "utf-8")
    with pytest.raises(
        SiteConfigError, match=rf"{mine}: the file: unknown key politness; allowed: address, "
    ):
        load_site_config("imot.bg")
    mine.write_text("site: imot.bg\npoliteness: {delay_seconds: 9, concurrency: 1}\n", "utf-8")
    with pytest.raises(SiteConfigError, match=r"imot\.bg\.yaml: hosts: Field required"):
        load_site_config("imot.bg")


def test_a_file_is_called_like_its_portal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = tmp_path / "imot.rents.yaml"
    copied.write_text((CONFIG_FOLDER / "sites" / "imot.bg.yaml").read_text("utf-8"), "utf-8")
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    wrong = rf"^{copied}: site: must be imot\.rents, as the file is called, not imot\.bg$"
    with pytest.raises(SiteConfigError, match=wrong):
        load_site_config("imot.rents")


def test_what_is_shown_of_a_file_laid_over_another_is_what_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "imot.bg.yaml"
    mine.write_text("politeness: {}\nlisting: {fields: {floor: {parse: {floor: {bare: floor}}}}}\n", "utf-8")
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    found = sources("imot.bg")
    floor = {key: entry for key, entry in found.items() if key.startswith("listing.fields.floor.parse")}
    assert floor == {"listing.fields.floor.parse.floor.bare": ("floor", mine)}
    assert found["politeness.delay_seconds"] == (3.0, CONFIG_FOLDER / "sites" / "imot.bg.yaml")
    assert "politeness" not in found


def test_a_portal_that_is_off_is_not_among_all_and_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "olx.bg.yaml").write_text("enabled: false\n", "utf-8")
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    assert enabled_sites() == tuple(site for site in INSTALLED if site != "olx.bg")
    off = TableSite(load_site_config("olx.bg"), page_limits())
    plan = JobPlan(off, start_urls_of("olx.bg"), limit=None, fresh=False)
    with pytest.raises(
        SiteConfigError, match=r"^olx\.bg is switched off \(enabled: false in its site file\)$"
    ):
        check_plans([plan])
    for site in INSTALLED:
        (tmp_path / f"{site}.yaml").write_text("enabled: false\n", "utf-8")
    with pytest.raises(SiteConfigError, match="every portal is switched off"):
        enabled_sites()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"title: \xff\xfe", "is no text"),
        (b"title: \x07", "not valid YAML: unacceptable character #x0007: control characters are not allowed"),
        (b"since: 2026-13-45", "not valid YAML: a value cannot be read: month must be in 1..12"),
        (b"on: !!bool perhaps", "not valid YAML: a value cannot be read: 'perhaps'"),
    ],
)
def test_bytes_and_values_that_cannot_be_read_are_one_sentence(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(content)
    with pytest.raises(SiteConfigError) as error:
        load_yaml(path)
    assert str(error.value) == f"{path}: {sentence}"


@pytest.mark.parametrize(
    ("named", "meant"), [("~/mine", "{home}/mine"), ("~nobody-here/x", "~nobody-here/x")]
)
def test_the_home_in_the_name_of_the_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, meant: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SITES_DIR", named)
    assert own_sites_folder() == Path(meant.format(home=tmp_path))
