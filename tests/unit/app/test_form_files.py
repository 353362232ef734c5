"""The fields and files of a form that has files, as browsers send them."""

from sale_sofia.app.application import parts_of

TYPE = 'multipart/form-data; boundary="----x1"'


def form(*parts: bytes) -> bytes:
    return b"".join(b"------x1\r\n" + part + b"\r\n" for part in parts) + b"------x1--\r\n"


def file(content: bytes, name: bytes = b'filename="a.jpg"') -> bytes:
    head = b'Content-Disposition: form-data; name="photos"; ' + name + b"\r\nContent-Type: image/jpeg\r\n\r\n"
    return head + content


FIELD = 'Content-Disposition: form-data; name="back"\r\n\r\n/flat/1?да'.encode()


def test_every_byte_of_a_file_is_as_it_was_sent() -> None:
    odd = [b"\r\n\r\n\r\n", b"--x1\r\n----x", bytes(range(256)) * 3, b"\r\n"]
    fields, files = parts_of(form(FIELD, *map(file, odd)), TYPE)
    assert (fields, files) == ({"back": "/flat/1?да"}, odd)


def test_a_file_that_was_not_chosen_is_none_and_its_name_is_nothing() -> None:
    assert parts_of(form(file(b"", b'filename=""'), file(b"x", b'filename="../../etc/passwd"')), TYPE) == (
        {},
        [b"x"],
    )


def test_what_is_no_such_form_has_neither() -> None:
    for body, kind in (
        (b"a=1", "application/x-www-form-urlencoded"),
        (form(FIELD), ""),
        (form(FIELD), "multipart/form-data"),
        (b"", TYPE),
        (b"------x1", TYPE),
        (form(FIELD), "multipart/form-data; boundary=other"),
        (b"\r\n\0\xff", "multipart/form-data; boundary=\r\nx"),
    ):
        assert parts_of(body, kind) == ({}, []), (body, kind)
