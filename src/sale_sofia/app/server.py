"""The dashboard's server as a program with the arguments HOST PORT, started by `sale-sofia dashboard`."""

import gc
import ipaddress
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import uvicorn
from starlette.convertors import Convertor, register_url_convertor
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.app.application import application, form_route, get_route, page_routes, upload_route
from sale_sofia.app.drawing import draw_svg
from sale_sofia.app.pages import (
    agenda,
    alerts,
    channels,
    compare,
    criteria,
    elsewhere,
    flat,
    health,
    maps,
    market,
    mine,
    own_photos,
    people,
    search,
    shared,
    today,
)
from sale_sofia.app.visit import AppState, PageVisit
from sale_sofia.app.words import say
from sale_sofia.buyer.agenda import read_agenda
from sale_sofia.buyer.settings import SHARED_PATH
from sale_sofia.installation import open_database
from sale_sofia.settings.model import load_settings
from sale_sofia.settings.programs import end_at_once
from sale_sofia.settings.types import Network
from sale_sofia.telemetry.logs import log_as_service

log: Final = logging.getLogger(__name__)
_STDIN: Final = 0
_FLAT: Final = "/flat/{number:id}"


class _RowId(Convertor[int]):
    """The id of a row in an address; with more digits than a database has, no page is found."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("id", _RowId())


def routes() -> list[BaseRoute]:
    """All routes, with redirects of former addresses."""
    return [
        *page_routes("/", today.page),
        *page_routes("/today", today.page),
        *page_routes("/search", search.page),
        *page_routes("/compare", compare.page),
        *page_routes("/map", maps.page),
        *page_routes("/mine", mine.page),
        get_route("/mine/viewings.ics", mine.calendar),
        *page_routes("/agenda", agenda.page),
        form_route("/agenda/add", agenda.add),
        form_route("/agenda/subscribe", agenda.subscribe),
        form_route("/agenda/unsubscribe", agenda.unsubscribe),
        get_route("/map/base.json", maps.base),
        get_route("/map/card/{number:id}", maps.card),
        *page_routes("/criteria", criteria.page),
        *page_routes("/alerts", alerts.page),
        *page_routes("/channels", channels.page),
        *page_routes(_FLAT, flat.page),
        *page_routes("/market", market.page),
        *page_routes("/cross_site", elsewhere.page),
        *page_routes("/health", health.page),
        *page_routes("/people", people.page),
        get_route(f"{SHARED_PATH}{{token}}", shared.page),
        get_route("/health/page/{row:id}", health.archived),
        get_route("/search.csv", search.export),
        get_route(f"{_FLAT}/viewings.ics", flat.calendar),
        get_route(f"{_FLAT}/sheet.pdf", shared.sheet),
        get_route(f"{_FLAT}/sheet.png", shared.sheet),
        get_route("/property", _property),
        get_route("/drawing/{name}.svg", _drawing),
        get_route("/manifest.webmanifest", _manifest),
        form_route("/today/seen", today.seen),
        form_route("/today/later", today.later),
        form_route("/today/tell", today.tell),
        form_route("/search/save", search.save),
        form_route("/search/tell", search.tell),
        form_route("/search/forget", search.forget),
        form_route("/compare/tick", compare.tick),
        form_route(f"{_FLAT}/status", flat.status),
        form_route(f"{_FLAT}/step", flat.step),
        form_route(f"{_FLAT}/stars", flat.rate),
        form_route(f"{_FLAT}/decision", flat.decide),
        form_route(f"{_FLAT}/decide_by", flat.decide_by),
        form_route(f"{_FLAT}/note", flat.note),
        form_route(f"{_FLAT}/tell", flat.tell),
        form_route(f"{_FLAT}/viewing", flat.plan),
        form_route(f"{_FLAT}/viewing/{{viewing:id}}", flat.change_plan),
        upload_route(f"{_FLAT}/own_photos", own_photos.add),
        get_route(f"{_FLAT}/own_photos/{{photo:id}}.jpg", own_photos.show),
        form_route(f"{_FLAT}/own_photos/{{photo:id}}/drop", own_photos.drop),
        form_route(f"{_FLAT}/correct", flat.put_right),
        form_route(f"{_FLAT}/split", flat.part),
        form_route(f"{_FLAT}/value", flat.value),
        form_route(f"{_FLAT}/share", shared.make),
        form_route("/shared_links/end", shared.end),
        form_route("/people/add", people.add),
        form_route("/people/link", people.link),
        form_route("/people/remove", people.remove),
        form_route("/people/password", people.password),
        form_route("/people/language", people.speak),
        form_route("/people/sign_out", people.leave),
        form_route("/criteria", criteria.save),
        form_route("/criteria/apply", criteria.apply),
        form_route("/alerts", alerts.keep),
        form_route("/alerts/begin", alerts.begin),
        form_route("/alerts/switch", alerts.switch),
        form_route("/alerts/remove", alerts.remove),
        form_route("/alerts/test", alerts.try_channel),
        form_route("/channels/telegram", channels.telegram),
        form_route("/channels/chat", alerts.then_tell(channels.chat)),
        form_route("/channels/mail", alerts.then_tell(channels.mail)),
        form_route("/channels/ntfy", alerts.then_tell(channels.ntfy)),
        form_route("/channels/other", alerts.then_tell(channels.other)),
        form_route("/channels/test", channels.send_test),
        form_route("/channels/remove", channels.remove),
        form_route("/cross_site/answer", elsewhere.answer),
        form_route("/health/page/{row:id}/reparse", health.reparse),
        form_route("/health/run", partial(health.begin, "run")),
        form_route("/health/probe", partial(health.begin, "probe")),
    ]


def _property(visit: PageVisit) -> Response:
    """Redirect the former address of a flat."""
    number = visit.param("id") or ""
    return RedirectResponse(f"/flat/{number}" if number.isascii() and number.isdigit() else "/search", 301)


def _manifest(_visit: PageVisit) -> Response:
    """The manifest that lets the page be put on a phone's home screen."""
    icon = {"src": "/static/icon.svg", "sizes": "any", "type": "image/svg+xml"}
    names = {"name": say("app.title"), "short_name": say("app.title"), "icons": [icon]}
    shape = {
        "start_url": "/",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#1d5fb4",
    }
    return JSONResponse({**names, **shape}, media_type="application/manifest+json")


