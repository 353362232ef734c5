"""Commands about properties: list them, see one, join and split; match; agencies."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from sale_sofia.buyer.corrections import CORRECTABLE
from sale_sofia.buyer.corrections import correct as say_fact
from sale_sofia.cli.console import AsJson, counted, has_subcommand, log, plain_table, print_answer, refuse
from sale_sofia.cli.evaluation import me
from sale_sofia.cli.progress import ago, make_bars, merge_flats, moment, number, on_market_words
from sale_sofia.flats import overrides
from sale_sofia.flats.agencies import forget_private_phones, list_agencies
from sale_sofia.flats.matching.files import match_file
from sale_sofia.flats.outliers import refresh_outliers
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.settings import LISTED
from sale_sofia.flats.views import YOU, Order, count_properties, list_properties, review_queue
from sale_sofia.flats.views import show_property as read_property
from sale_sofia.flats.views import show_review as read_review
from sale_sofia.installation import open_ready
from sale_sofia.settings.model import load_settings

View = Mapping[str, Any]
app = typer.Typer()
Limit = Annotated[int, typer.Option(min=1, help="Show this many.")]
PropertyId = Annotated[
    int, typer.Argument(help="The id of a property; ids from before it was joined with another still work.")
]


@app.callback(invoke_without_command=True)
def properties(
    context: typer.Context,
    order: Annotated[Order, typer.Option("--sort", help="What comes first.")] = "newest",
    limit: Limit = LISTED,
    as_json: AsJson = False,
) -> None:
    """List properties, each flat once: where, on how many portals, and from what price to what price."""
    if has_subcommand(context):
        return
    database = open_ready(load_settings())
    if order == "cheapest":
        merge_flats(database)
    with database.read() as connection:
        lines = list_properties(connection, order=order, limit=limit)
        total, adverts = count_properties(connection)
    numbers = ("rooms", "m²", "floor", "adverts", "portals", "from €", "to €")
    table = plain_table("Properties", ("id", "neighbourhood"), numbers)
    table.add_column("seen first", no_wrap=True)
    for line in lines:
        facts = (number(line.rooms), number(line.area_sqm), number(line.floor))
        counts = (f"{line.offered}/{line.adverts}", str(line.portals))
        prices = (number(line.lowest_eur), number(line.highest_eur))
        place = line.neighbourhood or "?"
        table.add_row(str(line.id), place, *facts, *counts, *prices, moment(line.first_seen_at))
    sentence = f"{len(lines)} of {total} properties shown; they have {counted(adverts, 'advert')}"
    none_yet = (
        "no property yet; adverts come with `sale-sofia crawl`, their properties with `sale-sofia match`"
    )
    record = {"properties": [line._asdict() for line in lines], "total": total, "adverts": adverts}
    print_answer(record, table, as_json=as_json, note=sentence, empty=none_yet)


@app.command()
def show(property_id: PropertyId, as_json: AsJson = False) -> None:
    """Show one property: its offers, cheapest first, its facts and their sources, and why it is one flat.

    Ids are those that `sale-sofia search` and `sale-sofia properties` show.
    """
    now = time.time()
    view = open_ready(load_settings()).run_read(partial(read_property, property_id=property_id, now=now))
    price = [_price_sentence(view["price"])] if view["price"] else []
    lines = (*price, *_market_lines(view, now), *_way_lines(view), *_nearby_lines(view))
    doubts = [_contradictions_table(view["contradictions"])] if view["contradictions"] else []
    table = plain_table("Why they are one", ("advert", "said by", "with"), ("surely",), "evidence")
    for link in view["links"]:
        evidence = dict(link["evidence"])
        other = str(evidence.pop("with", None) or "")
        reasons = ", ".join(
            f"{name} {value}" if isinstance(value, str) else f"{name} {value[0]} {value[1]:+.1f}"
            for name, value in evidence.items()
        )
        sure = f"{link['probability']:.2%}"
        table.add_row(str(link["listing_id"]), link["decided_by"], other, sure, reasons)
    tables = (_facts_table(view), *doubts, table)
    print_answer(view, _offers_table(view), *lines, *tables, as_json=as_json)


def _offers_table(view: View) -> Table:
    title = f"Property {view['id']}: {counted(len(view['offers']), 'advert')} on {', '.join(view['portals'])}"
    numbers = ("€", "VAT", "above the lowest", "%")
    table = plain_table(title, ("advert", "site"), numbers, "seen", "seller", "address")
    for offer in view["offers"]:
        vat = offer["vat_state"] or ""
        prices = (number(offer["price_eur"]), vat, number(offer["above_lowest_eur"]))
        percent = number(offer["above_lowest_percent"], 1)
        seen = moment(offer["last_seen_at"]) if offer["offered"] else f"gone, {moment(offer['last_seen_at'])}"
        copy = f", not opened: a copy of advert {offer['copy_of']}"
        seen += "" if offer["opened"] else copy if offer["copy_of"] else ", not opened yet"
        seller = offer["seller_name"] or offer["seller_kind"] or "?"
        table.add_row(str(offer["listing_id"]), offer["site"], *prices, percent, seen, seller, offer["url"])
    return table


def _price_sentence(price: View) -> str:
    lowest, highest = _sum(price, "lowest"), _sum(price, "highest")
    if lowest == highest:
        return f"All offers ask {lowest}."
    price_range, apart = f"From {lowest} to {highest}", price["difference_eur"]
    if apart is None:
        return f"{price_range}: what is paid is not sure, nor how far they are apart."
    counted = ", VAT counted" if "excluded" in (price["lowest_vat"], price["highest_vat"]) else ""
    return f"{price_range}: {number(apart)} € or {price['difference_percent']:.1f} % apart{counted}."


_VAT: Final = {
    "included": " with VAT",
    "excluded": " without VAT",
    "none": " free of VAT",
    "unknown": ", VAT unknown",
    None: "",
}


def _sum(price: View, which: str) -> str:
    return f"{number(price[f'{which}_eur'])} €{_VAT[price[f'{which}_vat']]}"


def _market_lines(view: View, now: float) -> Iterator[str]:
    """Since when it has been on the market, and each earlier offer."""
    words = on_market_words(**view["on_market"])
    yield f"{words[0].upper()}{words[1:]}."
    for offer in view["offered_before"]:
        price = f"{number(offer['price_eur'])} €" if offer["price_eur"] else "a price that is not known"
        when = f"{offer['site']}, {moment(offer['since'])} to {moment(offer['until'])}"
        yield f"Offered before: {ago(offer['until'], now)} for {price} ({when})."


def _facts_table(view: View) -> Table:
    table = plain_table("Facts", ("fact", "value", "from", "seen"), (), "others say")
    for name, fact in view["fields"].items():
        others = "; ".join(f"{_value(other['value'])} ({other['site']})" for other in fact["others"])
        source = YOU if fact["site"] == YOU else f"{fact['site']}, {counted(len(fact['adverts']), 'advert')}"
        table.add_row(name, _value(fact["value"]), source, moment(fact["seen_at"]), others)
    return table


_WALKED_FROM: Final = {
    "position": "by its coordinates",
    "advert": "as an advert says",
    "neighbourhood": "by where in the neighbourhood it is",
}


def _way_lines(view: View) -> Iterator[str]:
    ways = (("metro_walk", "To the metro", "on foot"), ("centre_travel", "To Сердика", "by public transport"))
    for name, end, how in ways:
        if way := view[name]:
            minutes = " to ".join(dict.fromkeys(f"{way[bound]:.0f}" for bound in ("least", "most")))
            yield f"{end} {minutes} minutes {how}, {_WALKED_FROM[way['source']]}."
    if view["metro_stations"]:
        near = (
            f"{station['name']} ({', '.join(station['lines'])}) {station['minutes']}"
            for station in view["metro_stations"]
        )
        yield f"Minutes to the nearest stations: {', '.join(near)}."


def _nearby_lines(view: View) -> Iterator[str]:
    near = view["nearby"]
    for name, noun in (("school", "school"), ("shop", "supermarket"), ("stop", "stop")):
        if found := near[name]:
            minutes = " to ".join(dict.fromkeys(f"{found[end]}" for end in ("least", "most")))
            ranks = " to ".join(dict.fromkeys(map(str, found["ranks"] or ())))
            details = (found["name"], ", ".join(found["lines"]), f"rank {ranks}" if ranks else "")
            more = "; ".join(filter(None, details))
            yield f"To a {noun} {minutes} minutes on foot{f' ({more})' if more else ''}."
    if near["road"]:
        yield f"A big road: {near['road']}."


def _contradictions_table(found: Sequence[View]) -> Table:
    table = plain_table("Contradictions", ("what", "says", "but"), (), "not believed")
    for row in found:
        kept = "" if row["kept"] is None else f" (kept: {_value(row['kept'])})"
        table.add_row(row["code"], _value(row["one"]), _value(row["other"]), ", ".join(row["facts"]) + kept)
    return table


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_value, value))
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@app.command()
def correct(
    property_id: PropertyId,
    fact: Annotated[str, typer.Argument(help=f"Which: {', '.join(CORRECTABLE)}.")],
    value: Annotated[
        str | None, typer.Argument(help="The right value; if there are several, all of them: S,E.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take your correction back.")] = False,
    as_json: AsJson = False,
) -> None:
    """Correct a fact of a property. Your correction wins over every advert, until you take it back.

    For example: sale-sofia properties correct 12 floor 4
    """
    refuse(undo and value is not None, "--undo takes back a value; leave the value out")
    refuse(not undo and value is None, "say what it is, or take it back with --undo")
    correction = None if undo else value
    work = partial(say_fact, property_id=property_id, fact=fact, text=correction, by=me())
    stored = open_ready(load_settings()).run_write(work)
    sentence = f"what you said of the {fact} is taken back" if undo else f"{fact} is {_value(stored)}"
    print_answer({"property": property_id, "fact": fact, "value": stored}, as_json=as_json, note=sentence)


@app.command()
def link(one: PropertyId, two: PropertyId, as_json: AsJson = False) -> None:
    """Say that two properties are one. This wins over every score, until you split them."""
    joined = overrides.link(_matching(), one, two, by=me().who)
    note = f"{one} and {two} are one property now: {joined}"
    print_answer({"property": joined}, as_json=as_json, note=note)


@app.command()
def part(one: PropertyId, two: PropertyId, as_json: AsJson = False) -> None:
    """Say that two properties are two flats. This wins over every score, until you link them."""
    overrides.part(_matching(), one, two, by=me().who)
    print_answer({"properties": [one, two]}, as_json=as_json, note=f"{one} and {two} stay two properties")


@app.command()
def unsure(one: PropertyId, two: PropertyId, as_json: AsJson = False) -> None:
    """Say that you cannot tell whether two properties are one: `review` shows them after all others."""
    overrides.leave_open(_matching(), one, two)
    print_answer({"properties": [one, two]}, as_json=as_json, note=f"{one} and {two} are asked about last")


@app.command()
def split(
    property_id: PropertyId,
    adverts: Annotated[
        list[int], typer.Argument(help="Its adverts that belong to another flat, one flat for all of them.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say that adverts are not of this property. This wins over every score, until you link them.

    `sale-sofia properties show ID` names its adverts: sale-sofia properties split 12 345 346
    """
    found = overrides.split(_matching(), property_id, adverts, by=me().who)
    print_answer({"property": found}, as_json=as_json, note=f"they are property {found} now")


