"""The blocks of an imot.bg advert that say who offers it."""

from sale_sofia.simulator.model import Seller
from sale_sofia.simulator.names import grouped
from sale_sofia.simulator.pieces import fill

_KINDS = {"agency": "Агенция", "developer": "Инвеститор"}
_PRIVATE = "/Частно лице/"
_PRIVATE_ONLY = '<br><span style="font-size:12px;">Този имот се предлага само на частни лица</span>'
_RUBRICS = (
    ("prodazhbi", "Продава"),
    ("naemi", "Дава под наем"),
    ("kupuva", "Купува"),
    ("tarsi-da-naeme", "Наема"),
)
_MEDALS = "ybrp"


def contacts(seller: Seller, *, private_only: bool) -> str:
    """The contact line, then the broker's block before the firm's; a private person has only the line."""
    line = fill(
        "imot_contact",
        phones=plain_phones(seller),
        private=_PRIVATE if seller.kind == "private" else "",
        note=_PRIVATE_ONLY if private_only else "",
    )
    if seller.kind == "private":
        return line
    return line + (_broker(seller) if seller.broker else "") + _firm(seller)


def dealer(seller: Seller) -> str:
    """The firm's box beside the advert; nothing for a private person."""
    if seller.kind == "private":
        return ""
    return fill(
        "imot_dealer", handle=seller.handle, name=seller.name, address=seller.address, **_medal(seller)
    )


def private_line(seller: Seller) -> str:
    """The remark after the telephone of a private person."""
    return f"{_PRIVATE}<br>" if seller.kind == "private" else ""


def plain_phones(seller: Seller) -> str:
    """The numbers without spaces, a semicolon between two."""
    return "; ".join(seller.phones)


def _broker(seller: Seller) -> str:
    return fill(
        "imot_broker",
        broker=seller.broker,
        phones=_spoken_phones(seller),
        handle=seller.handle,
        number=f"14{seller.user:015d}",
    )


def _firm(seller: Seller) -> str:
    rubrics = " | ".join(
        f'<a href="https://{seller.handle}.imot.bg/obiavi/{rubric}">{word}</a>' for rubric, word in _RUBRICS
    )
    return fill(
        "imot_firm",
        kind=_KINDS[seller.kind],
        name=seller.name,
        phones=_spoken_phones(seller),
        handle=seller.handle,
        rubrics=rubrics,
        address=seller.address,
        **_medal(seller),
    )


def _spoken_phones(seller: Seller) -> str:
    return "; ".join(grouped(phone) for phone in seller.phones)


def _medal(seller: Seller) -> dict[str, object]:
    return {"since": seller.since, "medal": _MEDALS[seller.since % len(_MEDALS)]}
