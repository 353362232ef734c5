"""Challenge and block pages as the vendors serve them, in short, and good pages that resemble them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sale_sofia.fetching.base import Response

ASKED = "https://www.imot.bg/obiava-1c1"
ADVERT = "<p>Двустаен, Лозенец, 75 кв.м</p>" * 300


class Case(NamedTuple):
    name: str
    status: int
    body: str
    headers: Mapping[str, str] = MappingProxyType({})
    vendor: str = ""
    kind: str = ""


def html(body: str, title: str = "Имоти") -> str:
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>"


def answer(case: Case, url: str = ASKED) -> Response:
    headers = {"content-type": "text/html; charset=windows-1251", **case.headers}
    return Response(url, case.status, headers, case.body.encode("cp1251", "xmlcharrefreplace"), 0.1)


INCAPSULA = '<iframe src="/_Incapsula_Resource?CWUDNSAI=9" id="main-iframe"></iframe>'
EDGESUITE = "You don't have permission. Reference #18.2d3 https://errors.edgesuite.net/18.2d3"
ORCHESTRATE = '<script src="/cdn-cgi/challenge-platform/h/g/orchestrate/jsch/v1">'
ANUBIS = '<script id="anubis_challenge" type="application/json">'
CF_OPTIONS = "<script>window._cf_chl_opt={}</script>"
GOKU = "<script>window.gokuProps={}</script>"
LOGIN_FORM = '<i data-google-recaptcha-key="6L"></i><b class="g-recaptcha">'
BEACON = "<script>__CF$cv$params; /cdn-cgi/challenge-platform/scripts/jsd/main.js</script>"
CHALLENGES = [
    Case("managed", 403, html("Enable JS"), {"cf-mitigated": "challenge"}, "Cloudflare", "cloudflare"),
    Case("options", 200, html(CF_OPTIONS + ADVERT), {}, "Cloudflare", "cloudflare"),
    Case("orchestrate", 503, html(ORCHESTRATE), {}, "Cloudflare", "cloudflare"),
    Case("moment", 200, html("wait", "Just a moment..."), {}, "Cloudflare", "cloudflare"),
    Case("attention", 403, html("x", "Attention Required! | Cloudflare"), {}, "Cloudflare", "cloudflare"),
    Case("1020", 403, html("Error 1020 <div id=cf-error-details>"), {}, "Cloudflare", "ip_ban"),
    Case("server", 403, html("no"), {"server": "cloudflare"}, "Cloudflare", "cloudflare"),
    Case("datadome header", 403, html("no"), {"x-datadome": "blocked"}, "DataDome", "captcha"),
    Case("datadome body", 200, html("<script>var dd={'rt':'c'}</script>"), {}, "DataDome", "captcha"),
    Case("datadome cookie", 403, html("no"), {"set-cookie": "datadome=a; Path=/"}, "DataDome", "captcha"),
    Case("perimeterx", 200, html('<div id="px-captcha"></div>' + ADVERT), {}, "PerimeterX", "captcha"),
    Case("hold", 200, html("Press &amp; Hold to confirm you are human"), {}, "PerimeterX", "captcha"),
    Case("imperva frame", 200, html(INCAPSULA), {}, "Imperva", "challenge"),
    Case("imperva words", 200, html("Incapsula incident ID: 1-2" + ADVERT), {}, "Imperva", "challenge"),
    Case("imperva header", 403, html("no"), {"x-iinfo": "9-1"}, "Imperva", "challenge"),
    Case("akamai", 200, html(EDGESUITE, "Access Denied"), {}, "Akamai", "ip_ban"),
    Case("aws header", 200, html("x"), {"x-amzn-waf-action": "challenge"}, "AWS WAF", "challenge"),
    Case("aws body", 202, html(GOKU + ADVERT), {}, "AWS WAF", "challenge"),
    Case("kasada", 429, html('<script src="/149/ips.js">' + ADVERT), {}, "Kasada", "challenge"),
    Case("vercel", 200, html("x"), {"x-vercel-mitigated": "challenge"}, "Vercel", "challenge"),
    Case("anubis", 200, html(ANUBIS), {}, "Anubis", "challenge"),
    Case("sucuri", 200, html("x", "Sucuri WebSite Firewall - Access Denied"), {}, "Sucuri", "ip_ban"),
    Case("recaptcha", 200, html('<div class="g-recaptcha"></div>'), {}, "captcha widget", "captcha"),
    Case("turnstile 429", 429, html('<div class="cf-turnstile">' + ADVERT), {}, "captcha widget", "captcha"),
    Case("hidden in 404", 404, html("x", "Just a moment..."), {}, "Cloudflare", "cloudflare"),
    Case("plain 403", 403, "no", {}, "the portal", "forbidden"),
    Case("plain 401", 401, "no", {}, "the portal", "login"),
    Case("plain 451", 451, "no", {}, "the portal", "legal"),
]  # fmt: skip
GOOD = [
    Case("login form's captcha", 200, html(LOGIN_FORM + ADVERT)),
    Case("beacon", 200, html(BEACON + ADVERT)),
    Case(
        "cloudflare's ray",
        200,
        html(ADVERT),
        {"cf-ray": "8", "server": "cloudflare", "set-cookie": "__cf_bm=1"},
    ),
    Case("datadome's guest", 200, html(ADVERT), {"x-datadome": "protected", "set-cookie": "datadome=1"}),
    Case(
        "imperva's guest",
        200,
        html(ADVERT),
        {"x-iinfo": "1", "x-cdn": "Incapsula", "set-cookie": "visid_incap_1=2"},
    ),
    Case(
        "akamai's guest", 200, html(ADVERT), {"set-cookie": "_abck=1, bm_sz=2", "akamai-cache-status": "Hit"}
    ),
    Case(
        "aws's guest", 200, html(ADVERT + "gokuProps"), {"x-amz-cf-id": "1", "set-cookie": "aws-waf-token=1"}
    ),
    Case("words", 200, html("blocked captcha access denied verify you are human Error 1020" + ADVERT)),
    Case("resource on a full page", 200, html(INCAPSULA + ADVERT)),
    Case("the title alone", 200, html(ADVERT, "Access Denied")),
    Case("a mark far below", 200, html("<p>текст</p>" * 8000 + "px-captcha")),
]
