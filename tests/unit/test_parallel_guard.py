"""What a killed test run leaves behind: nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from parallel_crawls import until
from sale_sofia.operations.services.processes import born
from sale_sofia.operations.services.redis import read_record

RUN = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from parallel_world import team
with team(Path(sys.argv[2]), processes=1) as made:
    made.start_beat()
    print(made.beats[0].pid, flush=True)
    input()
"""


@pytest.mark.slow
def test_a_killed_run_leaves_neither_its_processes_nor_its_redis(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(Path(__file__).parents[1]), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        beat = int(run.stdout.readline())
        server = read_record(tmp_path / "redis")
        run.kill()
    assert server is not None
    left = [beat, server.pid or 0]
    until(lambda: not any(map(born, left)), "the end of its beat and of its Redis")