def _drawing(visit: PageVisit) -> Response:
    """The drawing in place of a photo of a simulated flat."""
    body = draw_svg(visit.request.path_params["name"])
    return Response(body, media_type="image/svg+xml", headers={"cache-control": "public, max-age=86400"})


def warm(state: AppState) -> None:
    """Merge and score what changed meanwhile, and compute the market; never raises.

    Requests in the meantime wait for the same work. A missing database is not created here, but by
    whatever first needs it.
    """
    try:
        if open_database(state.settings).exists():
            state.refresh(load_profiles(state.settings.data_dir).profiles)
            state.market("sale")
            state.database.run_read(partial(read_agenda, now=time.time()))  # routes are computed once
    except Exception:  # the pages run into it again and report it
        log.exception("the flats could not be read before the first visit")


def serve(host: str, port: int) -> None:
    """Serve the pages until SIGTERM, or until standard input ends, as the command that started it is gone."""
    settings = load_settings()
    threading.Thread(target=_stop_at_end, daemon=True).start()
    trusted = list(_proxy_spellings(settings.dashboard_trusted_proxies or ()))
    app = application(settings, routes())
    threading.Thread(target=warm, args=(app.state.dashboard,), daemon=True).start()
    gc.freeze()  # imported objects stay; collecting them again costs 0.1 s in the middle of a request
    uvicorn.run(
        app,
        host=host,
        port=port,
        proxy_headers=bool(trusted),
        forwarded_allow_ips=trusted,
        log_config=None,
        access_log=False,
        server_header=False,
    )


def _proxy_spellings(proxies: Iterable[Network]) -> Iterator[str]:
    """Each network, and an IPv4 one also as an IPv6 socket sees it (IPv4-mapped)."""
    for network in proxies:
        yield str(network)
        if isinstance(network, ipaddress.IPv4Network):
            yield f"::ffff:{network.network_address}/{96 + network.prefixlen}"


def _stop_at_end() -> None:
    while os.read(_STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """The program."""
    end_at_once()
    log_as_service(load_settings())
    serve(sys.argv[1], int(sys.argv[2]))


if __name__ == "__main__":
    main()
