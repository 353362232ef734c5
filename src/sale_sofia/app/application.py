"""The dashboard: pages as HTML at their addresses, the same as JSON with `.json`, behind its guards."""

import gzip
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import Message as Headed
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import jinja2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from xstatic.pkg import leaflet

from sale_sofia.app import formatting, words
from sale_sofia.app.entrance import Entrance, at_the_door
from sale_sofia.app.guard import HEALTH, OwnHosts, OwnPages, PasswordGate
from sale_sofia.app.settings import FORM_MOST_BYTES, PAGES_KEPT_OFFLINE, SAID_SECONDS, YEAR_SECONDS
from sale_sofia.app.visit import LANGUAGE, PROFILE, SAID, VISITOR, NoProfile, Site, Values, Visit
from sale_sofia.buyer.opinions import REASONS
from sale_sofia.buyer.settings import MOST_STARS
from sale_sofia.flats.settings import OWN_PHOTOS_AT_ONCE
from sale_sofia.flats.store import UnknownProperty
from sale_sofia.geography.imported import stamp, use
from sale_sofia.listings.text import address as safe_address
from sale_sofia.settings.model import Settings

log: Final = logging.getLogger(__name__)
_FOLDER: Final = Path(__file__).parent
_STATIC: Final = _FOLDER / "static"
_LEAFLET: Final = Path(leaflet.BASE_DIR)
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".png": "image/png"}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https: http:; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
"""Scripts and styles are files of ours alone: nothing that a portal wrote can run."""
PEOPLE: Final = "/people"
NAVIGATION: Final = (
    "today",
    "search",
    "map",
    "compare",
    "mine",
    "market",
    "cross_site",
    "criteria",
    "alerts",
    "health",
)
"""The pages in the order of the menu."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows: a template with its values, and the same as data."""

    template: str
    title: str
    values: Values = field(default_factory=dict)
    data: Callable[[], Any] | None = None
    """What the address with `.json` answers."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Download:
    """A file."""

    body: bytes
    media_type: str
    name: str


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a form: a sentence, where to go on, and how to take it back."""

    said: str
    back: str = ""
    """The address of the next page; empty: the one that the form was on."""
    undo: Mapping[str, str] | None = None
    """The form that takes it back: its address under `action`, and its fields."""
    data: Values = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    wrong: bool = False


Work = Callable[[Visit], Page | Download | Done | Response]


def application(settings: Settings, routes: list[BaseRoute]) -> Starlette:
    """The pages: for the household's people; where there are none, behind a password or for this machine."""
    password = settings.dashboard_password
    guard: Callable[[ASGIApp], ASGIApp] = OwnHosts
    if password:
        guard = partial(PasswordGate, password=password.get_secret_value())
    site = Site(settings)
    entrance = Middleware(Entrance, site=site, otherwise=guard)
    found = Starlette(
        routes=[
            Route(HEALTH, lambda _: Response("ok")),
            Route("/static/{name}", partial(_file, _STATIC)),
            Route("/leaflet/{name}", partial(_file, _LEAFLET)),
            Route("/worker.js", _worker),
            *routes,
        ],
        middleware=[Middleware(OwnPages), entrance, Middleware(SameHeaders), Middleware(GZipMiddleware)],
        exception_handlers={404: _not_found},
        lifespan=_until_the_end,
    )
    found.state.site = site
    return found


@asynccontextmanager
async def _until_the_end(app: Starlette) -> AsyncIterator[None]:
    """What was started from the pages ends with them."""
    yield
    if "errands" in vars(app.state.site):
        await run_in_threadpool(app.state.site.errands.stop)


class SameHeaders:
    """Every answer has the headers that keep strangers' content inert."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on."""

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in given),
                ]
            await send(message)

        await self._app(scope, receive, headed)


def shown(path: str, work: Work) -> list[BaseRoute]:
    """A page at its address, and as JSON beside it."""
    return [asked(f"{path}.json", work), asked(path, work)]


def asked(path: str, work: Work) -> Route:
    """What is no page: a file, a picture, a way on."""
    return Route(path, partial(_answer, work))


def sent(path: str, work: Work) -> Route:
    """What a form of a page does."""
    return Route(path, partial(_answer, work), methods=["POST"])


def uploaded(path: str, work: Work) -> Route:
    """What a form with photos does."""
    return Route(path, partial(_take, work), methods=["POST"])


