"""Crawls under fire: is anything lost, doubled, wrong, stuck, left behind, or too fast?

`sale-sofia up` with Redis, a worker and beat crawls two simulated portals that redirect each advert several
times and have faults of their own (429, 503, slow, resets, captcha and cut pages). Meanwhile faults come,
drawn from `--seed`: kill -9 of pool processes, workers, beat, `up`, Redis or everything at once; a Redis that
is wiped; processes, Redis or the whole host stopped for longer than a lease; starts that are disturbed in
their first second; clocks set back and forward by an hour or a day. With `--postgres` the store is a
PostgreSQL that is killed too; with `--hosts 3` three hosts share it and a Redis, each with a name, a clock
and a data folder of its own.

The faults come in rounds, each with a new world. The judges are the portals' request log (no window over
rate·w + burst, every request counted), their truth beside the database, Redis, and the process table: never a
count of our own. There is no peer: a run with one breach has failed, and says which.
`--outage SECONDS` and `--soak MINUTES` measure one fault instead: Redis gone for so long, crawls for so long.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import chaos_long
import measure
from chaos_faults import Fault, draw, in_rounds, weights
from chaos_host import can_have_names
from chaos_judges import Breach, judge, judge_end
from chaos_world import Size, World, world
from host_clocks import HostClock, NoClock, make_clock
from postgres_servers import PostgresServer, end_server, start_server

FAULTS, QUICK_FAULTS = 25, 20
ROUND_FAULTS = 25
ADVERTS = 60
PER_MINUTE = 900
PATIENCE_SECONDS = 240.0
"""Between the ends of two pages of the last jobs of a round, when nothing disturbs them any more."""


def main() -> None:
    """Crawl under fire and judge."""
    numbers = {
        "outage": "only Redis gone for so many seconds",
        "soak": "only crawls for so many minutes",
        "seed": "the number that all faults are drawn from",
        "faults": f"how many, {FAULTS} unless told",
        "hosts": "so many hosts share Redis and a PostgreSQL",
    }
    options = measure.options(__doc__, numbers, postgres="store in PostgreSQL, and kill that too")
    for name, run in (("outage", chaos_long.outage), ("soak", chaos_long.soak)):
        if (amount := getattr(options, name)) is not None:
            with tempfile.TemporaryDirectory(prefix="bench-chaos-") as folder:
                found, met = run(Path(folder), amount)
            measure.finish({"bench": f"chaos --{name}", **found}, met=met, check=options.check)
    fire_at_all(options)


def fire_at_all(options: argparse.Namespace) -> None:
    """All rounds, a table of what happened, and the last line; any breach is a failure."""
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else int(options.seed)
    count = int(options.faults or (QUICK_FAULTS if options.quick else FAULTS))
    hosts = int(options.hosts or 1)
    with (
        tempfile.TemporaryDirectory(prefix="bench-chaos-") as name,
        store(wanted=options.postgres or hosts > 1) as server,
    ):
        clock = host_clock(Path(name))
        kinds = weights(clocks=clock is not None, postgres=server is not None)
        faults = draw(seed, count, kinds, hosts)
        say(f"seed {seed}: {count} faults, {hosts} host{'s' * (hosts > 1)}")
        if hosts > 1 and not can_have_names():
            say("hosts cannot have names of their own here")
        fight = Fight(Path(name), Size(ADVERTS, PER_MINUTE, hosts), seed, clock, server)
        for number, some in enumerate(in_rounds(faults, ROUND_FAULTS), start=1):
            fight.round(number, some, len(faults))
    show(fight, faults)
    kept = {"bench": "chaos", "seed": seed, "hosts": hosts, "faults": count, "rounds": number}
    told = [f"{breach.promise}: {breach.evidence}"[:300] for breach in fight.breaches]
    measure.finish(
        {
            **kept,
            **fight.sums,
            "slowest_start": round(fight.slowest, 1),
            "broken": len(told),
            "breaches": told,
        },
        met=not told,
        check=True,
    )


def host_clock(folder: Path) -> HostClock | None:
    """What clocks of hosts are made of; None, and no clock is set, where there is no compiler."""
    try:
        return make_clock(folder / "clock")
    except NoClock as reason:
        say(f"no clock is set: {reason}")
        return None


@contextmanager
def store(*, wanted: bool) -> Iterator[PostgresServer | None]:
    """A PostgreSQL whose plug may be pulled, or none."""
    if not wanted:
        yield None
        return
    server = start_server(durable=True)
    try:
        yield server
    finally:
        end_server(server)


@dataclass(slots=True)
class Fight:
    """All rounds of a run, and what came of them."""

    folder: Path
    size: Size
    seed: int
    clock: HostClock | None
    postgres: PostgresServer | None
    breaches: list[Breach] = field(default_factory=list)
    sums: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    began: float = field(default_factory=time.monotonic)
    met: int = 0

    def round(self, number: int, faults: Sequence[Fault], of: int) -> None:
        """A new world, these faults, the end of its crawls, and the judges."""
        place = self.folder / str(number)
        with world(place, self.size, self.seed + number, self.clock, self.postgres) as fought:
            fought.begin()
            for fault in faults:
                time.sleep(fault.pause)
                if fought.finished():
                    fought.dispatch()
                if fault.at_work:
                    fought.wait_for_work()
                fought.meet(fault)
                self.met += 1
                self._tell(fault, fought, of)
            fought.restful()
            fought.wait(PATIENCE_SECONDS)
            self._judge(number, fought)

    def _tell(self, fault: Fault, fought: World, of: int) -> None:
        seconds = int(time.monotonic() - self.began)
        where = f" on {fought.machines[fault.host].name}" if self.size.hosts > 1 else ""
        asked = f"{len(fought.requests())} requests, crawl {fought.crawls}"
        say(f"{self.met:3}/{of} {seconds // 60:2}:{seconds % 60:02} {fault}{where} ({asked})")

    def _judge(self, number: int, fought: World) -> None:
        found = [*judge(fought), *judge_end(fought)]
        for breach in found:
            say(f"BREACH of {breach.promise}: {breach.evidence}")
        self.breaches += found
        self.sums += Counter(
            adverts=2 * self.size.adverts, crawls=fought.crawls, requests=len(fought.requests())
        )
        self.slowest = max([self.slowest, *(one for host in fought.machines for one in host.starts)])
        say(f"round {number}: {fought.crawls} crawls, {len(found)} breaches")


def show(fight: Fight, faults: Sequence[Fault]) -> None:
    """A row for each kind of fault, and for each promise."""
    for kind, times in sorted(Counter(fault.kind for fault in faults).items()):
        say(f"{kind:24}{times:5}")
    say(f"{'slowest start':24}{fight.slowest:5.1f} s")
    broken = Counter(breach.promise for breach in fight.breaches)
    for promise in ("rate", "adverts", "stuck", "locks", "processes"):
        say(f"{promise:24}{f'{broken[promise]} breaches' if broken[promise] else 'held'}")


def say(line: str) -> None:
    """At once, as a run takes long."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
