"""Messages under kills: what a mail server and a webhook get when the processes that send are killed.

150 flats are new at once, each told through both channels: 300 messages. `sale-sofia alerts run` is killed
again and again at random moments (kill -9), most of them while a message is being handed over: the servers
take their time to answer. Then the processes that send, which no kill of a command reaches, are killed.

The goal: every message comes; after kills of the command none comes twice; after kills of a sender at most as
many come twice as senders were killed, each under its own id and noted in the log.
"""

import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from alert_runs import kill_while_sending, send_all, settled, start_run, unsent, wait_for
from alert_servers import AlertServers, alert_servers
from alert_world import DAY, AlertWorld
from process_sizes import children
from sale_sofia.alerts.looking import Looking
from sale_sofia.alerts.outbox import read_log
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.installation import open_database
from sale_sofia.settings.model import Settings
from sale_sofia.storage.migrate import initialize_database

ANSWER_SECONDS = 0.3
SEND_SECONDS = "30"


@dataclass(slots=True)
class Outcome:
    """What came of one series of kills."""

    killed: str
    kills: int
    messages: int
    came: int
    lost: int
    twice: int
    noted: int
    seconds: float


def world_with_news(folder: Path, servers: AlertServers, flats: int) -> AlertWorld:
    """Rules that have begun, and so many new flats, each in messages of its own."""
    settings = Settings(data_dir=folder, alert_burst=1000)
    database = open_database(settings)
    initialize_database(database)
    world = AlertWorld(settings, database, time.time() - DAY)
    world.begin(servers, flats=2)
    rules = folder / "alerts.yaml"
    lines = rules.read_text("utf-8").splitlines(keepends=True)
    rules.write_text("".join(line for line in lines if not line.startswith("quiet_hours")), "utf-8")
    world.match()
    look(world)
    world.now = time.time()
    for number in range(flats):
        world.seen(f"n{number}", 3 + number)
    world.match()
    look(world)
    return world


def look(world: AlertWorld) -> None:
    """Decide, and send nothing."""
    file = load_alerts(world.settings.data_dir)
    if file is not None:
        Looking(world.settings, world.database, file, lambda: world.now).look()


def series(killed: str, kills: int, flats: int, chance: random.Random) -> Outcome:
    """So many kills, then rounds until nothing waits."""
    began = time.monotonic()
    with alert_servers() as servers, tempfile.TemporaryDirectory() as place:
        world = world_with_news(Path(place), servers, flats)
        messages, done = unsent(world.database), 0
        servers.answer_seconds = ANSWER_SECONDS
        while done < kills and unsent(world.database):
            run = start_run(Path(place), ALERT_SEND_SECONDS=SEND_SECONDS)
            victim = (lambda pid: [pid]) if killed == "command" else children
            done += kill_while_sending(run, servers, chance, victim)
        servers.answer_seconds = 0.0
        if killed == "command":
            wait_for(partial(settled, world.database))
        send_all(Path(place), world.database, ALERT_SEND_SECONDS=SEND_SECONDS)
        counts = servers.counted()
        with world.database.read() as connection:
            noted = sum(entry.breaks > 0 for entry in read_log(connection, limit=10 * messages))
        world.database.dispose()
    twice = sum(times > 1 for times in counts.values())
    seconds = time.monotonic() - began
    return Outcome(killed, done, messages, len(counts), messages - len(counts), twice, noted, seconds)


def main() -> None:
    """Both series."""
    given = measure.options(__doc__, {"seed": "of the random moments"})
    seed = int(given.seed) if given.seed else time.time_ns() % 2**32
    chance = random.Random(seed)
    flats, commands, senders = (15, 3, 1) if given.quick else (150, 50, 10)
    found = [series("command", commands, flats, chance), series("sender", senders, flats, chance)]
    for one in found:
        print(
            f"{one.kills} kills of the {one.killed}: {one.came} of {one.messages} messages came, "
            f"{one.lost} lost, {one.twice} twice, {one.noted} noted as perhaps twice ({one.seconds:.0f} s)"
        )
    result = {"seed": seed, "series": [asdict(one) for one in found]}
    measure.finish(result, met=all(map(is_good, found)), check=given.check)


def is_good(one: Outcome) -> bool:
    """Nothing lost; nothing twice that is not noted; nothing twice at all when only commands were killed."""
    return one.lost == 0 and one.twice <= (0 if one.killed == "command" else min(one.noted, one.kills))


if __name__ == "__main__":
    main()
