"""A refused form comes back with what was typed into it."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from web_pages import Browser, form_fields

ADVERTS = [{"deal": "sale", "property_type": "apartment", "city": "София", "price_eur": 100_000.0}] * 2
LONG = "я" * 1001


def sent(who: Browser, action: str, fields: dict[str, str]) -> str:
    answer = who.post(action, data=fields, headers={"origin": str(who.base_url).rstrip("/")})
    alerts = LexborHTMLParser(answer.text).css('[role="alert"]')
    assert len(alerts) == 1, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("action", "typed"),
    [
        (
            "/flat/1/viewing",
            {"day": "31.02.2030", "hour": "25:00", "agent": "Иван", "phone": "1", "remarks": 'to "see"'},
        ),
        ("/flat/1/viewing/1", {"state": "done", "was_state": "planned", "positive": "sun", "negative": LONG}),
        (
            "/flat/1/decision",
            {
                "status": "contacted",
                "reason": "quiet",
                "renovation": "much",
                "was_status": "shortlist",
                "was_reason": "noisy",
                "was_renovation": "9",
            },
        ),
        ("/flat/1/correct", {"fact": "floor", "value": "ten"}),
    ],
)
def test_the_page_of_a_flat_gives_a_refused_form_back(
    ana: Browser, action: str, typed: dict[str, str]
) -> None:
    ana.fill("/flat/1/viewing", day="1.12.2030", hour="10:00")
    page = sent(ana, action, typed | {"back": "/flat/1#diary"})
    assert form_fields(page, f'form[action="{action}"]') == typed | {
        "back": "/flat/1#facts" if action.endswith("correct") else "/flat/1#diary"
    }
    assert ana.text("/flat/1").count("sun") == 0  # nothing was written


def test_a_refused_note_is_given_back(ana: Browser) -> None:
    text = "много " * 4000
    page = sent(ana, "/flat/1/note", {"text": text, "back": "/flat/1?lang=en#diary"})
    (field,) = LexborHTMLParser(page).css("textarea[name=text]")
    assert field.text() == text
    assert not LexborHTMLParser(ana.html("/flat/1")).css("textarea[name=text]")[0].text()


def test_the_agenda_gives_a_refused_form_back(ana: Browser) -> None:
    for number in (1, 2):
        ana.fill(f"/flat/{number}/status", status="shortlist")
    typed = {"flat": "2", "day": "31.02.2030", "hour": "10:00", "agent": "Иван", "phone": "1"}
    typed |= {"place": "пред входа", "remarks": "x", "back": "/agenda"}
    assert form_fields(sent(ana, "/agenda/add", typed), 'form[action="/agenda/add"]') == typed
    ana.fill("/agenda/add", **typed | {"day": "1.12.2030"})
    moved = {"day": "2.12.2030", "hour": "25:00", "back": "/agenda"}
    page = sent(ana, "/flat/2/viewing/1", moved)
    assert form_fields(page, 'details[open] form[action="/flat/2/viewing/1"]') == moved


def test_the_board_gives_a_refused_day_back(ana: Browser) -> None:
    ana.fill("/flat/1/status", status="shortlist")
    typed = {"decide_by": "31.02.2030", "back": "/mine"}
    page = sent(ana, "/flat/1/decide_by", typed)
    assert form_fields(page, 'details[open] form[action="/flat/1/decide_by"]') == typed
