"""The fields of a table, read from a page or from one card of it."""

from collections.abc import Mapping

from sale_sofia.config.site_links import FieldTable, Link
from sale_sofia.listings.normalise import read_seen
from sale_sofia.listings.raw import RawField
from sale_sofia.websites.base import CardReading
from sale_sofia.websites.document import Card, Document, Texts


def read_fields(
    document: Document, tables: Mapping[str, FieldTable], card: Card | None = None
) -> dict[str, RawField]:
    """Every field of which some link finds a text."""
    fields: dict[str, RawField] = {}
    for name, table in tables.items():
        if field := _read_field(document, table, card):
            fields[name] = field
    return fields


def read_card(document: Document, tables: Mapping[str, FieldTable], card: Card) -> CardReading:
    """What a card says, and how its fields were found."""
    facts, seen = read_seen(read_fields(document, tables, card))
    return CardReading({name: value for name, value in facts.items() if value is not None}, seen)


def first_text(document: Document, links: tuple[Link, ...]) -> str | None:
    """The first text of the first link that finds one."""
    return next((texts[0] for link in links if (texts := document.texts(link))), None)


def _read_field(document: Document, table: FieldTable, card: Card | None) -> RawField | None:
    for number, link in enumerate(table.links):
        if texts := document.texts(link, card):
            return RawField(texts, number, *table.parser, _confirmations(document, table, card))
    return None


def _confirmations(document: Document, table: FieldTable, card: Card | None) -> tuple[Texts, ...]:
    if not table.agree:
        return ()
    return tuple(filter(None, (document.texts(other, card) for other in table.agree)))
