"""The dashboard: pages as HTML at their addresses, the same as JSON with `.json`, behind its guards."""

import gzip
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import Message as MimeMessage
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
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from xstatic.pkg import leaflet

from sale_sofia.app import formatting, words
from sale_sofia.app.entrance import Entrance, with_door_secret
from sale_sofia.app.guard import HEALTH, LANGUAGE, OwnHosts, OwnPages, PasswordGate, with_headers
from sale_sofia.app.settings import (
    COOKIE_MOST_BYTES,
    FORM_MOST_BYTES,
    OUTCOME_SECONDS,
    PAGES_KEPT_OFFLINE,
    YEAR_SECONDS,
)
from sale_sofia.app.visit import (
    OUTCOME,
    PROFILE,
    VISITOR,
    AppState,
    NoProfile,
    PageVisit,
    RefusedForm,
    Values,
)
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
class WebPage:
    """A page: a template with its values, and the same as data."""

    template: str
    title: str
    values: Values = field(default_factory=dict)
    data: Callable[[], Any] | None = None
    """The body of the address with `.json`."""
    status: int = 200


def error_page(title: str, errors: Sequence[object], status: int) -> WebPage:
    """A page of nothing but errors; `title` is the key of its title."""
    return WebPage("message.html", words.say(title), {"errors": errors}, status=status)


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download."""

    body: bytes
    media_type: str
    name: str


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a form: a message, the next page, and how to undo it."""

    message: str
    back: str = ""
    """The address of the next page; empty: the page of the form."""
    undo: Mapping[str, str] | None = None
    """The form that undoes it: its address under `action`, and its fields."""
    data: Values = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)
    wrong: bool = False


Handler = Callable[[PageVisit], WebPage | Download | Done | Response]


def application(settings: Settings, routes: list[BaseRoute]) -> Starlette:
    """The app: open to the household's people; without people, behind a password or to this machine alone."""
    password = settings.dashboard_password
    guard: Callable[[ASGIApp], ASGIApp] = OwnHosts
    if password:
        guard = partial(PasswordGate, password=password.get_secret_value())
    state = AppState(settings)
    entrance = Middleware(Entrance, state=state, otherwise=guard)
    app = Starlette(
        routes=[
            Route(HEALTH, lambda _: Response("ok")),
            Route("/static/{name}", partial(_file, _STATIC)),
            Route("/leaflet/{name}", partial(_file, _LEAFLET)),
            Route("/worker.js", _worker),
            *routes,
        ],
        middleware=[Middleware(OwnPages), entrance, Middleware(SameHeaders), Middleware(GZipMiddleware)],
        exception_handlers={404: _not_found, 405: _not_a_page},
        lifespan=_lifespan,
    )
    app.state.dashboard = state
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Stop crawls and probes started from the pages when the server stops."""
    yield
    if "errands" in vars(app.state.dashboard):
        await run_in_threadpool(app.state.dashboard.errands.stop)


class SameHeaders:
    """Adds to every response the headers that keep content of portals inert."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and add the headers that its response lacks."""
        await self._app(scope, receive, with_headers(send, _HEADERS))


def page_routes(path: str, handler: Handler) -> list[BaseRoute]:
    """The routes of a page: as JSON and as HTML."""
    return [get_route(f"{path}.json", handler), get_route(path, handler)]


def get_route(path: str, handler: Handler) -> Route:
    """The route of a file, a picture or a redirect."""
    return Route(path, partial(_answer, handler))


def form_route(path: str, handler: Handler) -> Route:
    """The route of a form."""
    return Route(path, partial(_answer, handler), methods=["POST"])


def upload_route(path: str, handler: Handler) -> Route:
    """The route of a form with photos."""
    return Route(path, partial(_answer_upload, handler), methods=["POST"])


async def _answer_upload(handler: Handler, request: Request) -> Response:
    most = OWN_PHOTOS_AT_ONCE * request.app.state.dashboard.settings.own_photo_max_bytes
    body = await _body(request, most + FORM_MOST_BYTES)
    form, files = parts_of(body, request.headers.get("content-type", "")) if body is not None else ({}, None)
    visit = PageVisit(request.app.state.dashboard, request, form, files)
    return await run_in_threadpool(_respond, handler, visit)


def parts_of(body: bytes, content_type: str) -> tuple[dict[str, str], list[bytes]]:
    """The fields and the files of a multipart form; both empty where the body is none."""
    boundary = _parameter("content-type", content_type, "boundary")
    fields, files = {}, []
    for part in body.split(f"--{boundary}".encode())[1:-1] if boundary else ():
        head, _, content = part.partition(b"\r\n\r\n")
        header = next((line for line in head.split(b"\r\n") if b"form-data" in line), b"")
        disposition = header.partition(b":")[2].decode("utf-8", "replace").strip()
        content = content.removesuffix(b"\r\n")
        if _parameter("content-disposition", disposition, "filename") is None:
            name = _parameter("content-disposition", disposition, "name") or ""
            fields[name] = content.decode("utf-8", "replace")
        elif content:
            files.append(content)
    return fields, files


