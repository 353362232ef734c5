from pathlib import Path

import pytest

from contract.storage.helpers import database
from sale_sofia.storage import sqlite
from sale_sofia.storage.errors import DatabaseUnsupported
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.storage.sqlite import network_share
from tables import each_row

MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /mnt/share rw shared:2 - nfs4 server:/export rw,vers=4.2
31 22 0:41 / /mnt/with\040space rw - cifs //server/x rw
32 30 8:2 / /mnt/share/disk rw - xfs /dev/sdb1 rw
33 22 0:44 / /mnt/hidden rw - nfs server:/y rw
34 33 8:3 / /mnt/hidden rw - ext4 /dev/sdc1 rw
"""


@each_row(
    ("path", "kind"),
    [
        ("/srv/data/x.db", None),
        ("/mnt/share/x.db", "nfs4"),
        ("/mnt/share/deep/er/x.db", "nfs4"),
        ("/mnt/sharedrive/x.db", None),
        ("/mnt/with space/x.db", "cifs"),
        ("/mnt/share/disk/x.db", None),
        ("/mnt/hidden/x.db", None),
    ],
)
def test_the_nearest_mount_decides(path: str, kind: str | None) -> None:
    assert network_share(Path(path), MOUNTS) == kind


def test_a_link_is_followed_to_its_share(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("/mnt/share/deep")
    (tmp_path / "x.db").symlink_to("/mnt/share/x.db")
    assert network_share(tmp_path / "data" / "x.db", MOUNTS) == "nfs4"
    assert network_share(tmp_path / "x.db", MOUNTS) == "nfs4"
    assert network_share(tmp_path / "y.db", MOUNTS) is None


def test_the_folder_of_the_tests_is_on_this_machine(tmp_path: Path) -> None:
    assert network_share(tmp_path) is None


def test_sqlite_is_not_made_on_a_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"1 0 0:1 / {tmp_path} rw - nfs server:/x rw\n")
    monkeypatch.setattr(sqlite, "_MOUNTS", mounts)
    assert network_share(tmp_path) == "nfs"
    with pytest.raises(DatabaseUnsupported, match=r"x\.db is on a network share \(nfs\).*PostgreSQL"):
        initialize_database(database(tmp_path / "x.db"))
    assert [path.name for path in tmp_path.iterdir() if "x.db" in path.name] == ["x.db.lock"]
