"""Compares pictures by content: recompressed, cropped, watermarked or mirrored copies are the same picture.

A picture is hashed whole and through windows that each omit an edge or a corner. Each has two hashes: the
signs of its low frequencies (pHash) and of its steps from left to right (dHash). Two pictures are the same if
both hashes of the whole, or of a window, are nearly equal. Mirroring flips the signs of the odd frequencies
and reverses the steps, so a mirrored copy needs no hashes of its own.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sale_sofia.flats.settings import ALIKE_STEPS, ALIKE_WAVES, LEAST_CONTRAST, WINDOW

Hashes = NDArray[np.uint64]
"""By window and hash, two columns; for many pictures, by picture first."""
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
"""Left, upper, right and lower edge of each window, as shares; the whole picture first."""
_MIRRORED: Final = (0, 1, 2, 3, 5, 4, 7, 6, 9, 8)
"""The mirror image of each window."""
TILE: Final = (36, 32)
"""Columns and rows to which a window is scaled: four by four for each of 9 times 8 parts."""
_WAVES: Final = 8
_ALIKE: Final = np.array((ALIKE_WAVES, ALIKE_STEPS))
_FAR: Final = 2 * 64
_PART: Final = 4


def _cosines(size: int, first: int) -> NDArray[np.float64]:
    """The matrix of the discrete cosine transform, a row for each frequency from `first` on."""
    places = (np.arange(size) + 0.5) * np.pi / size
    return np.cos(np.arange(first, first + _WAVES)[:, None] * places)


# The mean brightness of a row says nothing about a picture: across, frequencies begin with the first.
_ACROSS: Final = _cosines(TILE[0], 1)
_DOWN: Final = _cosines(TILE[1], 0)
_ODD_WAVES: Final = np.packbits(np.tile(np.arange(1, _WAVES + 1) % 2 == 1, _WAVES)).view(np.uint64)[0]
_BACKWARDS: Final = np.packbits(
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1
)


def signature(tiles: bytes) -> bytes | None:
    """The hashes of a picture from its windows in grey, `TILE` each; None for a blank one."""
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
    """The hashes of the mirrored picture."""
    turned = hashes[list(_MIRRORED)]
    steps = np.ascontiguousarray(turned[:, 1:]).view(np.uint8)
    backwards = _BACKWARDS[steps, 0].view(np.uint64)
    return np.concatenate((turned[:, :1] ^ _ODD_WAVES, ~backwards), axis=1)


def alike(picture: Hashes, others: Hashes) -> NDArray[np.int64]:
    """The distance in bits of each of the others from this picture; -1: another picture."""
    found = np.full(len(others), -1, np.int64)
    # The pHash alone excludes nearly all, and is most of the work.
    perhaps = np.flatnonzero(_distances(picture[:, :1], others[..., :1]) < _FAR)
    near = _distances(picture, others[perhaps])
    found[perhaps] = np.where(near < _FAR, near, -1)
    return found


def _distances(picture: Hashes, others: Hashes) -> NDArray[np.int64]:
    """The differing bits of the nearest two parts; `_FAR`: no two are near enough."""
    nearest = np.full(len(others), _FAR, np.int64)
    for own in (picture, mirrored(picture)):
        # Each whole with each part of the other, and each part with the same part.
        for mine, theirs in ((own[None, :1], others), (own[None], others[:, :1]), (own[None], others)):
            apart: NDArray[Any] = np.bitwise_count(mine ^ theirs)
            near = (apart <= _ALIKE[: apart.shape[2]]).all(axis=2)
            bits = np.where(near, apart.sum(axis=2, dtype=np.int64), _FAR)
            nearest = np.minimum(nearest, bits.min(axis=1))
    return nearest
