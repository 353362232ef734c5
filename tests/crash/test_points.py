"""The points themselves: of work that is known, each is told, in its order."""

from pathlib import Path

from sqlalchemy import create_engine, text

from crash_points import points_of


def test_each_statement_commit_and_file_operation_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    engine = create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with points_of(tmp_path, lambda kind, what: told.append(f"{kind} {what}".strip())):
        with engine.begin() as connection:
            connection.execute(text("CREATE TABLE words (word TEXT)"))
            connection.execute(text("INSERT INTO words VALUES ('a')"))
        (tmp_path / "part").write_bytes(b"")
        (tmp_path / "part").rename(tmp_path / "whole")
        (tmp_path / "whole").unlink()
    engine.dispose()
    (tmp_path / "later").mkdir()
    assert told == [
        "file sqlite3.connect x.db",
        "statement CREATE TABLE words",
        "statement INSERT INTO words",
        "commit",
        "return",
        "file open part",
        "file os.rename part",
        "file os.remove whole",
    ]
