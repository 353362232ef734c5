import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from aiohttp import web

from sale_sofia.crawl.fetch.base import Request
from sale_sofia.crawl.fetch.client import CurlFetcher
from sale_sofia.crawl.fetch.robots import READ_BYTES, RobotsGate, without_others
from tables import each_row
from unit.crawl.fetch.portal import Handler, Portal, fetcher, free_port, page, portal, redirects
from unit.proxies.challenging import Escorted

RULES = b"""\xef\xbb\xbfUser-agent: *
Disallow: /pcgi/
Allow: /pcgi/open
Crawl-delay: 2.5

User-agent: other-bot
Disallow: /
"""


PATIENCE = 60.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def gate(client: CurlFetcher, log: Portal, clock: Clock | None = None) -> RobotsGate:
    def make(url: str) -> Request:
        assert url == log.url("/robots.txt")
        return log.request("/robots.txt", timeout=1, max_bytes=2_000_000)

    return RobotsGate(client, make, "sale-sofia", 100, 10, clock=clock or Clock())


def ask(handler: Handler, question: Callable[[RobotsGate, Portal], Awaitable[object]]) -> object:
    async def run() -> object:
        async with portal(handler) as log, fetcher() as client:
            return await question(gate(client, log), log)

    return asyncio.run(run())


def allowed(handler: Handler, path: str = "/pcgi/x") -> bool:
    return bool(ask(handler, lambda robots, log: robots.allowed(log.url(path))))


def status(code: int, text: str = "User-agent: *\nDisallow: /") -> Handler:
    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=code, text=text)

    return answer


@pytest.mark.parametrize(
    ("path", "expected"), [("/obiava", True), ("/pcgi/imot.cgi?act=5", False), ("/pcgi/open", True)]
)
def test_rules_are_obeyed(path: str, expected: bool) -> None:  # noqa: FBT001
    assert allowed(page(RULES), path) is expected


@pytest.mark.parametrize(
    ("rules", "delay"), [(RULES, 2.5), (b"User-agent: *\nCrawl-delay: soon", None), (b"", None)]
)
def test_the_delay_is_read(rules: bytes, delay: float | None) -> None:
    assert ask(page(rules), lambda robots, log: robots.crawl_delay(log.url("/"))) == delay


@dataclass
class ByTheRules(Escorted):
    """Asks the rules of the gate, as an escort of a crawl does."""

    robots: RobotsGate | None = None

    async def allows(self, url: str) -> bool:
        assert self.robots is not None
        return await self.robots.allowed(url, self)


@pytest.mark.parametrize(("rules", "expected"), [("", True), ("User-agent: *\nDisallow: /pcgi/", False)])
def test_a_file_that_stands_elsewhere_on_its_portal_is_fetched_without_asking_itself(
    rules: str,
    expected: bool,  # noqa: FBT001
) -> None:
    async def question(robots: RobotsGate, log: Portal) -> bool:
        return await robots.allowed(log.url("/pcgi/x"), ByTheRules(robots=robots))

    async def answer(asked: web.BaseRequest) -> web.StreamResponse:
        if asked.path == "/robots.txt":
            return web.Response(status=301, headers={"Location": "/bg/robots.txt"})
        return web.Response(text=rules)

    async def in_time(robots: RobotsGate, log: Portal) -> bool:
        return await asyncio.wait_for(question(robots, log), PATIENCE)

    assert ask(answer, in_time) is expected


@each_row(
    ("code", "expected"), [(404, True), (403, True), (410, True), (429, False), (500, False), (503, False)]
)
def test_no_file_allows_all_and_a_fault_allows_nothing(code: int, expected: bool) -> None:  # noqa: FBT001
    assert allowed(status(code)) is expected


@pytest.mark.parametrize(
    "body", [b"\x89PNG\0\nUser-agent: *\nDisallow: /", b"<html><p>hello</p></html>", b"\xff\xfe\xfd"]
)
def test_what_is_no_text_holds_no_rules(body: bytes) -> None:
    assert allowed(page(body))


def test_redirects_are_followed_and_too_many_are_no_file() -> None:
    async def moved(asked: web.BaseRequest) -> web.StreamResponse:
        if asked.path == "/robots.txt":
            return web.Response(status=301, headers={"Location": "/r.txt"})
        return web.Response(body=RULES)

    assert not allowed(moved)
    assert allowed(redirects({"/robots.txt": "/robots.txt"}))


