"""Contradictions in real adverts: how many each rule finds, and a sample to look through by hand.

    python bench/contradictions.py ADVERTS.parquet [PAGES_DIR ...] [--show 10]

The adverts are a table such as `sale-sofia match --adverts` reads; a folder of pages has a `truth.json` that
names their portals. What is shown of adverts is printed, never stored.
"""

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sale_sofia.advice.valuation.trial import NOWHERE
from sale_sofia.crawl.reparse import read_file
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.flats.contradictions import Beside, Outlier, merge_flat
from sale_sofia.flats.flat import Code, Contradiction
from sale_sofia.flats.matching.files import read_adverts
from sale_sofia.flats.outliers import Priced, price_outliers
from sale_sofia.websites.registry import get_scraper

Row = dict[str, Any]
SHOWN_CHARACTERS = 400
SEED = 7


def row_of(number: int, fields: Row) -> Row:
    """An advert as the database gives it, its description read."""
    said = {
        field: one.as_json()
        for field, one in read_description(fields.get("description") or "").items()
        if one.value is not None and one.status != "conflict"
    }
    known = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    row = {**NOWHERE, **known, "id": number, "said": said, "described": bool(said), "photo_urls": "[]"}
    return {**row, "flags": frozenset(), "features": frozenset(), "last_seen_at": time.time()}


def read_pages(folder: Path) -> Iterator[Row]:
    """The adverts among the pages of a folder."""
    for name, page in json.loads((folder / "truth.json").read_text("utf-8")).items():
        if page["kind"] == "listing":
            answer = read_file(get_scraper(page["site"]), folder / name, page["url"])
            if answer["kind"] == "listing":
                yield answer


def outliers(rows: list[Row]) -> dict[int, list[Outlier]]:
    """What stands out from the market of these adverts."""
    priced = [
        Priced(
            row["id"], row["deal"], row["property_type"], row["city"], row["neighbourhood"],
            row["price_eur"] / row["area_sqm"],
        )
        for row in rows
        if row["price_eur"] and row["area_sqm"] and row["deal"] and row["property_type"]
    ]  # fmt: skip
    found: dict[int, list[Outlier]] = defaultdict(list)
    for (number, _), outlier in price_outliers(priced):
        found[number].append(outlier)
    return found


def main() -> None:
    """Count and show."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("adverts", type=Path)
    arguments.add_argument("pages", type=Path, nargs="*")
    arguments.add_argument("--show", type=int, default=0)
    given = arguments.parse_args()
    fields = [*read_adverts(given.adverts), *(one for folder in given.pages for one in read_pages(folder))]
    rows = [row_of(number, one) for number, one in enumerate(fields, 1)]
    beside = Beside(outliers=outliers(rows))
    found: dict[Code, list[tuple[Row, Contradiction]]] = defaultdict(list)
    for row in rows:
        for one in merge_flat(row["id"], [row], beside=beside).contradictions:
            found[one.code].append((row, one))
    print(f"{len(rows)} adverts, {sum(map(len, found.values()))} contradictions")
    for code in Code:
        print(f"{code:24} {len(found[code])}")
        chosen = random.Random(SEED).sample(found[code], min(given.show, len(found[code])))
        for row, one in chosen:
            words = " ".join((row["description"] or "").split())[:SHOWN_CHARACTERS]
            print(f"  {row['site']} {row['external_id']}: {one.one} | {one.other} | {one.facts} | {words}")


if __name__ == "__main__":
    main()
