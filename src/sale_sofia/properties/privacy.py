"""Phones of private people are kept while their advert is offered; afterwards a hash that still matches."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from sale_sofia.config.settings import Settings
from sale_sofia.data.agencies import ended_private_adverts, phone_changes, save_phone_change, save_phones
from sale_sofia.properties.fingerprint import HASHED_PHONE, hashed_phone
from sale_sofia.properties.secret import load_secret


def forget_private_phones(connection: Connection, settings: Settings) -> int:
    """Hash the phones of private adverts that have ended, there and in their history; how many adverts."""
    if settings.private_phones_kept:
        return 0
    secret = load_secret(settings.data_dir)
    forgotten = 0
    for row in ended_private_adverts(connection):
        history = _hash_history(connection, row["id"], secret)
        if any(_is_open(phone) for phone in row["phones"]):
            save_phones(connection, row, _hashed(secret, row["phones"]))
            history = True
        forgotten += history
    return forgotten


def _hash_history(connection: Connection, listing_id: int, secret: bytes) -> bool:
    changed = False
    for change in phone_changes(connection, listing_id):
        values = [_hashed(secret, change[side] or []) for side in ("old", "new")]
        if values != [change["old"] or [], change["new"] or []]:
            save_phone_change(connection, change["id"], *values)
            changed = True
    return changed


def _hashed(secret: bytes, phones: Sequence[Any]) -> list[str]:
    return [hashed_phone(secret, phone) if _is_open(phone) else phone for phone in phones]


def _is_open(phone: str) -> bool:
    return not phone.startswith(HASHED_PHONE)