def _parameter(header: str, value: str, name: str) -> str | None:
    message = MimeMessage()
    message[header] = value.replace("\n", " ").replace("\r", " ")
    parameter = message.get_param(name, header=header)
    return parameter if isinstance(parameter, str) else None


async def _answer(handler: Handler, request: Request) -> Response:
    """Run the handler in a thread: pages read the database, which must not block other requests."""
    form = await _form(request) if request.method == "POST" else {}
    visit = PageVisit(request.app.state.dashboard, request, form)
    return await run_in_threadpool(_respond, handler, visit)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; values of the same name are joined by line ends."""
    body = await _body(request, FORM_MOST_BYTES)
    fields: dict[str, str] = {}
    if body is None:
        return fields
    for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
        fields[name] = f"{fields[name]}\n{value}" if name in fields else value
    return fields


async def _body(request: Request, most: int) -> bytes | None:
    """The body; None where it is too large: still read to its end, so that the sender gets an answer."""
    body: bytearray | None = bytearray()
    async for part in request.stream():
        if body is not None:
            body += part
            body = body if len(body) <= most else None
    return None if body is None else bytes(body)


def _respond(handler: Handler, visit: PageVisit) -> Response:
    use(visit.state.settings.data_dir)  # other places may have been imported since the last page
    with words.speaking(visit.language):
        try:
            result = handler(visit)
        except UnknownProperty:
            number = visit.request.path_params.get("number") or visit.form.get("id", formatting.UNKNOWN)
            result = error_page("page.property", [words.say("property.unknown", id=number)], 404)
        except NoProfile as error:
            result = error_page("page.criteria", error.mistakes, 500)
        except MemoryError:
            log.warning("too little memory for the page /%s", visit.request.url.path.split("/")[1])
            result = error_page("app.title", [words.say("app.memory")], 503)
        match result:
            case Response():
                return result
            case Download():
                disposition = f'attachment; filename="{result.name}"'
                return Response(
                    result.body, media_type=result.media_type, headers={"content-disposition": disposition}
                )
            case Done():
                return _done(visit, result)
        if visit.request.url.path.endswith(".json"):
            data = result.data() if result.data else {"errors": result.values.get("errors", [])}
            return JSONResponse(data, result.status)
        return _with_cookies(visit, HTMLResponse(render(visit, result), result.status))


def _done(visit: PageVisit, done: Done) -> Response:
    """JSON for a script; else a redirect, with the message in a cookie that no link can forge."""
    if visit.asks_for_data:
        data = {"said": done.message, "undo": done.undo, "wrong": done.wrong, "back": done.back, **done.data}
        answer: Response = JSONResponse(data, 400 if done.wrong else 200)
    else:
        back = done.back or own_address(visit.form.get("back", "/"))
        if done.wrong and (given_back := _give_back(visit, back, done.message)):
            return given_back
        answer = RedirectResponse(back, 303)
        kind, text = "wrong" if done.wrong else "said", done.message
        outcome = urlencode({kind: text, "undo": urlencode(done.undo or {})})
        while len(outcome) > COOKIE_MOST_BYTES:  # better no undo, and a part of the message, than nothing
            outcome = urlencode({kind: f"{text} …" if text != done.message else text})
            text = text[: len(text) * 9 // 10]
        _keep_cookie(visit, answer, OUTCOME, outcome, OUTCOME_SECONDS)
    for name, value in done.cookies.items():
        _keep_cookie(visit, answer, name, value, YEAR_SECONDS)
    return _with_cookies(visit, answer)


def _give_back(visit: PageVisit, back: str, why: str) -> Response | None:
    """The page of a refused form, with what was typed into it; None where there is no such page."""
    parts, request = urlsplit(back), visit.request
    asked = {"method": "GET", "path": parts.path, "query_string": parts.query.encode()}
    for route in request.app.routes:
        match, found = route.matches({**request.scope, **asked})
        if match is Match.FULL and getattr(found["endpoint"], "func", None) is _answer:
            page = Request({**request.scope, **asked, **found})
            refused = RefusedForm(request.url.path, visit.form, why)
            given = PageVisit(visit.state, page, now=visit.now, refused=refused)
            return _respond(found["endpoint"].args[0], given)
    return None


def _with_cookies(visit: PageVisit, answer: Response) -> Response:
    """The response, with cookies for the visitor, the chosen language and the chosen profile."""
    if OUTCOME in visit.request.cookies and visit.request.method == "GET":
        answer.delete_cookie(OUTCOME, httponly=True, samesite="strict")
    cookies = {} if visit.person else {VISITOR: visit.visitor}
    if visit.param("lang"):
        cookies[LANGUAGE] = visit.language
    if visit.param("profile"):
        cookies[PROFILE] = quote(visit.profile_name)  # a name may be Cyrillic, a cookie is not
    for name, value in cookies.items():
        if visit.request.cookies.get(name) != value:
            _keep_cookie(visit, answer, name, value, YEAR_SECONDS)
    if visit.person is None and visit.request.url.path == PEOPLE:  # who adds the first one enters at once
        with_door_secret(visit.request, answer)
    return answer


def _keep_cookie(visit: PageVisit, answer: Response, name: str, value: str, seconds: int) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send; secure where TLS is used."""
    secure = visit.request.url.scheme == "https"
    answer.set_cookie(name, value, max_age=seconds, httponly=True, samesite="strict", secure=secure)