@app.command()
def review(limit: Limit = LISTED, as_json: AsJson = False) -> None:
    """Show pairs of properties that may be one flat, starting where your answer settles most adverts.

    Link them, or leave them apart.
    """
    with open_ready(load_settings()).read() as connection:
        found = read_review(connection, review_queue(connection, limit=limit))
    words = ("property", "site", "advert", "neighbourhood")
    table = plain_table("Perhaps one property", words, ("€", "m²", "floor", "surely"))
    for pair in found:
        unsure_since = pair["unsure_since"]
        remarks = (
            f"{pair['probability']:.1%}",
            f"unsure since {moment(unsure_since)}" if unsure_since else "",
        )
        for property_id, advert, remark in zip(pair["properties"], pair["adverts"], remarks, strict=True):
            facts = (number(advert["price_eur"]), number(advert["area_sqm"], 1), number(advert["floor"]))
            place = (advert["site"], str(advert["listing_id"]), advert["neighbourhood"] or "?")
            table.add_row(str(property_id), *place, *facts, remark)
        table.add_section()
    ways = "`sale-sofia properties link ID ID`, `… part ID ID` or `… unsure ID ID`"
    note = f"decide with {ways}" if found else ""
    print_answer({"review": found}, table, as_json=as_json, note=note)


_ENDED: Final = {
    "done": "nothing more is worth asking for",
    "budget": "PHOTO_BUDGET is spent; more adverts bring more",
    "time": "PHOTO_SECONDS are over; call it again",
    "stopped": "it was stopped; call it again",
}


