"""Nothing from a portal is trusted: texts, addresses and exported cells."""

from sale_sofia.app import formatting
from sale_sofia.app.application import environment, own_address
from sale_sofia.listings import text
from sale_sofia.listings.settings import LONGEST_TITLE
from tables import each_row

RIGHT_TO_LEFT = "\N{RIGHT-TO-LEFT OVERRIDE}"


@each_row(
    ("given", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('" onerror="alert(1)', "&quot; onerror=&quot;alert(1)"),
        ("it's", "it&#x27;s"),
        (f"a{RIGHT_TO_LEFT}b", "ab"),
        ("a\u2066b\u2069\u200fc", "abc"),
        ("два\nреда\tи\x00край", "два реда икрай"),
        ("а" + "\u0301" * 50 + "б", "а\u0301\u0301б"),
        ("  много   място ", "много място"),
    ],
)
def test_html_means_nothing(given: str, shown: str) -> None:
    assert text.html(given) == shown


def test_a_hundred_kilobytes_are_cut() -> None:
    cut = text.plain("я" * 100_000)
    assert (len(cut), cut[-2:]) == (LONGEST_TITLE, "я…")
    assert len(formatting.paragraphs("ред\n" * 50_000)) <= 20_000


def test_paragraphs_keep_their_lines() -> None:
    assert formatting.paragraphs("едно\r\n<b>две</b>\n\n\n\nтри") == "едно\n<b>две</b>\n\nтри"


def test_what_templates_are_given_is_escaped() -> None:
    page = environment().from_string("<p title='{{ text }}'>{{ text }}</p>").render(text="<b>\"'&")
    assert page == "<p title='&lt;b&gt;&#34;&#39;&amp;'>&lt;b&gt;&#34;&#39;&amp;</p>"


@each_row(
    ("url", "allowed"),
    [
        ("https://www.imot.bg/obiava-1", True),
        ("http://bazar.bg/x?a=1#b", True),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("HTTPS://imot.bg/ ", True),
        ("//imot.bg/x", False),
        ("https://", False),
        ("https://user:secret@imot.bg/", False),
        ("https://imot.bg/\nx", False),
        (f"https://imot.bg/{RIGHT_TO_LEFT}gpj.exe", False),
        ("https://imot.bg\\@evil/", False),
        ("http://[bad", False),
        ("https://imot.bg/" + "x" * 3000, False),
        (None, False),
    ],
)
def test_only_plain_web_addresses_are_links(url: str | None, allowed: bool) -> None:  # noqa: FBT001
    assert text.address(url) == (url.strip() if allowed and url else None)


@each_row("sign", ["=", "+", "-", "@", "|", "%", "＝"])
def test_no_cell_is_a_formula(sign: str) -> None:
    assert formatting.cell(f"{sign}cmd|'/c calc'!A1") == f"'{sign}cmd|'/c calc'!A1"
    assert formatting.cell(f"\t {sign}1") == f"'{sign}1"


def test_numbers_and_plain_texts_stay_as_they_are() -> None:
    assert [formatting.cell(value) for value in (-5.0, 3, None, "дом - 3")] == [-5.0, 3, None, "дом - 3"]


@each_row(
    ("given", "address"),
    [
        ("/flat/5?own=30#diary", "/flat/5?own=30#diary"),
        ("/mine", "/mine"),
        ("//evil.example/x", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("https://evil.example/x", "/"),
        ("", "/"),
    ],
)
def test_a_form_leads_back_to_its_place_on_a_page_of_ours(given: str, address: str) -> None:
    assert own_address(given) == address
