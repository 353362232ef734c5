"""Minutes to three places from many flats: CPU time, and that of one flat alone; how many flats know theirs.

python bench/travel.py [--flats 100000]
python bench/travel.py --adverts FILE.parquet         of these adverts, by their neighbourhoods alone
DATA_DIR=data/demo python bench/travel.py --stored    of a database, by all that is known
"""

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.walks import METRO_FACTS, stated_minutes, travel_to, walk_around, what_is_near
from sale_sofia.geography.gazetteer import areas
from sale_sofia.geography.shapes import BUYERS_CENTRE, Destination, Point, Shape
from sale_sofia.geography.travel import network
from sale_sofia.installation import open_ready
from sale_sofia.listings.places import SOFIA
from sale_sofia.settings.model import load_settings

PLACES = (
    BUYERS_CENTRE,
    Destination(Point(42.62939, 23.37316), ("Бизнес парк София",)),
    Destination(Point(42.68797, 23.41619), ("Летище София",)),
)
SHOWN = 12
"""Neighbourhoods that are named."""


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


class Known(NamedTuple):
    """What is known of one flat."""

    neighbourhood: str | None
    told: bool
    """A walk to the metro, by adverts alone: what was known before places were."""
    walk: bool
    travel: bool
    shop: bool
    stop: bool


KINDS = {
    "told": "a walk to the metro that adverts tell",
    "walk": "a known walk to the metro",
    "travel": "known minutes to Сердика",
    "shop": "a known walk to a supermarket",
    "stop": "a known walk to a stop",
}


def print_known(adverts: Path | None) -> None:
    """How many flats have a known walk to the metro, before and after, and other facts; by neighbourhood."""
    known = [*(_of_adverts(adverts) if adverts else _of_database())]
    for kind, what in KINDS.items():
        print(f"{sum(getattr(one, kind) for one in known) / len(known):.1%} of {len(known)} have {what}")
    places: dict[str | None, list[Known]] = defaultdict(list)
    for one in known:
        places[one.neighbourhood].append(one)
    unknown = {name: some for name, some in places.items() if not all(one.walk for one in some)}
    print(
        f"{len(places) - len(unknown)} of {len(places)} neighbourhoods: all flats with a known walk; others:"
    )
    for place, some in sorted(unknown.items(), key=lambda one: -len(one[1]))[:SHOWN]:
        before, after = sum(one.told for one in some), sum(one.walk for one in some)
        print(f"{len(some):6} flats, {before:5} before, {after:5} after  {place}")


def _of_adverts(path: Path) -> Iterator[Known]:
    """By the neighbourhood, and by what the text tells."""
    for row in pq.read_table(path, columns=["neighbourhood", "snippet"]).to_pylist():
        name, text = row["neighbourhood"], row["snippet"]
        said = read_description(text) if text and "метро" in text.lower() else {}
        told = any(one.value is not None for field, one in said.items() if field in METRO_FACTS)
        near, travel = what_is_near(None, (SOFIA, name)), travel_to(BUYERS_CENTRE, None, (SOFIA, name))
        walk = told or walk_around(SOFIA, name) is not None
        yield Known(name, told, walk, travel is not None, near.shop is not None, near.stop is not None)


def _of_database() -> Iterator[Known]:
    """By all that is known."""
    for flat in open_ready(load_settings()).run_read(lambda connection: list(read_flats(connection))):
        told = stated_minutes(flat.metro_minutes, flat.metro_distance_m) is not None
        facts = (flat.metro_walk, flat.centre_travel, flat.nearby.shop, flat.nearby.stop)
        yield Known(flat.neighbourhood, told, *(one is not None for one in facts))


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
