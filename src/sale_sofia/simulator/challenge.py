"""A page that lets only browsers through: its script works out a cookie and loads the page again."""

import re
from collections.abc import Mapping

COOKIE = "passed"
SCRIPT_PATH = "/challenge/pass.js"
_SEED, _FACTOR, _MODULUS = 17, 31, 1_000_003

CHALLENGE_PAGE = f"""<!DOCTYPE html><html lang="bg"><head><meta charset="utf-8"><title>Проверка</title>
<link rel="stylesheet" href="/challenge/style.css"><link rel="icon" href="/challenge/icon.png">
<script id="anubis_challenge" type="application/json">{{"difficulty": 1}}</script>
<script src="http://third-party.invalid/count.js"></script>
<script src="{SCRIPT_PATH}"></script></head>
<body><img src="/challenge/logo.png" alt=""><video src="/challenge/film.mp4"></video>
<noscript>Включете JavaScript.</noscript></body></html>
""".encode()
"""It also asks for pictures, styles and a foreign script, which a polite visitor leaves alone."""
CHALLENGE_SCRIPT = f"""
let worked = {_SEED};
for (const sign of navigator.userAgent) worked = (worked * {_FACTOR} + sign.charCodeAt(0)) % {_MODULUS};
document.cookie = "{COOKIE}=" + worked + "; path=/";
location.reload();
""".encode()


def has_passed(headers: Mapping[str, str]) -> bool:
    """Whether the visitor has worked out its cookie, and is still the browser that did."""
    return f"{COOKIE}={_worked_out(headers.get('User-Agent', ''))}" in re.split(
        r";\s*", headers.get("Cookie", "")
    )


def _worked_out(user_agent: str) -> int:
    worked = _SEED
    for sign in user_agent:
        worked = (worked * _FACTOR + ord(sign)) % _MODULUS
    return worked
