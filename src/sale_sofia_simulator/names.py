"""Invented people, firms, streets and headlines. None of them is meant to exist."""

from random import Random

from sale_sofia_simulator.text import slug

_FIRM_FIRST = (
    "КАМЕНЕН ТАРАЛЕЖ", "СКЪРЦАЩ ПРАГ", "КЕРЕМИДЕНО ПТИЧЕ", "ТРИ ЩЪРКЕЛА", "СМЕЕЩ ОРЕХ", "ЛЕТЯЩА МАНСАРДА",
    "СЕДЕМ КЛЮЧА", "БЯЛ БАЛКОН", "ЧЕРВЕН ПОКРИВ", "ДРЕМЕЩ ДВОР", "ПЪРВИ СТЪПАЛА", "СИНЯ ЖАБА", "ДОБЪР ПРАГ",
    "ЗЕЛЕНА ВРАТА", "ЮЖЕН КОМИН", "ПЕТ СТАИ",
)  # fmt: skip
_FIRM_SECOND = ("ИМОТИ", "ДОМ", "ЕСТЕЙТ", "КОНСУЛТ", "ХАУС", "БРОКЕРИ", "ИНВЕСТ")
_BUILDER_SECOND = ("СТРОЙ", "БИЛД", "ИНВЕСТМЪНТ", "ГРУП")
_GIVEN = (
    "Велимира",
    "Стоил",
    "Ралица",
    "Дарин",
    "Снежа",
    "Калоян",
    "Тихомир",
    "Лазарина",
    "Найден",
    "Ефросина",
)
_FAMILY = ("Примеров", "Тестов", "Образцов", "Мостров", "Макетов", "Скицов")
_STREETS = (
    "ул. Сребърна липа", "ул. Тиха роса", "ул. Пъстра птица", "ул. Каменна чешма", "ул. Синя люлка",
    "ул. Ябълков цвят", "бул. Широка поляна", "бул. Дълъг мост", "ул. Орехова сянка", "ул. Медена пита",
    "ул. Стара воденица", "ул. Кривата круша", "бул. Южна дъга", "ул. Бяла череша", "ул. Горска ягода",
)  # fmt: skip
_HEADLINES = (
    "Снежният човек на площада се превърна в градинска чешма",
    "Откриха забравен куфар с ноти в стара библиотека",
    "Таралеж забави трамвай с цели седем минути",
    "Нова пекарна раздава по една кифла на всеки усмихнат",
)


def firm(rng: Random, *, builder: bool = False) -> str:
    """An agency's or a developer's name in capitals."""
    return f"{rng.choice(_FIRM_FIRST)} {rng.choice(_BUILDER_SECOND if builder else _FIRM_SECOND)}"


def handle(name: str) -> str:
    """The name of a firm's subdomain."""
    return slug(name).replace("-", "")


def person(rng: Random) -> str:
    """A broker's name."""
    given = rng.choice(_GIVEN)
    return f"{given} {rng.choice(_FAMILY)}{'а' if given.endswith('а') else ''}"


def given_name(rng: Random) -> str:
    """The first name under which a private user writes."""
    return rng.choice(_GIVEN)


def street(rng: Random) -> str:
    """A street or a boulevard with its prefix."""
    return rng.choice(_STREETS)


def headline(rng: Random) -> str:
    """A piece of news between the adverts."""
    return rng.choice(_HEADLINES)


def mobile(rng: Random) -> str:
    """A valid Bulgarian mobile number in national digits."""
    return f"0888000{rng.randrange(1000):03d}"


def grouped(phone: str) -> str:
    """The same number as people write it: 0888 000 123."""
    return f"{phone[:4]} {phone[4:7]} {phone[7:]}"
