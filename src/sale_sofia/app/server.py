"""The dashboard's server as a program, started by `sale-sofia dashboard` as serving HOST PORT."""

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
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from sale_sofia.advice.scoring.profile import load_profiles
from sale_sofia.app.application import application, asked, sent, shown, uploaded
from sale_sofia.app.drawing import drawn
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
from sale_sofia.app.visit import Site, Visit
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
_FLAT: Final = "/flat/{number:int}"


def routes() -> list[BaseRoute]:
    """Every address there is; those of before lead on."""
    return [
        *shown("/", today.page),
        *shown("/today", today.page),
        *shown("/search", search.page),
        *shown("/compare", compare.page),
        *shown("/map", maps.page),
        *shown("/mine", mine.page),
        asked("/mine/viewings.ics", mine.calendar),
        *shown("/agenda", agenda.page),
        sent("/agenda/add", agenda.add),
        sent("/agenda/subscribe", agenda.subscribe),
        sent("/agenda/unsubscribe", agenda.unsubscribe),
        asked("/map/base.json", maps.base),
        asked("/map/card/{number:int}", maps.card),
        *shown("/criteria", criteria.page),
        *shown("/alerts", alerts.page),
        *shown("/channels", channels.page),
        *shown(_FLAT, flat.page),
        *shown("/market", market.page),
        *shown("/cross_site", elsewhere.page),
        *shown("/health", health.page),
        *shown("/people", people.page),
        asked(f"{SHARED_PATH}{{token}}", shared.page),
        asked("/health/page/{row:int}", health.archived),
        asked("/search.csv", search.export),
        asked(f"{_FLAT}/viewings.ics", flat.calendar),
        asked(f"{_FLAT}/sheet.pdf", shared.sheet),
        asked(f"{_FLAT}/sheet.png", shared.sheet),
        asked("/property", _property),
        asked("/drawing/{name}.svg", _drawing),
        asked("/manifest.webmanifest", _manifest),
        sent("/today/seen", today.seen),
        sent("/today/later", today.later),
        sent("/today/tell", today.tell),
        sent("/search/save", search.save),
        sent("/search/tell", search.tell),
        sent("/search/forget", search.forget),
        sent("/compare/tick", compare.tick),
        sent(f"{_FLAT}/status", flat.status),
        sent(f"{_FLAT}/step", flat.step),
        sent(f"{_FLAT}/stars", flat.rate),
        sent(f"{_FLAT}/decision", flat.decide),
        sent(f"{_FLAT}/decide_by", flat.decide_by),
        sent(f"{_FLAT}/note", flat.note),
        sent(f"{_FLAT}/tell", flat.tell),
        sent(f"{_FLAT}/viewing", flat.plan),
        sent(f"{_FLAT}/viewing/{{viewing:int}}", flat.change_plan),
        uploaded(f"{_FLAT}/own_photos", own_photos.add),
        asked(f"{_FLAT}/own_photos/{{photo:int}}.jpg", own_photos.show),
        sent(f"{_FLAT}/own_photos/{{photo:int}}/drop", own_photos.drop),
        sent(f"{_FLAT}/correct", flat.put_right),
        sent(f"{_FLAT}/split", flat.part),
        sent(f"{_FLAT}/value", flat.value),
        sent(f"{_FLAT}/share", shared.make),
        sent("/shared_links/end", shared.end),
        sent("/people/add", people.add),
        sent("/people/link", people.link),
        sent("/people/remove", people.remove),
        sent("/people/password", people.password),
        sent("/people/language", people.speak),
        sent("/people/sign_out", people.leave),
        sent("/criteria", criteria.save),
        sent("/criteria/apply", criteria.apply),
        sent("/alerts", alerts.keep),
        sent("/alerts/begin", alerts.begin),
        sent("/alerts/switch", alerts.switch),
        sent("/alerts/remove", alerts.remove),
        sent("/alerts/test", alerts.try_channel),
        sent("/channels/telegram", channels.telegram),
        sent("/channels/chat", alerts.then_tell(channels.chat)),
        sent("/channels/mail", alerts.then_tell(channels.mail)),
        sent("/channels/ntfy", alerts.then_tell(channels.ntfy)),
        sent("/channels/other", alerts.then_tell(channels.other)),
        sent("/channels/test", channels.try_one),
        sent("/channels/remove", channels.remove),
        sent("/cross_site/answer", elsewhere.answer),
        sent("/health/page/{row:int}/reparse", health.reparse),
        sent("/health/run", partial(health.begin, "run")),
        sent("/health/probe", partial(health.begin, "probe")),
    ]


def _property(visit: Visit) -> Response:
    """The address that a flat had before."""
    number = visit.asked("id") or ""
    return RedirectResponse(f"/flat/{number}" if number.isascii() and number.isdigit() else "/search", 301)


def _manifest(_visit: Visit) -> Response:
    """So that the page can be put on a phone's home screen."""
    icon = {"src": "/static/icon.svg", "sizes": "any", "type": "image/svg+xml"}
    said = {"name": say("app.title"), "short_name": say("app.title"), "icons": [icon]}
    shape = {
        "start_url": "/",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#1d5fb4",
    }
    return JSONResponse({**said, **shape}, media_type="application/manifest+json")


def _drawing(visit: Visit) -> Response:
    """What stands for a photo of a made-up flat."""
    body = drawn(visit.request.path_params["name"])
    return Response(body, media_type="image/svg+xml", headers={"cache-control": "public, max-age=86400"})


def warm(site: Site) -> None:
    """Merge and score what changed meanwhile, and work out the market; never raises.

    Whoever comes meanwhile waits for the same work. A database that is not there yet is left to be made by
    whoever first needs it.
    """
    try:
        if open_database(site.settings).exists():
            site.refresh(load_profiles(site.settings.data_dir).profiles)
            site.market("sale")
            site.database.run_read(partial(read_agenda, now=time.time()))  # ways are worked out once
    except Exception:  # whatever it is, the pages meet it again and say so
        log.exception("the flats could not be read before the first visit")


def serve(host: str, port: int) -> None:
    """Serve the pages until SIGTERM, or until standard input ends: the command that started it is gone."""
    settings = load_settings()
    threading.Thread(target=_stop_at_end, daemon=True).start()
    trusted = list(_spelled(settings.dashboard_trusted_proxies or ()))
    found = application(settings, routes())
    threading.Thread(target=warm, args=(found.state.site,), daemon=True).start()
    gc.freeze()  # what was imported stays; looking through it again costs 0.1 s, in the middle of a page
    uvicorn.run(
        found,
        host=host,
        port=port,
        proxy_headers=bool(trusted),
        forwarded_allow_ips=trusted,
        log_config=None,
        access_log=False,
        server_header=False,
    )


def _spelled(proxies: Iterable[Network]) -> Iterator[str]:
    """Each as it may look at a socket: where IPv6 is listened on, an IPv4 address comes inside one of it."""
    for one in proxies:
        yield str(one)
        if isinstance(one, ipaddress.IPv4Network):
            yield f"::ffff:{one.network_address}/{96 + one.prefixlen}"


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
