"""A small market in the real stores, with what has to be told of it and what must not."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from alert_servers import AlertServers, Came
from property_worlds import advert
from sale_sofia.buyer.evaluations import By, mark
from sale_sofia.buyer.searches import save_search
from sale_sofia.flats import overrides
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import resolve
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.market_events import set_gone
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, close_incident, open_incident

DAY = 86_400.0
HOUR = 3600.0
SEARCH = "Лозенец до 200"
FILE = """
channels:
  mail: {mail}
  hook: {hook}
quiet_hours: {{from: "{quiet_from}", to: "{quiet_to}"}}
buyer:
  - name: Тристаен
    search: {search}
    tell: [new, cut, back, cheaper]
    channels: [mail, hook]
  - name: Следени
    shortlist: true
    tell: [gone]
    channels: [mail]
    digest: "08:30"
operator:
  - name: Обхождане
    channels: [hook]
    urgent: true
"""
TOLD = {
    "Ново": "new",
    "По-евтино": "cut",
    "Отново на пазара": "back",
    "Вече не се предлага": "gone",
    "По-евтино в друг портал": "cheaper",
    "Проблем": "incident",
    "Край": "incident_end",
}
_HEAD = re.compile(rf"(?:sale-sofia: )?({'|'.join(sorted(TOLD, key=len, reverse=True))}): (.*)")
_LINK = re.compile(r"https://[\w.]+/(\w+)")
_SINCE = re.compile(r"От: (.*)")

Fact = tuple[str, str, str]
"""A channel, what is told, and of what: an advert's id, or an incident's kind, place and beginning."""


def facts_in(came: Came) -> list[Fact]:
    """What a message tells, as its reader would find it."""
    found: list[Fact] = []
    head: tuple[str, str] | None = None
    for line in (came.subject, *came.body.splitlines()):
        if match := _HEAD.fullmatch(line.strip()):
            head = TOLD[match[1]], match[2]
        elif head is not None and (about := _about(head, line)):
            found.append((came.channel, head[0], about))
            head = None
    return found


def _about(head: tuple[str, str], line: str) -> str | None:
    if head[0].startswith("incident"):
        since = _SINCE.fullmatch(line.strip())
        return f"{head[1]} @ {since[1]}" if since else None
    link = _LINK.fullmatch(line.strip())
    return link[1] if link else None


@dataclass(slots=True)
class AlertWorld:
    """The market as the database holds it; the expected facts grow with each thing that happens."""

    settings: Settings
    database: Database
    now: float
    expected: Counter[Fact] = field(default_factory=Counter)
    _flats: dict[str, Listing] = field(default_factory=dict)

    @property
    def matching(self) -> PropertyMatching:
        return PropertyMatching(self.settings, self.database, clock=lambda: self.now)

    def begin(
        self, servers: AlertServers, flats: int = 40, file: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """The rules, the saved search, and flats that are there already."""
        with self.database.write() as connection:
            save_search(
                connection, SEARCH, {"neighbourhood": ["Лозенец"], "price_max": 400_000}, now=self.now
            )
        write_rules(self.settings.data_dir, servers, file)
        for number in range(flats):
            self.seen(f"old{number}", number)

    def seen(self, name: str, number: int, **fields: Any) -> None:  # noqa: ANN401 - any field
        """A flat of its own, as a portal shows it for the first time."""
        own = {
            "area_sqm": 60.0 + number * 1.5,
            "price_eur": 150_000.0 + number * 1_100,
            "floor": 1 + number % 7,
            "floors_total": 8,
            "seller_name": f"АГЕНЦИЯ {name}",
            "description": f"Жилище под знак {name}, с изглед към улица {number}.",
        }
        self._save(advert(name, **{**own, **fields}))

    def change(self, name: str, **fields: Any) -> None:  # noqa: ANN401 - any field
        """The same advert, seen again with these fields."""
        self._save(self._flats[name].model_copy(update=fields))

    def cut(self, name: str, percent: float) -> None:
        self.change(name, price_eur=round((self._flats[name].price_eur or 0) * (1 - percent / 100)))

    def gone(self, name: str) -> None:
        with self.database.write() as connection:
            set_gone(connection, {self.listing_id(name): self.now}, now=self.now, reason="missed")

    def twin(self, name: str, twin: str, site: str, percent: float) -> None:
        """The same flat on another portal, for so many per cent less; the buyer says that it is the same."""
        price = round((self._flats[name].price_eur or 0) * (1 - percent / 100))
        same = {"site": site, "external_id": twin, "url": f"https://{site}/{twin}", "price_eur": price}
        self._save(self._flats[name].model_copy(update=same))
        self.matching.match_new()
        if self.property_id(name) != self.property_id(twin):
            overrides.link(self.matching, self.property_id(name), self.property_id(twin))

    def say(self, name: str, status: str) -> None:
        with self.database.write() as connection:
            mark(connection, self.property_id(name), status, By("buyer", self.now))

    def begins(self, kind: IncidentKind, site: str) -> None:
        with self.database.write() as connection:
            open_incident(
                connection, Trouble(kind, site, Said("trouble.stuck_job", seconds=60)), now=self.now
            )

    def ends(self, kind: IncidentKind, site: str) -> None:
        with self.database.write() as connection:
            assert close_incident(connection, kind, site, now=self.now)

    def match(self) -> None:
        self.matching.match_new()

    def expect(self, kind: str, *names: str) -> None:
        """Each of these is told once through each channel of its rule."""
        channels = (
            ("mail",) if kind == "gone" else ("hook",) if kind.startswith("incident") else ("mail", "hook")
        )
        for name in names:
            for channel in channels:
                self.expected[channel, kind, name] += 1

    def property_id(self, name: str) -> int:
        with self.database.read() as connection:
            return resolve(connection, self.listing_id(name))

    def listing_id(self, name: str) -> int:
        with self.database.read() as connection:
            chosen = listings.select().where(listings.c.external_id == name, listings.c.closed_at.is_(None))
            return int(connection.execute(chosen).mappings().one()["id"])

    def _save(self, listing: Listing) -> None:
        with self.database.write() as connection:
            save_listings(connection, [Sighting(listing, self.now, None, None)])
        self._flats[listing.external_id] = listing


def write_rules(folder: Path, servers: AlertServers, file: Mapping[str, str]) -> None:
    given = {"quiet_from": "23:00", "quiet_to": "07:00", "search": SEARCH, **file}
    text = FILE.format(mail=servers.mail_url, hook=servers.hook_url, **given)
    (folder / "alerts.yaml").write_text(text, "utf-8")
