"""Draws from a Beta distribution by a generator that Lua has too: one seed, one choice, on every backend."""

import math
from typing import Final

_MULTIPLIER: Final = 48_271
_MODULUS: Final = 2_147_483_647
_WARM_UP: Final = 3


class Chance:
    """Park and Miller's generator: every product of it is exact in a double, as in Lua."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed % (_MODULUS - 1) + 1
        for _ in range(_WARM_UP):
            self.uniform()

    def uniform(self) -> float:
        """A number between 0 and 1, both excluded."""
        self._state = self._state * _MULTIPLIER % _MODULUS
        return self._state / _MODULUS

    def beta(self, a: float, b: float) -> float:
        """A draw from Beta(a, b), both at least 1."""
        x = self._gamma(a)
        return x / (x + self._gamma(b))

    def _gamma(self, shape: float) -> float:
        """Marsaglia and Tsang's way, for shapes from 1 on."""
        d = shape - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self._normal()
            v = (1 + c * x) ** 3
            if v > 0 and math.log(self.uniform()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v

    def _normal(self) -> float:
        return math.sqrt(-2 * math.log(self.uniform())) * math.cos(2 * math.pi * self.uniform())
