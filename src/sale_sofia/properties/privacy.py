"""Phones of private people are kept while their advert is offered; afterwards a hash that still matches."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

from sale_sofia.config.settings import Settings
from sale_sofia.data.agencies import (
    ended_phone_changes,
    ended_private_phones,
    save_phone_change,
    save_phones,
)
from sale_sofia.properties.fingerprint import HASHED_PHONE, hashed_phone
from sale_sofia.properties.secret import load_secret


def forget_private_phones(connection: Connection, settings: Settings) -> int:
    """Hash the phones of private adverts that have ended, there and in their history; how many adverts."""
    if settings.private_phones_kept:
        return 0
    secret = load_secret(settings.data_dir)
    return len({*_hash_phones(connection, secret), *_hash_history(connection, secret)})


def _hash_phones(connection: Connection, secret: bytes) -> Iterator[int]:
    for listing_id, phones in ended_private_phones(connection).items():
        if any(map(_is_open, phones)):
            save_phones(connection, listing_id, _hashed(secret, phones))
            yield listing_id


def _hash_history(connection: Connection, secret: bytes) -> Iterator[int]:
    for change in ended_phone_changes(connection):
        values = [change[side] or [] for side in ("old", "new")]
        if any(_is_open(phone) for phones in values for phone in phones):
            save_phone_change(connection, change["id"], *(_hashed(secret, phones) for phones in values))
            yield change["listing_id"]


def _hashed(secret: bytes, phones: Sequence[Any]) -> list[str]:
    return [hashed_phone(secret, phone) if _is_open(phone) else phone for phone in phones]


def _is_open(phone: str) -> bool:
    return not phone.startswith(HASHED_PHONE)
