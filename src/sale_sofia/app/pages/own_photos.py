"""Photos that the household took itself: added, looked at by the household alone, taken away."""

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Final

from starlette.responses import Response

from sale_sofia.app.application import Done
from sale_sofia.app.visit import Visit
from sale_sofia.app.words import say, told
from sale_sofia.buyer.evaluations import WrongEvaluation, current_property
from sale_sofia.buyer.own_photos import drop_photo, keep_photo, own_photos_of
from sale_sofia.crawl.photos.decoding import decode_own
from sale_sofia.crawl.resilience.errors import ParseHostile

_ONE_AT_A_TIME: Final = Lock()
"""Pictures are unpacked one after the other: each may take much memory."""
_HEADERS: Final = {"content-disposition": "inline", "cross-origin-resource-policy": "same-origin"}


def add(visit: Visit) -> Done:
    """Keep the photos that were sent, each decoded in a process of its own and written anew."""
    number, settings = _number(visit), visit.site.settings
    visit.database.run_read(partial(current_property, property_id=number))
    too_large = say("own_photos.large", most=settings.own_photo_max_bytes // 1_000_000)
    if visit.files is None:
        return Done(too_large, wrong=True)
    if not visit.files:
        return Done(say("own_photos.none"), wrong=True)
    if max(map(len, visit.files)) > settings.own_photo_max_bytes:
        return Done(too_large, wrong=True)
    try:
        for picture in _written_anew(visit, visit.files):
            keep_photo(visit.database, settings.data_dir, number, picture, visit.by)
    except ParseHostile:
        return Done(say("own_photos.wrong"), wrong=True)
    except WrongEvaluation as error:
        return Done(told(error), wrong=True)
    return Done(say("own_photos.kept", n=len(visit.files)))


def _written_anew(visit: Visit, files: Sequence[bytes]) -> list[bytes]:
    """All of them, or none."""
    with _ONE_AT_A_TIME:
        return [decode_own(visit.site.settings, one) for one in files]


def show(visit: Visit) -> Response:
    """The picture."""
    wanted = int(visit.request.path_params["photo"])
    found = visit.database.run_read(partial(own_photos_of, property_id=_number(visit)))
    path = next((one.path(visit.site.settings.data_dir) for one in found if one.id == wanted), None)
    if path is None or not path.is_file():
        return Response(status_code=404)
    return Response(path.read_bytes(), media_type="image/jpeg", headers=_HEADERS)


def drop(visit: Visit) -> Done:
    """Take one away."""
    number, photo = _number(visit), int(visit.request.path_params["photo"])
    drop_photo(visit.database, visit.site.settings.data_dir, number, photo, visit.by)
    return Done(say("own_photos.dropped"))


def _number(visit: Visit) -> int:
    return int(visit.request.path_params["number"])
