"""Photos that the household took itself: added, shown to the household alone, removed."""

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Final

from starlette.responses import Response

from sale_sofia.app.application import Done
from sale_sofia.app.visit import PageVisit
from sale_sofia.app.words import say, translate
from sale_sofia.buyer.evaluations import WrongEvaluation, current_property
from sale_sofia.buyer.own_photos import drop_photo, keep_photo, own_photos_of
from sale_sofia.crawl.resilience.errors import ParseHostile

_ONE_AT_A_TIME: Final = Lock()
"""Pictures are decoded one at a time: each may take much memory."""
_HEADERS: Final = {"content-disposition": "inline", "cross-origin-resource-policy": "same-origin"}


def add(visit: PageVisit) -> Done:
    """Store the photos of the form, each decoded in a process of its own and encoded again."""
    number, settings = visit.property_id, visit.state.settings
    visit.database.run_read(partial(current_property, property_id=number))
    too_large = say("own_photos.large", most=settings.own_photo_max_bytes // 1_000_000)
    if visit.files is None:
        return Done(too_large, wrong=True)
    if not visit.files:
        return Done(say("own_photos.none"), wrong=True)
    if max(map(len, visit.files)) > settings.own_photo_max_bytes:
        return Done(too_large, wrong=True)
    try:
        for picture in _decode_all(visit, visit.files):
            keep_photo(visit.database, settings.data_dir, number, picture, visit.by)
    except ParseHostile:
        return Done(say("own_photos.wrong"), wrong=True)
    except WrongEvaluation as error:
        return Done(translate(error), wrong=True)
    return Done(say("own_photos.kept", n=len(visit.files)))


def _decode_all(visit: PageVisit, files: Sequence[bytes]) -> list[bytes]:
    """Decode all of them, or raise."""
    from sale_sofia.crawl.photos.decoding import decode_own  # noqa: PLC0415 - 12 MB, for the few who add some

    with _ONE_AT_A_TIME:
        return [decode_own(visit.state.settings, file) for file in files]


def show(visit: PageVisit) -> Response:
    """The picture."""
    photo_id = int(visit.request.path_params["photo"])
    photos = visit.database.run_read(partial(own_photos_of, property_id=visit.property_id))
    path = next((photo.path(visit.state.settings.data_dir) for photo in photos if photo.id == photo_id), None)
    if path is None or not path.is_file():
        return Response(status_code=404)
    return Response(path.read_bytes(), media_type="image/jpeg", headers=_HEADERS)


def drop(visit: PageVisit) -> Done:
    """Remove a photo."""
    number, photo = visit.property_id, int(visit.request.path_params["photo"])
    drop_photo(visit.database, visit.state.settings.data_dir, number, photo, visit.by)
    return Done(say("own_photos.dropped"))
