import hashlib
import json
import sys
from pathlib import Path

import pytest

from sale_sofia_simulator.render import MARKER, render_world, write_world
from sale_sofia_simulator.world import make_world


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            digest.update(str(file.relative_to(folder)).encode() + file.read_bytes())
    return digest.hexdigest()


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    write_world(tmp_path / "one", 12, seed=5)
    write_world(tmp_path / "two", 12, seed=5)
    write_world(tmp_path / "three", 12, seed=6)
    assert _fingerprint(tmp_path / "one") == _fingerprint(tmp_path / "two")
    assert _fingerprint(tmp_path / "one") != _fingerprint(tmp_path / "three")


def test_the_manifest_and_the_truth_name_every_page(tmp_path: Path) -> None:
    count = write_world(tmp_path, 12, seed=5)
    lines = [
        json.loads(line) for line in (tmp_path / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    truth = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    files = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.html")}
    assert count == len(lines) == len(files)
    assert {line["file"] for line in lines} == files == set(truth)
    assert all(set(line) == {"site", "file", "url"} for line in lines)
    assert all(truth[line["file"]]["url"] == line["url"] for line in lines)


def test_what_is_written_is_what_is_rendered(tmp_path: Path) -> None:
    write_world(tmp_path, 4, seed=5)
    for page in render_world(make_world(4, 5)):
        assert (tmp_path / page.path).read_bytes() == page.body


def test_the_kinds_of_pages_of_a_world() -> None:
    pages = list(render_world(make_world(4, 5)))
    assert len({page.path for page in pages}) == len(pages)
    assert [page.site for page in pages if page.truth["kind"] == "listing"] == ["imot.bg"] * 4 + [
        "bazar.bg"
    ] * 4
    assert {page.truth["kind"] for page in pages} == {"listing", "search", "project", "removed"}


def test_an_empty_world_still_has_its_other_pages(tmp_path: Path) -> None:
    assert write_world(tmp_path, 0, seed=1) > 0


def test_a_second_run_replaces_the_pages_of_the_first(tmp_path: Path) -> None:
    write_world(tmp_path, 9, seed=1)
    write_world(tmp_path, 2, seed=2)
    assert len(list((tmp_path / "imot.bg").glob("detail__*"))) == 2


def test_a_folder_of_somebody_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="was not made by the simulator"):
        write_world(tmp_path, 2, seed=1)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="is a file"):
        write_world(tmp_path / "file", 2, seed=1)


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    write_world(tmp_path / "new", 1, seed=1)
    assert (tmp_path / "new" / MARKER).is_file()


def test_progress_counts_listings_up_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_world(tmp_path, 3, seed=1, progress=lambda done, total: seen.append((done, total)))
    assert seen[:6] == [(n, 6) for n in range(1, 7)]
    assert seen[-1] == (6, 6)


def test_the_simulator_does_not_know_the_adapters() -> None:
    folder = Path(sys.modules[write_world.__module__].__file__ or "").parent
    assert not [file.name for file in folder.glob("*.py") if "websites" in file.read_text(encoding="utf-8")]
