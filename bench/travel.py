"""Minutes to three places from many flats: CPU time, and that of one flat alone.

python bench/travel.py [--flats 100000]
"""

import argparse
import random
import time
from collections.abc import Sequence

from sale_sofia.geography.gazetteer import areas
from sale_sofia.geography.shapes import Point, Shape
from sale_sofia.geography.travel import CENTRE, Place, network

PLACES = (
    CENTRE,
    Place(Point(42.62939, 23.37316), ("Бизнес парк София",)),
    Place(Point(42.68797, 23.41619), ("Летище София",)),
)


def main() -> None:
    """Print what it took."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--flats", type=int, default=100_000)
    count = arguments.parse_args().flats
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
