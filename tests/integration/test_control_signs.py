"""Signs that terminals obey, in an advert: they end where the advert is read, and the advert says so."""

import csv
import io
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

from app_runs import put_adverts
from crawls import FAST, run, site_folder
from forked_simulators import start_forked
from portal_fronts import Sent, in_front
from sale_sofia_simulator.simulation import SimulatorConfig

HOSTILE = b"\x1b]0;owned\x07\x1b[31m\x7f\x08&#x202e;&#27;[2J"
"""Sets a terminal's title, its colour and the direction of writing, and clears it."""
LEFT = b"]0;owned[31m[2J"
"""What is left of it: words."""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PLACES = {
    b'class="text">': HOSTILE, b'class="name">': HOSTILE,
    b'class="title">': b"\x1b\x07&#x202e;",  # without words: the title is also read for what is offered
}  # fmt: skip


def test_no_sign_that_a_terminal_obeys_is_stored_or_exported(tmp_path: Path) -> None:
    config = SimulatorConfig(sites=("imot.bg",), properties=3, seed=5, port=0)
    data = tmp_path / "data"
    with (
        start_forked(config) as portal,
        in_front(portal.urls["imot.bg"].rstrip("/"), {r"/obiava-.*": _with_signs}) as front,
    ):
        urls = [front.here(url) for url in portal.start_urls("imot.bg")]
        sites = site_folder(tmp_path / "sites", "imot.bg", start_urls=urls)
        told = run(data, "crawl", "imot.bg", **FAST, SITES_DIR=str(sites))
    assert told.returncode == 0, told.stderr
    with sqlite3.connect(data / "sale_sofia.db") as database:
        rows = database.execute("SELECT title, description, seller_name, flags FROM listings").fetchall()
        found = [one for line in database.iterdump() for one in OBEYED.findall(line)]
    assert len(rows) == 3
    assert found == []
    for title, description, seller_name, flags in rows:
        named = [seller_name] if seller_name else []
        assert all(LEFT.decode() in text for text in (description, *named))
        assert title.startswith(("Продава", "Дава"))
        assert {"description_controls", "title_controls"} <= set(json.loads(flags))
        assert ("seller_name_controls" in json.loads(flags)) == bool(named)
    assert any(row[2] for row in rows)


def _with_signs(sent: Sent) -> Sent:
    body = sent.body
    for place, signs in PLACES.items():
        body = body.replace(place, place + signs)
    return replace(sent, body=body)


def test_what_was_stored_before_is_exported_without_them(tmp_path: Path) -> None:
    hostile = "a\x1b[31mb\u202e\x9b c\r\nd\x0be"
    put_adverts(tmp_path, {"title": hostile, "description": hostile, "features": [hostile]})
    for name in ("out.csv", "out.jsonl"):
        told = run(tmp_path, "export", tmp_path / name)
        assert told.returncode == 0, told.stderr
        text = (tmp_path / name).read_bytes().decode()
        assert OBEYED.findall(text.replace("\r\n", "\n")) == []
        row = _first(name, text)
        assert (row["title"], row["description"]) == ("a[31mb c\nd e", "a[31mb c\nd e")


def _first(name: str, text: str) -> dict[str, str]:
    if name.endswith(".csv"):
        return next(csv.DictReader(io.StringIO(text, newline="")))
    row: dict[str, str] = json.loads(text.splitlines()[0])
    return row
