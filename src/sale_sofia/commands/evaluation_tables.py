"""What you said of properties: for people, and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.table import Table

from sale_sofia.commands.crawl_tables import moment, number
from sale_sofia.commands.tables import plain_table
from sale_sofia.data.evaluations import Change, Evaluation
from sale_sofia.data.viewings import Viewing
from sale_sofia.insights.flats import Flat


def shortlist_table(listed: Sequence[tuple[Flat, Evaluation]]) -> Table:
    """A line for each property, and why it is there."""
    table = plain_table("Shortlist", ("id", "neighbourhood"), ("rooms", "m²", "€", "renovation €"), "why")
    for flat, said in listed:
        facts = (flat.rooms, flat.area_sqm, flat.price_eur, said.renovation_eur)
        why = said.reason or ""
        offered = why if flat.offered else f"gone; {why}"
        place = flat.neighbourhood or "?"
        table.add_row(str(flat.property_id), place, *map(number, facts), offered)
    return table


def viewings_table(found: Sequence[Viewing]) -> Table:
    """A line for each viewing."""
    table = plain_table(
        "Viewings", ("viewing", "property", "when", "state"), ("minutes",), "agent, place, remarks"
    )
    for one in found:
        texts = (one.agent, one.phone, one.place, one.remarks, *_weighed(one), one.outcome)
        words = "; ".join(text for text in texts if text)
        table.add_row(
            str(one.id), str(one.property_id), moment(one.starts_at), one.state, str(one.minutes), words
        )
    return table


def evaluation_parts(told: Mapping[str, Any]) -> Iterator[str]:
    """Lines: what is so, then notes, viewings and changes, the oldest first."""
    yield f"property {told['property_id']}: {told['status']}"
    for name in ("decision", "reason", "renovation_eur"):
        if told[name] is not None:
            yield f"  {name}: {told[name]}"
    for one in told["notes"]:
        yield f"  {moment(one['written_at'])} {one['written_by']} notes: {one['text']}"
    for one in told["viewings"]:
        yield f"  viewing {one['id']}: {moment(one['starts_at'])}, {one['state']}"
    for one in told["history"]:
        what = f"viewing {one['viewing_id']} " if one["viewing_id"] else ""
        change = f"{what}{one['field']}: {_shown(one, 'old')} → {_shown(one, 'new')}"
        yield f"  {moment(one['changed_at'])} {one['changed_by']} {change}"


def history_record(change: Change) -> dict[str, Any]:
    """One change for programs."""
    return asdict(change)


def _shown(change: Mapping[str, Any], side: str) -> str:
    value = change[side]
    return moment(value) if change["field"] == "starts_at" and value is not None else str(value)


def _weighed(one: Viewing) -> list[str]:
    return [*(f"+ {text}" for text in one.positives), *(f"- {text}" for text in one.negatives)]