@app.command()
def photos(as_json: AsJson = False) -> None:
    """Fetch photos of adverts that may be one flat, and of shortlisted flats, and match by what they show.

    A crawl does it by itself when it ends. Photos are asked for one by one at PHOTO_RATE_PER_MINUTE.
    """
    from sale_sofia.crawl.photos.running import PhotoRun, PhotoSummary  # noqa: PLC0415 - Pillow

    matching = _matching()
    matching.match_new()
    with make_bars(log) as bars:
        task = bars.add_task("photos", total=None)

        def show(done: PhotoSummary) -> None:
            bars.update(task, completed=done.asked)

        done = PhotoRun(matching.settings, matching.database, progress=show).run()
    sentence = (
        f"{counted(done.doubts, 'pair')} of adverts in doubt, "
        f"{counted(done.asked, 'photo')} asked for, {done.kept} compared, "
        f"{done.failed} could not be had, {counted(done.moved, 'change')} of property, {done.seconds:.1f} s; "
        f"{_ENDED[done.ended]}"
    )
    print_answer(done._asdict(), as_json=as_json, note=sentence)


def match(
    full: Annotated[
        bool, typer.Option("--full", help="Match every advert again, not only what is new.")
    ] = False,
    adverts: Annotated[
        Path | None, typer.Option(help="A Parquet table of adverts to match instead of the stored ones.")
    ] = None,
    pairs: Annotated[Path | None, typer.Option(help="Where to write the pairs found in it, as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find which adverts are the same flat. A crawl does it by itself when it ends."""
    refuse((adverts is None) != (pairs is None), "--adverts and --pairs go together")
    refuse(full and adverts is not None, "--full is for the stored adverts; leave it out with --adverts")
    if adverts is not None and pairs is not None:
        written = match_file(adverts, pairs, load_settings())
        sentence = f"{counted(written.pairs, 'pair')} among {counted(written.adverts, 'advert')} in {pairs}"
        print_answer(written._asdict(), as_json=as_json, note=sentence)
        return
    matching = _matching()
    done = matching.match_all() if full else matching.match_new()
    matching.database.run_write(partial(forget_private_phones, settings=matching.settings))
    refresh_outliers(matching.database, matching.settings)
    moved = counted(done.moved, "change")
    sentence = f"{counted(done.adverts, 'advert')} matched, {moved} of property, {done.seconds:.1f} s"
    print_answer(done._asdict(), as_json=as_json, note=sentence)


def agencies(limit: Limit = LISTED, as_json: AsJson = False) -> None:
    """List who sells: adverts, portals, phones, re-posts; "private" sellers with many flats are marked."""
    settings = load_settings()
    found = open_ready(settings).run_read(partial(list_agencies, settings=settings))
    numbers = ("adverts", "properties", "re-posts", "portals")
    table = plain_table("Who sells", ("name",), numbers, "phones", "remark")
    for agency in found[:limit]:
        counts = map(str, (agency.adverts, len(agency.properties), agency.reposts, len(agency.portals)))
        phones = ", ".join(sorted(agency.phones)[:2]) + (" …" if len(agency.phones) > 2 else "")  # noqa: PLR2004
        table.add_row(agency.name, *counts, phones, agency.mark or ("private" if agency.private else ""))
    record = {"agencies": [agency.as_json() for agency in found[:limit]], "total": len(found)}
    print_answer(record, table, as_json=as_json)


def _matching() -> PropertyMatching:
    settings = load_settings()
    return PropertyMatching(settings, open_ready(settings))