async def _take(work: Work, request: Request) -> Response:
    most = OWN_PHOTOS_AT_ONCE * request.app.state.site.settings.own_photo_max_bytes
    body = await _body(request, most + FORM_MOST_BYTES)
    form, files = parts_of(body, request.headers.get("content-type", "")) if body is not None else ({}, None)
    visit = Visit(request.app.state.site, request, form, files)
    return await run_in_threadpool(_respond, work, visit)


def parts_of(body: bytes, content_type: str) -> tuple[dict[str, str], list[bytes]]:
    """The fields and the files of a form that has files; what is none has neither."""
    boundary = _parameter("content-type", content_type, "boundary")
    fields, files = {}, []
    for part in body.split(f"--{boundary}".encode())[1:-1] if boundary else ():
        head, _, content = part.partition(b"\r\n\r\n")
        said = next((line for line in head.split(b"\r\n") if b"form-data" in line), b"")
        disposition = said.partition(b":")[2].decode("utf-8", "replace").strip()
        content = content.removesuffix(b"\r\n")
        if _parameter("content-disposition", disposition, "filename") is None:
            name = _parameter("content-disposition", disposition, "name") or ""
            fields[name] = content.decode("utf-8", "replace")
        elif content:
            files.append(content)
    return fields, files


def _parameter(header: str, value: str, name: str) -> str | None:
    message = Headed()
    message[header] = value.replace("\n", " ").replace("\r", " ")
    found = message.get_param(name, header=header)
    return found if isinstance(found, str) else None


async def _answer(work: Work, request: Request) -> Response:
    """Do the work in a thread: pages read the database, and others must not wait for that."""
    form = await _form(request) if request.method == "POST" else {}
    visit = Visit(request.app.state.site, request, form)
    return await run_in_threadpool(_respond, work, visit)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; of several with one name all, separated by line ends."""
    body = await _body(request, FORM_MOST_BYTES)
    fields: dict[str, str] = {}
    if body is None:
        return fields
    for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


async def _body(request: Request, most: int) -> bytes | None:
    """What was sent; None where it is too much: that is read to its end, so that its sender hears why."""
    body: bytearray | None = bytearray()
    async for part in request.stream():
        if body is not None:
            body += part
            body = body if len(body) <= most else None
    return None if body is None else bytes(body)


def _respond(work: Work, visit: Visit) -> Response:
    use(visit.site.settings.data_dir)  # other places may have been imported since the last page
    with words.speaking(visit.language):
        try:
            found = work(visit)
        except UnknownProperty:
            asked = visit.request.path_params.get("number") or visit.form.get("id", formatting.UNKNOWN)
            said = words.say("property.unknown", id=asked)
            found = Page("message.html", words.say("page.property"), {"errors": [said]}, status=404)
        except NoProfile as error:
            found = Page("message.html", words.say("page.criteria"), {"errors": error.mistakes}, status=500)
        except MemoryError:
            log.warning("too little memory for the page /%s", visit.request.url.path.split("/")[1])
            found = Page(
                "message.html", words.say("app.title"), {"errors": [words.say("app.memory")]}, status=503
            )
        match found:
            case Response():
                return found
            case Download():
                disposition = f'attachment; filename="{found.name}"'
                return Response(
                    found.body, media_type=found.media_type, headers={"content-disposition": disposition}
                )
            case Done():
                return _done(visit, found)
        wants_json = visit.request.url.path.endswith(".json")
        if wants_json:
            data = found.data() if found.data else {"errors": found.values.get("errors", [])}
            return JSONResponse(data, found.status)
        return _remembered(visit, HTMLResponse(render(visit, found), found.status))


def _done(visit: Visit, done: Done) -> Response:
    """To a script as data; else back to the page, which says what happened by a cookie no link can forge."""
    if visit.asks_for_data:
        told = {"said": done.said, "undo": done.undo, "wrong": done.wrong, "back": done.back, **done.data}
        answer: Response = JSONResponse(told, 400 if done.wrong else 200)
    else:
        answer = RedirectResponse(done.back or own_address(visit.form.get("back", "/")), 303)
        told = {"wrong" if done.wrong else "said": done.said, "undo": urlencode(done.undo or {})}
        _keep_cookie(visit, answer, SAID, urlencode(told), SAID_SECONDS)
    for name, value in done.cookies.items():
        _keep_cookie(visit, answer, name, value, YEAR_SECONDS)
    return _remembered(visit, answer)


def _remembered(visit: Visit, answer: Response) -> Response:
    """The browser keeps its name, its language and its profile."""
    if SAID in visit.request.cookies and visit.request.method == "GET":
        answer.delete_cookie(SAID, httponly=True, samesite="strict")
    keep = {} if visit.person else {VISITOR: visit.visitor}
    if visit.asked("lang"):
        keep[LANGUAGE] = visit.language
    if visit.asked("profile"):
        keep[PROFILE] = quote(visit.profile_name)  # a name may be Cyrillic, a cookie is not
    for name, value in keep.items():
        if visit.request.cookies.get(name) != value:
            _keep_cookie(visit, answer, name, value, YEAR_SECONDS)
    if visit.person is None and visit.request.url.path == PEOPLE:  # who adds the first one enters at once
        at_the_door(visit.request, answer)
    return answer


def _keep_cookie(visit: Visit, answer: Response, name: str, value: str, seconds: int) -> None:
    """One that scripts cannot read and other pages cannot send; over TLS alone where that is used."""
    secure = visit.request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)


def own_address(text: str) -> str:
    """An address of ours to go back to; anything else is the first page."""
    parts = urlsplit(text)
    inside = text.startswith("/") and not text.startswith(("//", "/\\")) and not parts.netloc
    return f"{parts.path}?{parts.query}" if inside and parts.query else parts.path if inside else "/"


def render(visit: Visit, page: Page) -> str:
    """The page as HTML."""
    said = dict(parse_qsl(visit.request.cookies.get(SAID, "")))
    shared: Values = {
        "visit": visit,
        "language": visit.language,
        "title": page.title,
        "said": said.get("said"),
        "wrong": said.get("wrong"),
        "undo": dict(parse_qsl(said.get("undo", ""))),
        "navigation": NAVIGATION,
        "here": visit.request.url.path.replace("/today", "/"),
        "version": version(),
        "kept_offline": PAGES_KEPT_OFFLINE,
    }
    return environment().get_template(page.template).render(shared | page.values)


@cache
def environment() -> jinja2.Environment:
    """The templates; everything that is put into them is escaped."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {
        "say": words.say,
        "named": words.named,
        "counted": words.counted,
        "told": words.told,
        "f": formatting,
        "safe_address": safe_address,
        "with_parameter": with_parameter,
        "places_stamp": stamp,
        "reject_reasons": REASONS,
        "most_stars": MOST_STARS,
    }
    return found