def own_address(text: str) -> str:
    """An address on this server, with its place on the page; "/" for any other text."""
    parts = urlsplit(text)
    inside = text.startswith("/") and not text.startswith(("//", "/\\")) and not parts.netloc
    return parts.geturl() if inside else "/"


def render(visit: PageVisit, page: WebPage) -> str:
    """The page as HTML."""
    outcome = dict(parse_qsl(visit.request.cookies.get(OUTCOME, "")))
    shared: Values = {
        "visit": visit,
        "language": visit.language,
        "title": page.title,
        "said": outcome.get("said"),
        "wrong": visit.refused.why if visit.refused else outcome.get("wrong"),
        "answered": OUTCOME in visit.request.cookies or visit.refused or visit.request.method == "POST",
        "undo": dict(parse_qsl(outcome.get("undo", ""))),
        "navigation": NAVIGATION,
        "here": visit.path.replace("/today", "/"),
        "version": version(),
        "kept_offline": PAGES_KEPT_OFFLINE,
    }
    return environment().get_template(page.template).render(shared | page.values)


@cache
def environment() -> jinja2.Environment:
    """The templates; every value in them is escaped."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {
        "say": words.say,
        "word_for": words.word_for,
        "pluralise": words.pluralise,
        "translate": words.translate,
        "f": formatting,
        "safe_address": safe_address,
        "with_parameter": with_parameter,
        "places_stamp": stamp,
        "reject_reasons": REASONS,
        "most_stars": MOST_STARS,
    }
    return templates


def with_parameter(address: str, name: str, value: object) -> str:
    """The address with this parameter set; None removes it."""
    parts = urlsplit(address)
    pairs = [pair for pair in parse_qsl(parts.query) if pair[0] != name]
    if value is not None:
        pairs.append((name, str(value)))
    return f"{parts.path}?{urlencode(pairs)}" if pairs else parts.path


@cache
def version() -> str:
    """A digest of all scripts and styles: part of their addresses, as browsers keep them for a year."""
    files = sorted(_STATIC.iterdir())
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:10]


async def _file(folder: Path, request: Request) -> Response:
    path = folder / Path(request.path_params["name"]).name
    if path.suffix not in _TYPES or not path.is_file():
        return Response(status_code=404)
    return immutable_response(request, _packed(path), _TYPES[path.suffix])


@cache
def _packed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes())


def immutable_response(request: Request, packed: bytes, media_type: str) -> Response:
    """A response that browsers keep for a year; sent gzipped, or unpacked for a client without gzip."""
    headers = {"cache-control": f"public, max-age={YEAR_SECONDS}, immutable"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type=media_type, headers=headers)
    headers |= {"content-encoding": "gzip", "vary": "Accept-Encoding"}
    return Response(packed, media_type=media_type, headers=headers)


async def _worker(_request: Request) -> Response:
    """The service worker for offline use: served at the root, as its scope is the folder it is in."""
    body, headers = (_STATIC / "worker.js").read_bytes(), {"cache-control": "no-cache"}
    return Response(body, media_type="text/javascript", headers=headers)


async def _not_a_page(request: Request, _error: Exception) -> Response:
    """The page of a form whose address was opened, as by a sign-in that was asked for when it was sent."""
    if request.method not in {"GET", "HEAD"}:
        return Response(status_code=405)
    return RedirectResponse(own_address(request.url.path).rpartition("/")[0] or "/", 303)


async def _not_found(request: Request, _error: Exception) -> Response:
    visit = PageVisit(request.app.state.dashboard, request)

    def missing() -> Response:
        with words.speaking(visit.language):
            page = error_page("app.title", [words.say("web.no_page", path=request.url.path)], 404)
            return HTMLResponse(render(visit, page), page.status)

    return await run_in_threadpool(missing)
