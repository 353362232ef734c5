"""What goes wrong on purpose: by a share of the requests, the same for the same seed."""

import time
from collections import Counter
from dataclasses import dataclass
from email.utils import formatdate
from random import Random
from typing import NamedTuple

FAULTS = ("429", "503", "slow", "reset", "captcha", "challenge", "truncate", "cut")

_CHALLENGE = """<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title>
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
<meta name="robots" content="noindex,nofollow">
<meta http-equiv="refresh" content="390"></head><body><div class="main-wrapper" role="main"><noscript>
<div id="challenge-error-text">Enable JavaScript and cookies to continue</div></noscript></div>
<script>(function(){window._cf_chl_opt={cvId:'3',cType:'managed',cRay:'9d2f6a1c0e8b4f57'};
var a=document.createElement('script');a.src='/cdn-cgi/challenge-platform/h/g/orchestrate/chl_page/v1';
document.getElementsByTagName('head')[0].appendChild(a);}());</script></body></html>
"""
_RECAPTCHA = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>Проверка</title>
<script src="https://www.google.com/recaptcha/api.js" async defer></script></head>
<body><form method="post" action="/captcha"><p>Моля, потвърдете, че не сте робот.</p>
<div class="g-recaptcha" data-sitekey="0000000000000000000000000000000000000000"></div>
<button type="submit">Продължи</button></form></body></html>
"""
CAPTCHA_PAGES = (_CHALLENGE.encode(), _RECAPTCHA.encode())


class Fault(NamedTuple):
    """One thing going wrong; `variant` picks among the forms it has."""

    name: str
    variant: int = 0


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """What a 429 says of when to come back: in so many seconds, or the moment itself."""

    seconds: int = 1
    as_date: bool = False

    def header(self) -> str:
        """The header's value now."""
        return formatdate(time.time() + self.seconds, usegmt=True) if self.as_date else str(self.seconds)


_IN_A_SECOND = RetryAfter()


def parse_faults(text: str) -> dict[str, float]:
    """The shares in `429:0.02,slow:0.05`; anything else is a `ValueError` of one sentence."""
    rates: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, share = part.partition(":")
        if name in rates:
            raise ValueError(f"the fault {name} is given twice in {text!r}")
        rates[name] = _share(name, share, part)
    if sum(rates.values()) > 1:
        raise ValueError(f"the shares of the faults {text!r} add up to more than 1")
    return rates


def _share(name: str, share: str, part: str) -> float:
    try:
        number = float(share)
    except ValueError:
        number = -1.0
    if name not in FAULTS or not 0 <= number <= 1:
        raise ValueError(
            f"{part!r} is no fault: write name:share, a share from 0 to 1 and a name of {', '.join(FAULTS)}"
        )
    return number


class FaultPlan:
    """Decides by (seed, path, how often the path was asked): a repeated request has a new chance."""

    def __init__(self, rates: dict[str, float], seed: str, retry_after: RetryAfter = _IN_A_SECOND) -> None:
        self.retry_after = retry_after
        self._rates = rates
        self._seed = seed
        self._asked: Counter[str] = Counter()

    def next(self, path: str) -> Fault | None:
        """What goes wrong with this request, mostly nothing."""
        if not self._rates:
            return None
        self._asked[path] += 1
        rng = Random(f"{self._seed}:{path}:{self._asked[path]}")
        draw = rng.random()
        for name, share in self._rates.items():
            draw -= share
            if draw < 0:
                return Fault(name, rng.randrange(len(CAPTCHA_PAGES)))
        return None
