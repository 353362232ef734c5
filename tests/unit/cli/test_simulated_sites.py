"""Site files that lead every command to simulated portals, and touch nobody's own."""

from pathlib import Path

import pytest
import typer

from sale_sofia.cli.start import check_folder, write_simulated_sites
from sale_sofia.websites.site_file import enabled_sites, load_site_config, load_yaml

HERE = "http://127.0.0.1:8701/obiavi/prodazhbi/grad-sofiya"


def test_a_portal_begins_at_its_twin_and_every_other_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = load_site_config("imot.bg")
    write_simulated_sites(tmp_path, {"imot.bg": [HERE]})
    monkeypatch.setenv("SITES_DIR", str(tmp_path))
    assert load_site_config("imot.bg") == installed.model_copy(update={"start_urls": (HERE,)})
    assert enabled_sites() == ("imot.bg",)


def test_files_of_an_earlier_simulation_are_replaced(tmp_path: Path) -> None:
    write_simulated_sites(tmp_path, {"imot.bg": ["http://127.0.0.1:1/obiavi/"]})
    check_folder(tmp_path)
    write_simulated_sites(tmp_path, {"imot.bg": [HERE]})
    assert load_yaml(tmp_path / "imot.bg.yaml")["start_urls"] == [HERE]


def test_a_site_file_of_somebodys_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bazar.bg.yaml").write_text("site: bazar.bg\n", "utf-8")
    with pytest.raises(typer.BadParameter, match=r"bazar\.bg\.yaml is a site file of your own; name another"):
        check_folder(tmp_path)
