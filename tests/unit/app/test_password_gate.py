"""The gate before the dashboard: nothing passes without a login, and a login is worth nothing elsewhere."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket

from sale_sofia.app.guard import COOKIE, LANGUAGE, TRUSTED, LoginClient, PasswordGate, Tries, client_at
from sale_sofia.operations.settings import (
    DASHBOARD_LOGIN_SECONDS,
    DASHBOARD_TRIES_KNOWN,
    DASHBOARD_TRY_MOST_SECONDS,
    DASHBOARD_TRY_TOGETHER_SECONDS,
)

PASSWORD = "correct horse"  # noqa: S105 - of this test
ANOTHERS = 'theme={"dark": true}'
"""A cookie of another program of the same machine: browsers send it to all ports."""
SECRET = "behind the gate"  # noqa: S105 - what must not be seen


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gate(clock: Clock) -> PasswordGate:
    return PasswordGate(_behind(), PASSWORD, clock, clock)


def _behind() -> Starlette:
    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"{SECRET} {request.url.path}")

    async def stream(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    everything = ["GET", "POST", "PUT", "DELETE"]
    return Starlette(
        routes=[WebSocketRoute("/stream", stream), Route("/{path:path}", page, methods=everything)]
    )


def ask(
    gate: PasswordGate,
    path: str = "/",
    *,
    given: str | None = None,
    cookie: str = "",
    name: str = COOKIE,
    host: str = "10.0.0.1",
) -> httpx.Response:
    """A request as a browser sends it; with `given` the form with that password."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(gate, client=(host, 5000))
        headers = {b"cookie": f"{ANOTHERS}; {name}={cookie}".encode("latin-1")} if cookie else {}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://house", headers=headers
        ) as browser:
            if given is None:
                return await browser.get(path)
            return await browser.post(path, data={"password": given})

    return asyncio.run(send())


def login(gate: PasswordGate) -> str:
    return ask(gate, given=PASSWORD).cookies[COOKIE]


@pytest.mark.parametrize("path", ["/", "/today", "/static/app.js", "/search.csv", "/flat/1/status"])
def test_nothing_is_served_without_a_login(gate: PasswordGate, path: str) -> None:
    answer = ask(gate, path)
    assert answer.status_code == 401
    assert SECRET not in answer.text
    assert "Парола" in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_only_the_health_of_the_server_is_told_to_everybody(gate: PasswordGate) -> None:
    assert ask(gate, "/healthz").text == f"{SECRET} /healthz"


def test_the_form_speaks_the_language_of_the_address(gate: PasswordGate) -> None:
    assert "<html lang='en'>" in ask(gate, "/today?lang=English").text
    assert "<label for='password'>Password</label>" in ask(gate, "/today?lang=English").text


def test_the_password_opens_the_address_that_was_asked_for(gate: PasswordGate) -> None:
    answer = ask(gate, "/property?id=7&lang=English", given=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/property?id=7&lang=English")
    cookie, known = answer.headers.get_list("set-cookie")
    for one in (cookie, known):
        assert "HttpOnly" in one
        assert "SameSite=strict" in one
        assert "Path=/" in one
        assert PASSWORD not in one
    assert "max-age" not in cookie.lower()
    assert "expires" not in cookie.lower()
    assert known.startswith(f"{TRUSTED}=")
    assert ask(gate, "/property", cookie=answer.cookies[COOKIE]).text == f"{SECRET} /property"


@pytest.mark.parametrize("path", ["//evil.example/x", "///evil.example/x", "/%5Cevil.example/x"])
def test_no_address_leads_to_another_host(gate: PasswordGate, path: str) -> None:
    where = ask(gate, f"http://house{path}", given=PASSWORD).headers["location"]
    assert where in {"/evil.example/x", "/%5Cevil.example/x"}


def test_a_login_ends(gate: PasswordGate, clock: Clock) -> None:
    cookie = login(gate)
    clock.now += DASHBOARD_LOGIN_SECONDS - 1
    assert ask(gate, cookie=cookie).status_code == 200
    clock.now += 1
    assert ask(gate, cookie=cookie).status_code == 401


def test_a_login_cannot_be_made_lengthened_or_used_at_another_server(
    gate: PasswordGate, clock: Clock
) -> None:
    answer = ask(gate, given=PASSWORD)
    until, nonce, signature = answer.cookies[COOKIE].split(".")
    other = login(gate).split(".")
    flipped = [
        f"{until}.{nonce}.{signature[:place]}{int(signature[place], 16) ^ 1:x}{signature[place + 1 :]}"
        for place in range(len(signature))
    ]
    forged = [
        *flipped, answer.cookies[TRUSTED], f"{until}.{answer.cookies[TRUSTED]}", f"none.{until}.{nonce}.",
        f"{until}.{other[1]}.{signature}", f"{until}.{nonce}.{other[2]}", f"{nonce}.{until}.{signature}",
        f"{until}.{nonce}.{signature.upper()}", f"{until}.{nonce}.{signature}0", f"{until}.{nonce}.\xff",
        f"{until}.{nonce}.{signature}.{signature}", f"9{until}.{nonce}.{signature}", f"x.{nonce}.{signature}",
        "", ".", "..", "x", f"{until}.{nonce}", f"{int(until) + 1}.{nonce}.{signature}",
        f"{until}.{nonce}.{'0' * 64}", f"{until}.{nonce}.{signature[:-1]}", f".{signature}",
        f"{until}..{signature}",
    ]  # fmt: skip
    assert [ask(gate, cookie=one).status_code for one in forged] == [401] * len(forged)
    another = PasswordGate(_behind(), PASSWORD, clock, clock)
    assert ask(another, cookie=f"{until}.{nonce}.{signature}").status_code == 401


def test_wrong_passwords_are_slowed_and_the_right_one_waits_too(gate: PasswordGate, clock: Clock) -> None:
    answer = ask(gate, given="wrong horse")
    assert (answer.status_code, "Паролата не е вярна." in answer.text) == (401, True)
    assert "set-cookie" not in answer.headers
    for wait in (1, 2, 4):
        answer = ask(gate, given=PASSWORD)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, str(wait))
        assert "set-cookie" not in answer.headers
        clock.now += wait
        assert ask(gate, given="wrong horse").status_code == 401
    clock.now += 8
    assert ask(gate, given=PASSWORD).status_code == 303
    assert ask(gate, given="wrong horse").headers.get("retry-after") is None


