"""Adverts that mean harm: scripts, Markdown, endless texts, marks that turn the writing, odd addresses."""

import time
from pathlib import Path

from sqlalchemy import select

from app_runs import put_adverts, store
from sale_sofia.history.tables import listings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident

SCRIPT = "<script>alert('harm')</script><img src=x onerror=alert('harm')><svg onload=alert('harm')>"
MARKDOWN = (
    "[click](javascript:alert('harm')) ![x](javascript:alert('harm')) # big **bold** `x` "
    "$\\frac{1}{2}$ :red[x]"
)
TURNED = "\u202eобратно\u2066\u200f\u0000 край"
ENDLESS = "Безкраен" + "a" * 100_000
FORMULA = '=HYPERLINK("http://harm.example";"x")'
HOME = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "price_eur": 120_000.0, "vat": "included",
    "area_sqm": 90.0, "floor": 3, "floors_total": 8, "construction": "brick", "year_built": 2015,
    "condition": "renovated", "act_status": "act16", "city": "София", "neighbourhood": "Лозенец",
    "elevator": True,
}  # fmt: skip
SCRIPT_PRICE = 123_457
"""Of the advert with the script; no other costs the same."""
TEXTS = {"script": SCRIPT, "markdown": MARKDOWN, "turned": TURNED, "endless": ENDLESS, "formula": FORMULA}


def put_hostile_adverts(data: Path) -> None:
    """One advert for each text, which stands wherever a portal's text can stand; and an incident."""
    put_adverts(
        data,
        *(
            HOME
            | {
                "external_id": f"1bharm{name}", "title": text, "description": text, "seller_name": text,
                "street": text, "metro_station": text, "neighbourhood": text,
                "lat": 42.66 + number / 100, "lon": 23.30, "price_eur": SCRIPT_PRICE + number,
                "url": "javascript:alert('harm')",
                "photo_urls": ["javascript:alert('harm')", "data:text/html,<script>alert('harm')</script>"],
                "area_sqm": 90.0 + number,
            }
            for number, (name, text) in enumerate(TEXTS.items())
        ),
    )  # fmt: skip
    with store(data).write() as connection:
        open_incident(
            connection, Trouble(IncidentKind.LARGE_PROPERTY, "imot.bg", Said.of(SCRIPT)), now=time.time()
        )


def hostile_ids(data: Path) -> dict[str, int]:
    """Their properties, by the name of the text."""
    found = select(listings.c.external_id, listings.c.id).where(listings.c.external_id.like("1bharm%"))
    with store(data).read() as connection:
        return {row[0].removeprefix("1bharm"): row[1] for row in connection.execute(found)}