def with_parameter(address: str, name: str, value: object) -> str:
    """The address with this parameter, instead of the one it had; None takes it out."""
    parts = urlsplit(address)
    kept = [one for one in parse_qsl(parts.query) if one[0] != name]
    if value is not None:
        kept.append((name, str(value)))
    return f"{parts.path}?{urlencode(kept)}" if kept else parts.path


@cache
def version() -> str:
    """Changes with every script and style, which browsers keep for a year."""
    files = sorted(_STATIC.iterdir())
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:10]


async def _file(folder: Path, request: Request) -> Response:
    path = folder / Path(request.path_params["name"]).name
    if path.suffix not in _TYPES or not path.is_file():
        return Response(status_code=404)
    return lasting(request, _packed(path), _TYPES[path.suffix])


@cache
def _packed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes())


def lasting(request: Request, packed: bytes, media_type: str) -> Response:
    """What a browser keeps for a year; packed once by gzip, and unpacked for who cannot read that."""
    headers = {"cache-control": f"public, max-age={YEAR_SECONDS}, immutable"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type=media_type, headers=headers)
    headers |= {"content-encoding": "gzip", "vary": "Accept-Encoding"}
    return Response(packed, media_type=media_type, headers=headers)


async def _worker(_request: Request) -> Response:
    """What keeps pages for who has no network: at the root, as it has a say only below where it stands."""
    body, plain = (_STATIC / "worker.js").read_bytes(), {"cache-control": "no-cache"}
    return Response(body, media_type="text/javascript", headers=plain)


async def _not_found(request: Request, _error: Exception) -> Response:
    visit = Visit(request.app.state.site, request)

    def missing() -> Response:
        with words.speaking(visit.language):
            said = [words.say("web.no_page", path=request.url.path)]
            return HTMLResponse(
                render(visit, Page("message.html", words.say("app.title"), {"errors": said})), 404
            )

    return await run_in_threadpool(missing)