def test_a_form_of_a_page_is_no_try_of_a_password(gate: PasswordGate) -> None:
    async def send(fields: dict[str, str]) -> httpx.Response:
        transport, cookies = httpx.ASGITransport(gate), {LANGUAGE: "en"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://house", cookies=cookies
        ) as browser:
            return await browser.post("/flat/1/note", data=fields)

    for fields in ({"text": "sunny"}, {"address": "a@b.example", "password": "of a mailbox"}):
        answer = asyncio.run(send(fields))
        assert (answer.status_code, "You are not signed in, so nothing was stored." in answer.text) == (
            401,
            True,
        )
    assert asyncio.run(send({"password": PASSWORD})).status_code == 303


def test_of_many_tries_at_once_one_is_looked_at(gate: PasswordGate) -> None:
    async def storm() -> list[int]:
        transport = httpx.ASGITransport(gate, client=("10.0.0.1", 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://house") as browser:
            tries = [browser.post("/", data={"password": f"guess {n}"}) for n in range(50)]
            return [answer.status_code for answer in await asyncio.gather(*tries)]

    assert sorted(asyncio.run(storm())) == [401] + [429] * 49


def test_an_endless_password_is_a_wrong_one(gate: PasswordGate) -> None:
    assert ask(gate, given="x" * 100_000).status_code == 401


def test_a_socket_is_not_opened_without_a_login(gate: PasswordGate) -> None:
    assert _socket(gate, "") == "websocket.close"
    assert _socket(gate, login(gate)) == "websocket.accept"


def _socket(gate: PasswordGate, cookie: str) -> str:
    """The first thing a socket of this cookie hears."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"cookie", f"{COOKIE}={cookie}".encode())]
    scope = {
        "type": "websocket",
        "path": "/stream",
        "headers": headers,
        "query_string": b"",
        "subprotocols": [],
    }
    asyncio.run(gate(scope, receive, send))
    return str(sent[0]["type"])


@pytest.mark.slow
def test_many_addresses_are_slowed_down_together_but_never_for_long(gate: PasswordGate, clock: Clock) -> None:
    known = ask(gate, given=PASSWORD).cookies[TRUSTED]
    looked_at = 0
    for number in range(600):
        answer = ask(gate, given="wrong horse", host=f"10.1.{number >> 8}.{number & 255}")
        looked_at += answer.status_code == 401
        clock.now += 0.1
    assert looked_at == 9  # after 0, 1, 3, 7, 15 and then every 10 seconds
    owner = ask(gate, given=PASSWORD, host="10.0.0.2")
    assert owner.status_code == 429
    assert int(owner.headers["retry-after"]) <= DASHBOARD_TRY_TOGETHER_SECONDS
    assert ask(gate, given=PASSWORD, host="10.0.0.2", cookie=f"{known}0", name=TRUSTED).status_code == 429
    # A browser that has been here before waits for its own wrong tries alone.
    assert ask(gate, given="wrong horse", host="10.0.0.2", cookie=known, name=TRUSTED).status_code == 401
    assert ask(gate, given=PASSWORD, host="10.0.0.2", cookie=known, name=TRUSTED).status_code == 429
    clock.now += 1
    assert ask(gate, given=PASSWORD, host="10.0.0.2", cookie=known, name=TRUSTED).status_code == 303
    clock.now += DASHBOARD_TRY_TOGETHER_SECONDS
    assert ask(gate, given=PASSWORD, host="10.0.0.2").status_code == 303


def test_pauses_double_up_to_a_most_and_old_tries_are_forgotten(clock: Clock) -> None:
    tries, waits, one = Tries(clock), [], client_at("10.0.0.1")
    for _ in range(12):
        tries.note_wrong(one)
        waits.append(tries.wait_of(one))
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == DASHBOARD_TRY_MOST_SECONDS
    clock.now += 3600
    tries.note_wrong(one)
    assert tries.wait_of(one) == 1


def test_one_household_is_one_sender() -> None:
    assert client_at("2001:db8:1:2::1") == client_at("2001:db8:1:2:ffff::9") != client_at("2001:db8:1:3::1")
    assert client_at("::ffff:10.0.0.1") == client_at("10.0.0.1") != client_at("::ffff:10.0.0.2")
    assert client_at("x" * 60_000) == client_at("unknown") == client_at("")


def test_many_senders_cannot_fill_the_memory(clock: Clock) -> None:
    tries, first = Tries(clock), LoginClient("first", trusted=True)
    tries.note_wrong(first)
    for number in range(DASHBOARD_TRIES_KNOWN - 1):
        tries.note_wrong(LoginClient(str(number), trusted=True))
    assert tries.wait_of(first) == 1
    tries.note_wrong(LoginClient("one more", trusted=True))
    assert tries.wait_of(first) == 0