def test_only_the_first_half_megabyte_counts() -> None:
    head = b"User-agent: *\nDisallow: /first\n"
    filler = b"# comment\n" * (READ_BYTES // 10)
    cut = b"\nDisallow: /"
    rules = (head + filler)[: READ_BYTES - len(cut)] + cut + b"last"
    assert len(rules) > READ_BYTES
    assert not allowed(page(rules), "/first")
    assert allowed(page(rules), "/last")
    assert allowed(page(rules), "/other")


def test_everybody_else_has_one_name() -> None:
    names = ["a1", "useragent-2", "Sale", "*", "**", "b*", "sale-sofia*", "sale-sofia-2", ""]
    told = "".join(f"User-agent: {name} # why\nUSER AGENT {name}\n useragent:{name}\n" for name in names)
    left = without_others(f"{told}Disallow: /x\u2028User-agent: c", "sale-sofia").splitlines()
    kept = [line for line in left if line != "User-agent: somebody-else"]
    assert len(left) == 3 * len(names) + 2
    assert [line for line in kept if "# why" in line or "/x" in line] == [
        "User-agent: Sale # why", "User-agent: * # why", "User-agent: sale-sofia* # why", "Disallow: /x",
    ]  # fmt: skip
    assert len(kept) == 3 * 3 + 1
    # No line that names anybody, so it must not begin a group.
    assert without_others("User  agent: c", "sale-sofia") == "User  agent: c"


def test_names_of_others_in_the_same_group_change_no_rule_of_ours() -> None:
    many = "".join(f"User-agent: bot-{number}\n" for number in range(3000))
    rules = "".join(f"Disallow: /{number}\n" for number in range(3000))
    text = (
        f"{many}User-agent: Sale-Sofia\n{rules}\n{many}{rules}Disallow: /others\nUser-agent: *\nDisallow: /"
    )
    assert not allowed(page(text.encode()), "/2999")
    assert allowed(page(text.encode()), "/others")


@pytest.mark.parametrize("name", ["sale-sofia/1.0", "Sale-Sofia/2", "sale-sofia /1.0 # us", "sale-sofia/"])
def test_a_group_for_a_version_of_ours_is_ours(name: str) -> None:
    rules = f"User-agent: *\nDisallow: /\nUser-agent: {name}\nDisallow: /ours\nCrawl-delay: 7".encode()
    assert (allowed(page(rules), "/ours"), allowed(page(rules), "/other")) == (False, True)


def test_an_unreachable_portal_is_left_alone() -> None:
    async def run() -> tuple[bool, float | None]:
        log = Portal(port=free_port())
        async with fetcher() as client:
            robots = gate(client, log)
            return await robots.allowed(log.url("/")), await robots.crawl_delay(log.url("/"))

    assert asyncio.run(run()) == (False, None)


def test_many_ask_and_one_fetches() -> None:
    async def question(robots: RobotsGate, log: Portal) -> object:
        answers = await asyncio.gather(*(robots.allowed(log.url(f"/{n}")) for n in range(50)))
        return all(answers), len(log.paths)

    async def slowly(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(0.05)
        return web.Response(body=RULES)

    assert ask(slowly, question) == (True, 1)


def test_rules_and_faults_are_kept_for_their_own_times() -> None:
    answers = [500, 200, 500, 404]

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=answers.pop(0), body=RULES)

    async def run() -> list[tuple[bool, bool, int]]:
        clock = Clock()
        seen = []
        async with portal(answer) as log, fetcher() as client:
            robots = gate(client, log, clock)
            for clock.now in (0, 9.9, 10, 109.9, 110, 119.9, 120):
                closed, start = await robots.allowed(log.url("/pcgi/")), await robots.allowed(log.url("/"))
                seen.append((closed, start, len(log.paths)))
        return seen

    assert asyncio.run(run()) == [
        (False, False, 1),
        (False, False, 1),
        (False, True, 2),
        (False, True, 2),
        (False, True, 3),  # a fault: the last rules hold
        (False, True, 3),
        (True, True, 4),
    ]


def test_a_cancelled_fetch_does_not_lock_the_others_out() -> None:
    async def slowly(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(0.1)
        return web.Response(body=RULES)

    async def question(robots: RobotsGate, log: Portal) -> object:
        first = asyncio.create_task(robots.allowed(log.url("/pcgi/")))
        second = asyncio.create_task(robots.allowed(log.url("/pcgi/")))
        await asyncio.sleep(0.02)
        first.cancel()
        return await second

    assert ask(slowly, question) is False
