"""Tables of properties and agencies for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from sale_sofia.commands.crawl_tables import moment, number
from sale_sofia.commands.tables import plain_table
from sale_sofia.data.properties_views import PropertyLine
from sale_sofia.properties.agencies import Agency

View = Mapping[str, Any]


def properties_table(lines: Sequence[PropertyLine]) -> Table:
    """A line for each property."""
    table = plain_table(
        "Properties",
        ("id", "neighbourhood"),
        ("rooms", "m²", "floor", "adverts", "portals", "from €", "to €"),
    )
    table.add_column("seen first", no_wrap=True)
    for one in lines:
        place = one.neighbourhood or "?"
        facts = (number(one.rooms), number(one.area_sqm), number(one.floor))
        counts = (f"{one.offered}/{one.adverts}", str(one.portals))
        prices = (number(one.lowest_eur), number(one.highest_eur))
        table.add_row(str(one.id), place, *facts, *counts, *prices, moment(one.first_seen_at))
    return table


def property_tables(view: View) -> Iterator[Table | Text]:
    """One property: its offers, how far their prices are apart, its facts, and why the adverts are one."""
    yield _offers_table(view)
    if price := view["price"]:
        yield Text(_price_sentence(price))
    yield _facts_table(view)
    yield _links_table(view["links"])


def review_table(found: Sequence[View]) -> Table:
    """A line for each advert of each pair."""
    table = plain_table(
        "Perhaps one property",
        ("property", "site", "advert", "neighbourhood"),
        ("€", "m²", "floor", "surely"),
    )
    for pair in found:
        for place, advert in enumerate(pair["adverts"]):
            surely = f"{pair['probability']:.1%}" if place == 0 else _unsure(pair["unsure_since"])
            facts = (number(advert["price_eur"]), number(advert["area_sqm"], 1), number(advert["floor"]))
            words = (advert["site"], str(advert["listing_id"]), advert["neighbourhood"] or "?")
            table.add_row(str(pair["properties"][place]), *words, *facts, surely)
        table.add_section()
    return table


def _unsure(since: float | None) -> str:
    return f"unsure since {moment(since)}" if since else ""


def agencies_table(found: Sequence[Agency]) -> Table:
    """A line for each seller."""
    table = plain_table("Who sells", ("name",), ("adverts", "properties", "re-posts", "portals"))
    table.add_column("phones")
    table.add_column("remark")
    for one in found:
        counts = (one.adverts, len(one.properties), one.reposts, len(one.portals))
        phones = ", ".join(sorted(one.phones)[:2]) + (" …" if len(one.phones) > 2 else "")  # noqa: PLR2004
        remark = one.mark or ("private" if one.private else "")
        table.add_row(one.name, *map(str, counts), phones, remark)
    return table


def _offers_table(view: View) -> Table:
    title = f"Property {view['id']}: {len(view['offers'])} adverts on {', '.join(view['portals'])}"
    table = plain_table(title, ("advert", "site"), ("€", "above the lowest", "%"))
    for heading in ("seen", "seller", "address"):
        table.add_column(heading)
    for offer in view["offers"]:
        prices = (number(offer["price_eur"]), number(offer["above_lowest_eur"]))
        percent = number(offer["above_lowest_percent"], 1)
        seen = moment(offer["last_seen_at"]) if offer["offered"] else f"gone, {moment(offer['last_seen_at'])}"
        seller = offer["seller_name"] or offer["seller_kind"] or "?"
        table.add_row(str(offer["listing_id"]), offer["site"], *prices, percent, seen, seller, offer["url"])
    return table


def _price_sentence(price: View) -> str:
    if not price["difference_eur"]:
        return f"All offers ask {number(price['lowest_eur'])} €."
    return (
        f"From {number(price['lowest_eur'])} to {number(price['highest_eur'])} €: "
        f"{number(price['difference_eur'])} € or {price['difference_percent']:.1f} % apart."
    )


def _facts_table(view: View) -> Table:
    table = plain_table("Facts", ("fact", "value", "from", "seen"), ())
    table.add_column("others say")
    for name, told in view["fields"].items():
        others = "; ".join(f"{_value(other['value'])} ({other['site']})" for other in told["others"])
        source = f"{told['site']}, {len(told['adverts'])} adverts"
        table.add_row(name, _value(told["value"]), source, moment(told["seen_at"]), others)
    return table


def _links_table(links: Sequence[View]) -> Table:
    table = plain_table("Why they are one", ("advert", "said by", "with"), ("surely",))
    table.add_column("evidence")
    for link in links:
        evidence = dict(link["evidence"])
        other = evidence.pop("with", None)
        table.add_row(
            str(link["listing_id"]),
            link["decided_by"],
            str(other or ""),
            f"{link['probability']:.2%}",
            _told(evidence),
        )
    return table


def _told(evidence: View) -> str:
    return ", ".join(
        f"{name} {said}" if isinstance(said, str) else f"{name} {said[0]} {said[1]:+.1f}"
        for name, said in evidence.items()
    )


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
