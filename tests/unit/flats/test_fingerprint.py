import stat
from pathlib import Path

import pytest

from property_worlds import OWN_WORDS, SECRET, advert, adverts_of
from sale_sofia.flats.matching.fingerprint import (
    PropertyFingerprinter,
    addresses,
    agency_key,
    hashed_phone,
    house_key,
    load_secret,
    phone_hash,
    photo_names,
    references,
    sketch,
)
from sale_sofia.flats.settings import SECRET_FILE
from tables import each_row


def test_a_phone_and_its_hash_are_the_same_to_the_matcher() -> None:
    assert phone_hash(SECRET, "+359888000111") == phone_hash(SECRET, hashed_phone(SECRET, "+359888000111"))
    assert phone_hash(SECRET, "+359888000111") != phone_hash(SECRET, "+359888000112")
    assert phone_hash(SECRET, "+359888000111") != phone_hash(b"another", "+359888000111")
    assert "888000111" not in hashed_phone(SECRET, "+359888000111")


def test_equal_adverts_give_equal_records_in_whatever_order_things_are_printed() -> None:
    photos = [f"https://x/photo-name-{n}.jpg" for n in range(9)]
    phones = ["+359888000111", "+359888000222"]
    one = advert("n", photo_urls=photos, phones=phones, description=OWN_WORDS)
    two = advert("n", photo_urls=photos[::-1], phones=phones[::-1], description=OWN_WORDS.upper())
    records = PropertyFingerprinter(SECRET).fingerprints([one.model_dump(), two.model_dump()])
    assert records[0].tobytes() == records[1].tobytes()


def test_numbers_in_a_text_say_nothing() -> None:
    assert (sketch(f"{OWN_WORDS} Въведен в експлоатация 2008 г.") == sketch(f"{OWN_WORDS} 1972")).all()


def test_a_record_survives_its_bytes() -> None:
    adverts = adverts_of([advert("one"), advert("two", floor=None, price_eur=None)])
    again = type(adverts).of_bytes(adverts.ids.tolist(), [one.tobytes() for one in adverts.packed()])
    assert again.packed().tobytes() == adverts.packed().tobytes()


@each_row(
    ("name", "key"),
    [
        ("СЕДЕМ КЛЮЧА", "седемключа"),
        ('Агенция за имоти "Седем Ключа" ЕООД', "заседемключа"),
        ("Седем ключа 02/8000100 0888000123", "седемключа"),
        ("Имоти", "имоти"),
        (None, None),
    ],
)
def test_agencies_are_named_without_what_all_are_called(name: str | None, key: str | None) -> None:
    assert agency_key(name, "agency") == key
    assert agency_key(name, "private") is None


def test_sisters_are_of_one_house() -> None:
    assert house_key("suprimmo") == house_key("luximmo") == house_key("property")
    assert house_key("седемключа") == "седемключа"


@each_row(
    ("text", "found"),
    [
        ("Оферта SOF-134584, обадете се.", ["SOF-134584"]),
        ("Реф. № 123456. Имот с характер.", ["седемключа:123456"]),
        ("Референтен номер: 7788", ["седемключа:7788"]),
        ("Код на имота: АБ-55667", ["АБ-55667"]),
        ("ОФЕРТА-82857, без комисиона", ["седемключа:82857"]),
        ("Код оферта; 31117", ["седемключа:31117"]),
        ("Реф. номер: 143\nТих дом", ["седемключа:143"]),
        ("Оферта 185000 €", []),
        ("Пощенски код 1618, тел. 0888 123 456, цена 123456 €", []),
        ("", []),
    ],
)
def test_references_in_words(text: str, found: list[str]) -> None:
    assert references(advert("n").model_dump(), "седемключа", text) == found


@each_row(
    ("text", "count"),
    [
        ("На ул. Липа 7 и ул. Орех 9А, срещу парка.", 2),
        ("На ул. Липа, на 7 минути от парка; бул. Орех с акт 16", 0),
        ("На ул. Липа 7 кв.м. тераса, ул. Орех 2-ри етаж, ул. Бор 185 000 €", 0),
        ("Дом в блок 307, до бл. 12", 2),
    ],
)
def test_addresses_in_words(text: str, count: int) -> None:
    assert len(addresses(advert("n").model_dump(), text)) == count


def test_a_reference_in_the_title_counts() -> None:
    rows = [advert("n", **{name: "Оферта SOF-134584"}).model_dump() for name in ("title", "description")]
    in_title, in_text = PropertyFingerprinter(SECRET).fingerprints(rows)["references"].tolist()
    assert in_title == in_text != [0, 0]


def test_a_bare_number_without_an_agency_is_no_reference() -> None:
    assert references(advert("n").model_dump(), None, "Реф. № 123456") == []


def test_the_secret_is_made_once_and_for_the_owner_alone(tmp_path: Path) -> None:
    made = load_secret(tmp_path / "data")
    assert (len(made), load_secret(tmp_path / "data")) == (32, made)
    assert stat.S_IMODE((tmp_path / "data" / SECRET_FILE).stat().st_mode) == 0o600
    assert [one.name for one in (tmp_path / "data").iterdir()] == [SECRET_FILE]
    (tmp_path / "data" / SECRET_FILE).write_bytes(b"short")
    with pytest.raises(ValueError, match="not a key of 32 bytes; restore the file, or delete it"):
        load_secret(tmp_path / "data")


def test_what_is_no_address_of_a_photo_is_passed_over() -> None:
    urls = [
        "https://[bad/0123456789abcdef.jpg",
        "https://cdn.example/a/fedcba9876543210.webp?w=1",
        "https://x",
    ]
    assert photo_names(urls) == ["fedcba9876543210"]
