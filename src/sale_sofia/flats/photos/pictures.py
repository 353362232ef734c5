"""Pictures compared by what they show: copies that were packed again, cropped, marked or mirrored are one.

A picture is looked at whole and through windows that each leave an edge or a corner away. Of each there are
two hashes: the signs of its slow waves (pHash) and of its steps from left to right (dHash). Two pictures are
one where both hashes of the whole, or of a window, are nearly the same. Mirrored, the signs of the odd waves
turn round, and the steps are read backwards: so a mirrored copy needs no hashes of its own.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats.settings import ALIKE_STEPS, ALIKE_WAVES, LEAST_CONTRAST, WINDOW

Hashes = NDArray[np.uint64]
"""By window and by hash, two columns; of many pictures, by picture first."""
_REST: Final = 1 - WINDOW
_MIDDLE: Final = _REST / 2
WINDOWS: Final = (
    (0.0, 0.0, 1.0, 1.0),
    (_MIDDLE, _MIDDLE, 1 - _MIDDLE, 1 - _MIDDLE),
    (0.0, 0.0, 1.0, WINDOW),
    (0.0, _REST, 1.0, 1.0),
    (0.0, 0.0, WINDOW, 1.0),
    (_REST, 0.0, 1.0, 1.0),
    (0.0, 0.0, WINDOW, WINDOW),
    (_REST, 0.0, 1.0, WINDOW),
    (0.0, _REST, WINDOW, 1.0),
    (_REST, _REST, 1.0, 1.0),
)
"""Left, upper, right and lower edge of what is looked at, as shares; the whole picture first."""
_MIRRORED: Final = (0, 1, 2, 3, 5, 4, 7, 6, 9, 8)
"""The window that each one is in a mirror."""
TILE: Final = (36, 32)
"""Columns and rows to which a window is made small: four by four for each of 9 times 8 parts."""
_WAVES: Final = 8
_ALIKE: Final = np.array((ALIKE_WAVES, ALIKE_STEPS))
_FAR: Final = 2 * 64
_PART: Final = 4


def _cosines(size: int, first: int) -> NDArray[np.float64]:
    """Of the waves from `first` on, a row each: the discrete cosine transform."""
    places = (np.arange(size) + 0.5) * np.pi / size
    return np.cos(np.arange(first, first + _WAVES)[:, None] * places)


# The even light of a row says nothing of a picture: across, waves begin with the first.
_ACROSS: Final = _cosines(TILE[0], 1)
_DOWN: Final = _cosines(TILE[1], 0)
_ODD_WAVES: Final = np.packbits(np.tile(np.arange(1, _WAVES + 1) % 2 == 1, _WAVES)).view(np.uint64)[0]
_BACKWARDS: Final = np.packbits(
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1
)


def signature(tiles: bytes) -> bytes | None:
    """What is kept of a picture, from its windows in grey, `TILE` each; nothing of one that is blank."""
    seen = np.frombuffer(tiles, np.uint8).reshape(len(WINDOWS), TILE[1], TILE[0]).astype(np.float64)
    parts = seen.reshape(len(WINDOWS), TILE[1] // _PART, _PART, TILE[0] // _PART, _PART).mean(axis=(2, 4))
    if parts[0].std() < LEAST_CONTRAST:
        return None
    waves = _packed(_DOWN @ seen @ _ACROSS.T > 0)
    steps = _packed(np.diff(parts, axis=2) > 0)
    return np.stack((waves, steps), axis=1).tobytes()


def _packed(bits: NDArray[np.bool_]) -> Hashes:
    return np.packbits(bits.reshape(len(bits), 64), axis=1).view(np.uint64)[:, 0]


def unpacked(signatures: list[bytes]) -> Hashes:
    """The hashes of stored signatures, by picture, window and kind."""
    return np.frombuffer(b"".join(signatures), np.uint64).reshape(-1, len(WINDOWS), 2)


def mirrored(hashes: Hashes) -> Hashes:
    """The hashes that the same picture has in a mirror."""
    turned = hashes[list(_MIRRORED)]
    steps = np.ascontiguousarray(turned[:, 1:]).view(np.uint8)
    backwards = _BACKWARDS[steps, 0].view(np.uint64)
    return np.concatenate((turned[:, :1] ^ _ODD_WAVES, ~backwards), axis=1)


def alike(picture: Hashes, others: Hashes) -> NDArray[np.int64]:
    """How far each of the others is from this picture, in bits; -1: it is another picture."""
    found = np.full(len(others), -1, np.int64)
    # By their waves alone nearly all are others, and that is most of the work.
    perhaps = np.flatnonzero(_distances(picture[:, :1], others[..., :1]) < _FAR)
    near = _distances(picture, others[perhaps])
    found[perhaps] = np.where(near < _FAR, near, -1)
    return found


def _distances(picture: Hashes, others: Hashes) -> NDArray[np.int64]:
    """Of the nearest two parts the bits by which they differ; `_FAR`: no two are near enough."""
    nearest = np.full(len(others), _FAR, np.int64)
    for own in (picture, mirrored(picture)):
        # The whole of one with each part of the other, and each part with the same part.
        for mine, theirs in ((own[None, :1], others), (own[None], others[:, :1]), (own[None], others)):
            apart: NDArray[Any] = np.bitwise_count(mine ^ theirs)
            near = (apart <= _ALIKE[: apart.shape[2]]).all(axis=2)
            bits = np.where(near, apart.sum(axis=2, dtype=np.int64), _FAR)
            nearest = np.minimum(nearest, bits.min(axis=1))
    return nearest
