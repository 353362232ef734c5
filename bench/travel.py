"""Minutes to three places from many flats: CPU time, and that of one flat alone; how many flats know theirs.

python bench/travel.py [--flats 100000]
python bench/travel.py --adverts FILE.parquet         of these adverts, by their neighbourhoods alone
DATA_DIR=data/demo python bench/travel.py --stored    of a database, by all that is known
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.walks import travel_to, walk_around
from sale_sofia.geography.gazetteer import areas
from sale_sofia.geography.shapes import BUYERS_CENTRE, Place, Point, Shape
from sale_sofia.geography.travel import network
from sale_sofia.installation import open_ready
from sale_sofia.listings.places import SOFIA
from sale_sofia.settings.model import load_settings

PLACES = (
    BUYERS_CENTRE,
    Place(Point(42.62939, 23.37316), ("Бизнес парк София",)),
    Place(Point(42.68797, 23.41619), ("Летище София",)),
)


def main() -> None:
    """Measure, or count."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--flats", type=int, default=100_000)
    arguments.add_argument("--adverts", type=Path)
    arguments.add_argument("--stored", action="store_true")
    given = arguments.parse_args()
    if given.adverts or given.stored:
        print_known(given.adverts)
    else:
        measure(given.flats)


def print_known(adverts: Path | None) -> None:
    """How many flats have a known walk to the metro, and minutes to Сердика; which have none."""
    known: list[tuple[str | None, object, object]]
    if adverts:
        named = pq.read_table(adverts, columns=["neighbourhood"]).column(0).to_pylist()
        known = [
            (name, walk_around(SOFIA, name), travel_to(BUYERS_CENTRE, None, (SOFIA, name))) for name in named
        ]
    else:
        flats = open_ready(load_settings()).run_read(lambda connection: list(read_flats(connection)))
        known = [(one.neighbourhood, one.metro_walk, one.centre_travel) for one in flats]
    for place, what in ((1, "a known walk to the metro"), (2, "known minutes to Сердика")):
        print(f"{sum(one[place] is not None for one in known) / len(known):.1%} of {len(known)} have {what}")
    without = Counter(name for name, _, travel in known if travel is None)
    print("without minutes:", ", ".join(f"{name} {count}" for name, count in without.most_common(8)))


def measure(count: int) -> None:
    """What it takes."""
    draw, inside = random.Random(27), [area.shape for area in areas() if area.neighbourhoods]
    points = [_somewhere(draw, inside) for _ in range(count)]
    start = time.process_time()
    found = [network().search(place) for place in PLACES]
    ready = time.process_time()
    known = 0
    for point in points:
        around = network().near(point)
        known += None not in [one.from_point(point, around) for one in found]
    end = time.process_time()
    print(f"{ready - start:.1f} s of CPU to search {len(PLACES)} places")
    print(f"{end - ready:.1f} s of CPU for {count} flats, {1e3 * (end - ready) / count:.3f} ms each")
    print(f"{known / count:.1%} of them know the minutes to all")


def _somewhere(draw: random.Random, shapes: Sequence[Shape]) -> Point:
    shape = draw.choice(shapes)
    return Point(draw.uniform(shape.low.lat, shape.high.lat), draw.uniform(shape.low.lon, shape.high.lon))


if __name__ == "__main__":
    main()
