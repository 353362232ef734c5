"""Site files that lead every command to simulated portals, and touch nobody's own."""

from pathlib import Path

import pytest
import typer

from sale_sofia.cli.simulate import check_folder, write_simulated_sites
from sale_sofia.websites.site_file import CONFIG_FOLDER, load_yaml

HERE = "http://127.0.0.1:8701/obiavi/prodazhbi/grad-sofiya"


def test_a_file_is_the_installed_one_but_for_where_it_begins(tmp_path: Path) -> None:
    folder = tmp_path / "portals"
    write_simulated_sites(folder, {"imot.bg": [HERE]})
    installed = load_yaml(CONFIG_FOLDER / "sites" / "imot.bg.yaml")
    assert load_yaml(folder / "imot.bg.yaml") == {**installed, "start_urls": [HERE]}


def test_files_of_an_earlier_simulation_are_replaced(tmp_path: Path) -> None:
    write_simulated_sites(tmp_path, {"imot.bg": ["http://127.0.0.1:1/obiavi/"]})
    check_folder(tmp_path, ["imot.bg", "bazar.bg"])
    write_simulated_sites(tmp_path, {"imot.bg": [HERE]})
    assert load_yaml(tmp_path / "imot.bg.yaml")["start_urls"] == [HERE]


def test_a_site_file_of_somebodys_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bazar.bg.yaml").write_text("site: bazar.bg\n", "utf-8")
    with pytest.raises(typer.BadParameter, match=r"bazar\.bg\.yaml is a site file of your own; name another"):
        check_folder(tmp_path, ["imot.bg", "bazar.bg"])
