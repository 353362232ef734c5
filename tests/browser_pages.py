"""The dashboard in a real Chromium: pages opened, waited for, and looked at."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import DEFAULT_OPTIONS, Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    ViewportSize,
    sync_playwright,
)

from browsers import quickest_chromium_or_skip

PATIENCE_MS = 120_000
PAGES = (
    "today", "search", "map", "compare", "mine", "criteria", "alerts", "market", "cross_site", "health",
    "people", "channels", "agenda",
)  # fmt: skip
TELEPHONE: ViewportSize = {"width": 390, "height": 900}
DESK: ViewportSize = {"width": 1280, "height": 900}
_ONLY_HERE = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost"
)
"""Nothing leaves this machine. A route of Playwright would do that too, but then no file is cached."""
_BRIEF = ("--disable-gpu", "--num-raster-threads=1", "--js-flags=--no-maglev --no-turbofan")
"""A page lives for a second here: to make its scripts quick takes longer than they do."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium; without one the test is skipped."""
    program = quickest_chromium_or_skip()
    with sync_playwright() as playwright:
        options = ["--no-sandbox", *_BRIEF, _ONLY_HERE]
        browser = playwright.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@dataclass
class Window:
    """One window on the dashboard. What it asks of other servers is noted."""

    page: Page
    url: str
    outside: list[str] = field(default_factory=list)
    """Addresses outside; photos of adverts, which only portals have, are not among them."""
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    """What a script of a hostile advert would show."""

    def note(self, request: Request) -> None:
        """An address outside, if it is one and no photo."""
        ours = {urlsplit(self.url).netloc, ""}
        if urlsplit(request.url).netloc not in ours and request.resource_type != "image":
            self.outside.append(request.url)

    def hear(self, message: ConsoleMessage) -> None:
        """Note what the browser complains of; that a photo is nowhere is not our page's fault."""
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def refuse(self, dialog: Dialog) -> None:
        """Note what a script says, and let it go on."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def open(self, name: str, **parameters: object) -> None:
        """Go to a page by its address and wait until it is drawn."""
        query = "&".join(f"{key}={value}" for key, value in parameters.items())
        self.page.goto(f"{self.url}/{name}" + (f"?{query}" if query else ""))
        self.settle()

    def settle(self) -> None:
        """Wait until the page is there, with all that it asks for by itself."""
        self.page.get_by_role("heading", level=1).first.wait_for()
        self.page.wait_for_load_state("networkidle")

    def reload(self) -> None:
        """As by the browser's button."""
        self.page.reload()
        self.settle()

    def press(self, name: str, *, exact: bool = True) -> None:
        """Press a button by what stands on it, and wait for what it does."""
        button = self.page.get_by_role("button", name=name, exact=exact).first
        button.click()
        self.settle()

    @property
    def main(self) -> Locator:
        """The page without its menus."""
        return self.page.locator("main")

    def text(self) -> str:
        """All that is to be read on the page, spaces of numbers as plain ones."""
        return re.sub(r"[\u00a0\u202f]", " ", self.main.inner_text())

    def has(self, words: str) -> None:
        """Wait until these words stand on the page."""
        self.main.get_by_text(words).first.wait_for()

    def wrong(self) -> list[str]:
        """What stands in place of a page that broke."""
        return [
            text for text in self.page.locator("body").all_inner_texts() if "Internal Server Error" in text
        ]

    def harm(self) -> list[str]:
        """Elements that would run a script which a portal wrote."""
        found: list[str] = self.page.evaluate(_HARM)
        return found

    def turned(self) -> set[str]:
        """Marks on the page that would turn the direction of writing."""
        return {"\u202e", "\u2066", "\u200f"} & set(self.page.locator("body").inner_text())

    def serious(self, *, colours_alone: bool = False) -> list[tuple[str, str]]:
        """What keeps people with a screen reader, or weak eyes, from using the page; by all rules of axe.

        `colours_alone`: by the one that another theme can break, in half of the time.
        """
        rules = {**DEFAULT_OPTIONS, **({"runOnly": ["color-contrast"]} if colours_alone else {})}
        found = Axe().run(self.page, options=rules).response["violations"]
        return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]

    def faults(self, *, colours_alone: bool = False) -> list[object]:
        """All that is wrong with the page, on a telephone and wide; the window is wide afterwards."""
        self.page.set_viewport_size(TELEPHONE)
        narrow = self.too_wide()
        self.page.set_viewport_size(DESK)
        seen = self.serious(colours_alone=colours_alone)
        return [*self.wrong(), *narrow, *self.too_wide(), *self.harm(), *seen]

    def title(self) -> str:
        """The heading of the page."""
        return self.page.get_by_role("heading", level=1).first.inner_text()

    def too_wide(self) -> list[str]:
        """Elements that stick out of the window at its right, scrolling tables and charts left out."""
        found: list[str] = self.page.evaluate(_TOO_WIDE)
        return found

    def broken(self) -> list[str]:
        """Words that go on in the next line; not those that may, by a hyphen or as too long for any line."""
        found: list[str] = self.page.evaluate(_BROKEN)
        return found


@contextmanager
def window(browser: Browser, url: str, width: int = 1280, height: int = 900) -> Iterator[Window]:
    """A new window with its own cookies."""
    with person(browser, width, height) as context, tab(context, url) as opened:
        yield opened


@contextmanager
def person(browser: Browser, width: int = 1280, height: int = 900) -> Iterator[BrowserContext]:
    """Somebody who likes it light, with cookies and a cache of their own."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, locale="bg-BG", color_scheme="light"
    )
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@contextmanager
def tab(context: BrowserContext, url: str) -> Iterator[Window]:
    """A tab of a person's; the next one has their cache, and on the server nothing of this one."""
    page = context.new_page()
    opened = Window(page, url)
    page.on("request", opened.note)
    page.on("pageerror", lambda error: opened.errors.append(str(error)))
    page.on("console", opened.hear)
    page.on("dialog", opened.refuse)
    yield opened
    page.close()


_TOO_WIDE = """() => {
  const wide = [];
  const scrolls = (node) => {
    for (let one = node.parentElement; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (/(auto|scroll|hidden)/.test(style.overflowX) && one.clientWidth < innerWidth + 1
          && one.tagName !== "BODY" && one.tagName !== "HTML") return true;
    }
    return false;
  };
  for (const node of document.querySelectorAll('body *')) {
    const box = node.getBoundingClientRect();
    if (box.width > 0 && box.height > 0 && box.right > innerWidth + 1 && !scrolls(node))
      wide.push(node.tagName + "." + node.className + ": " + Math.round(box.right));
  }
  return wide;
}"""
_BROKEN = """() => {
  const found = [], texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (!text.parentElement.checkVisibility()) continue;
    for (const word of text.data.matchAll(/(?<!\\S)[\\p{L}\\d]{2,24}(?=[,.:;!?)]*(?:\\s|$))/gu)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(word[0]);
    }
  }
  return found;
}"""
_HARM = """() => [...document.querySelectorAll('*')].filter((one) =>
  [...one.attributes].some((attribute) => attribute.name.startsWith('on')
    || (/^(href|src|action)$/.test(attribute.name) && /^\\s*(javascript|data:text)/i.test(attribute.value)))
  || (one.tagName === 'SCRIPT' && one.textContent.includes('harm'))
).map((one) => one.outerHTML.slice(0, 200))"""
