"""Crawl after crawl by the same processes: neither Redis nor they grow, the database by what was seen.

For an hour, with faults, alerts and a dashboard: bench/soak.py.
"""

import json
from pathlib import Path

from crawls import ALONE
from parallel_faults import SITE, SURROUNDINGS, begin, small_portal
from parallel_soak import crawl_again, measure
from parallel_world import FOR_EVER, party
from seeds import SEED

QUICK = {**SURROUNDINGS, **dict.fromkeys(ALONE, "true"), "DOMAIN_RATE_LIMITS": json.dumps({SITE: 6000})}
CRAWLS = 4
ADVERTS = 40
MOST_MORE_FILES = 12
"""Connections that the first crawls did not need, and those of a process that is just at work: up to ten."""
MOST_MORE_THREADS = 4
MOST_MORE_MB = 8.0
MOST_MORE_TOGETHER_MB = 24.0
"""The second process may meet the end of a crawl for the first time: 17 MB, once, and then nothing."""
MOST_BYTES_A_VISIT = 2000
"""A visit that found nothing new is a row of the history and one of the frontier, with their indexes."""


def test_crawls_leave_no_keys_no_open_files_and_no_memory_behind(tmp_path: Path) -> None:
    with party(tmp_path / "p", small_portal(tmp_path, ADVERTS), processes=2, **QUICK) as crawl:
        begin(crawl)
        crawl.wait(120)
        crawl_again(crawl, 120)  # by now both processes have done all there is to do
        before = measure(crawl)
        for _ in range(CRAWLS):
            crawl_again(crawl, 120)
        after = measure(crawl)
        assert after.lasting_keys <= before.lasting_keys
        assert FOR_EVER not in crawl.keys_of_ours().values(), "each of ours has a time to live"
        assert after.most.open_files <= before.most.open_files + MOST_MORE_FILES
        assert after.together.open_files <= before.together.open_files + MOST_MORE_FILES
        assert after.together.threads <= before.together.threads + MOST_MORE_THREADS
        assert after.most.own_megabytes <= before.most.own_megabytes + MOST_MORE_MB
        assert after.together.own_megabytes <= before.together.own_megabytes + MOST_MORE_TOGETHER_MB
        assert after.visits - before.visits >= CRAWLS * ADVERTS
        grown = after.database_bytes - before.database_bytes
        assert grown <= MOST_BYTES_A_VISIT * (after.visits - before.visits)
        assert crawl.wrong() == {}, f"seed {SEED}"
