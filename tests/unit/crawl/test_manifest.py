"""A manifest of saved pages: one answer for each line, whatever stands in it."""

import json
from pathlib import Path

from sale_sofia.crawl.reparse import read_manifest


def test_a_file_that_can_have_no_such_name_is_one_error_of_its_line(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.jsonl"
    lines = [
        json.dumps({"site": "imot.bg", "file": "a\0", "url": "y"}),
        json.dumps({"site": "imot.bg", "file": "no\u2028.html", "url": "y"}, ensure_ascii=False),
    ]
    manifest.write_text("\n".join(lines) + "\n", "utf-8")
    assert [answer["error"]["message"] for answer in read_manifest(manifest)] == [
        rf"{manifest}, line 1: 'a\x00': embedded null byte",
        f"{manifest}, line 2: no\u2028.html: No such file or directory",
    ]
