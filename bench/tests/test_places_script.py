"""What is shipped about places is what `make places` makes of the collected data."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

from unit.geography.test_gazetteer import COLLECTED, DATA, ROOT, needs_collected_data


@needs_collected_data
def test_the_data_is_what_the_script_makes(tmp_path: Path) -> None:
    script = ROOT / "bench" / "places.py"
    subprocess.run([sys.executable, script, COLLECTED, "--into", tmp_path], check=True, capture_output=True)
    made = {path.relative_to(tmp_path).as_posix(): content(path) for path in tmp_path.glob("*/*")}
    assert {name: content(DATA / name) for name in made} == made
    assert len(made) == len(list(DATA.glob("*/*")))


def content(path: Path) -> object:
    """What a file holds; its compressed bytes may differ from one zlib to the next."""
    packed = path.read_bytes()
    return json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)
