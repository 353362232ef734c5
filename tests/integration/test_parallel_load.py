"""Ten worker processes on one portal: they keep one rate, share one database, and leave Redis as it was."""

import json
from collections import Counter
from pathlib import Path

from sqlalchemy import func, select

from crawls import ALONE, stored
from parallel_crawls import until
from parallel_portals import Portal, plan_of, portals
from parallel_world import FOR_EVER, Team, team
from sale_sofia.crawl.tables import frontier
from windows import excess

LANES = 10
# The settings say the rate, as no site file may allow so much.
PORTAL = Portal("busy.test", 300, per_minute=6000, file_per_minute=1200, concurrency=LANES, distinct=50)
SURROUNDINGS = {
    **ALONE,
    "ARCHIVE_ENABLED": "false",
    "DOMAIN_RATE_LIMITS": json.dumps({PORTAL.name: PORTAL.per_minute}),
}
MOST_GROWTH_BYTES = 200_000


def said(made: Team) -> str:
    """Everything that the processes and the error log say."""
    logs = [*made.folder.glob("*.log"), *(made.folder / "data").glob("errors*.jsonl")]
    return "".join(log.read_text("utf-8", "replace") for log in logs)


def claims_too_many(made: Team) -> int:
    """How often a page was taken and put back unread."""
    with made.database.read() as connection:
        return int(connection.execute(select(func.sum(frontier.c.fence - 1))).scalar_one())


def lanes_at_work(made: Team) -> set[str]:
    """The worker processes that ran a lane with pages in it, by their names in the log."""
    return {
        line.partition("ForkPoolWorker-")[2].partition("]")[0]
        for line in said(made).splitlines()
        if "scrape_chunk" in line and "succeeded" in line and "'pages': 0" not in line
    }


def test_ten_processes_on_one_portal_keep_its_rate_and_double_nothing(tmp_path: Path) -> None:
    with portals(tmp_path, [PORTAL]) as running:
        variables = {**SURROUNDINGS, "SITES_DIR": str(tmp_path / "sites")}
        with team(tmp_path / "team", processes=LANES, **variables) as made:
            made.forked = True
            made.numbers = {}  # lanes wait for work as long as they really do, so that all ten find some
            made.start_worker()
            made.start_beat()
            made.wait_until_ready()
            made.dispatch_plans([plan_of(PORTAL.name, made.environment)])
            portal = running[PORTAL.name]
            until(lambda: len(portal.times()) > PORTAL.adverts // 6, "a sixth of the adverts")
            before = made.redis_bytes()  # with everybody connected, and all scripts loaded
            made.wait(90)
            until(lambda: len(lanes_at_work(made)) == LANES, "ten lanes that read pages")
            # Buffers of connections shrink within seconds of their last use; what is kept does not.
            until(lambda: made.redis_bytes() - before < MOST_GROWTH_BYTES, "Redis as small as before")
            asked = Counter(row["path"] for row in portal.requests())
            assert made.progress()[PORTAL.name].status == "COMPLETE"
            assert {row["external_id"] for row in stored(made.folder / "data")} == portal.adverts()
            assert max(asked.values()) == 1, asked.most_common(3)
            assert excess(portal.times(), PORTAL.per_minute, 1 + LANES) == {}
            assert claims_too_many(made) <= LANES
            assert FOR_EVER not in made.keys_of_ours().values(), made.keys_of_ours()
            assert "database is locked" not in said(made)
            assert "Traceback" not in said(made)
