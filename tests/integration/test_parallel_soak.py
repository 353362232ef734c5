"""Crawl after crawl by the same processes: neither Redis nor they grow (for long: bench/chaos.py)."""

import json
from pathlib import Path

from parallel_faults import SEED, SITE, SURROUNDINGS, begin, small_portal
from parallel_soak import crawl_again, measure
from parallel_world import party

QUICK = {**SURROUNDINGS, "DOMAIN_RATE_LIMITS": json.dumps({SITE: 6000})}
CRAWLS = 4
MOST_MORE_FILES = 8
"""A connection that the first crawls did not need, in each of the processes' parts."""
MOST_MORE_MB = 8.0


def test_crawls_leave_no_keys_no_open_files_and_no_memory_behind(tmp_path: Path) -> None:
    with party(tmp_path / "p", small_portal(tmp_path, 60), processes=2, **QUICK) as crawl:
        begin(crawl)
        crawl.wait(120)
        crawl_again(crawl, 120)  # by now both processes have done all there is to do
        before = measure(crawl)
        for _ in range(CRAWLS):
            crawl_again(crawl, 120)
        after = measure(crawl)
        assert after.lasting_keys <= before.lasting_keys
        assert after.open_files <= before.open_files + MOST_MORE_FILES
        assert after.resident_mb <= before.resident_mb + MOST_MORE_MB
        assert crawl.wrong() == {}, f"seed {SEED}"
