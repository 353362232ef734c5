"""Challenge and block pages as the vendors serve them, in short: each with whose it is and of what kind."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from sale_sofia.crawl.fetch.base import Response

ASKED = "https://www.imot.bg/obiava-1c1"
ADVERT = "<p>Двустаен, Лозенец, 75 кв.м</p>" * 300
WAIT = "<p>Моля, изчакайте, проверяваме вашия браузър.</p>"


class Case(NamedTuple):
    name: str
    status: int
    body: str
    headers: Mapping[str, str] = MappingProxyType({})
    vendor: str = ""
    kind: str = ""
    charset: str = "windows-1251"


def html(body: str, title: str = "Имоти") -> str:
    return f"<!DOCTYPE html><html><head><title>{title}</title></head><body>{body}</body></html>"


def answer(case: Case, url: str = ASKED) -> Response:
    headers = {"content-type": f"text/html; charset={case.charset}", **case.headers}
    return Response(url, case.status, headers, case.body.encode(case.charset, "xmlcharrefreplace"), 0.1)


CF_OPTIONS = (
    "<script>(function(){window._cf_chl_opt={cvId:'3',cType:'managed',cZone:'www.imot.bg'};})()</script>"
)
CF_PRETTY = "<script>\n  window._cf_chl_opt = {\n    cvId: '3',\n    cType: 'interactive'\n  };\n</script>\n"
CF_ERRORS = [
    html('<div id="cf-error-details"><h1>Access denied</h1><span class="cf-error-code">%d</span></div>'),
    html("Error %d <div id=cf-error-details>" + ADVERT),
    "error code: %d",
    '{"status":403,"error_code":%d,"cloudflare_error":true}',
    '{\n  "status": 403,\n  "error_code": %d\n}',
]
ORCHESTRATE = '<script src="/cdn-cgi/challenge-platform/h/{}/orchestrate/chl_page/v1?ray=9d2"></script>'
DD_MINIFIED = "<script>var dd={'rt':'c','cid':'AHrlqA','hsh':'D4','t':'fe','s':1}</script>"
DD_PRETTY = "<script>\n  var dd = {\n    'rt': 'i'\n  }\n</script>"
DD_FRAME = '<iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=AHr"></iframe>'
PX_SCRIPT = "<script>window._pxBlock=1</script>"
INCAPSULA = '<iframe src="/_Incapsula_Resource?CWUDNSAI=9&incident_id=1" id="main-iframe"></iframe>'
EDGESUITE = "You don't have permission. Reference #18.2d3 https://errors.edgesuite.net/18.2d3"
EDGESUITE_ESCAPED = "Reference&#32;&#35;18&#46;2d3 https&#58;&#47;&#47;errors&#46;edgesuite&#46;net&#47;18"
GOKU = '<script>window.gokuProps={"key":"AQ"}</script>'
AWS_SCRIPT = '<script src="https://1a.eu-central-1.token.awswaf.com/1a/challenge.js"></script>'
ANUBIS = '<script id="anubis_challenge" type="application/json">{"rules":{"difficulty":4}}</script>'
SUCURI = "Sucuri WebSite Firewall - Access Denied"
ATTENTION = "Attention Required! | Cloudflare"
RECAPTCHA = f'{WAIT}<form action="/verify"><div class="g-recaptcha" data-sitekey="6L"></div></form>'
MOMENT = html(WAIT, "Just a moment...")
PX_SENSOR = "<script>window._pxAppId='PX1'</script>"
PX_CAPTCHA_JS = '<script src="/px/captcha/captcha.js?a=c&m=0"></script>'
CF, DD, PX, AWS = "Cloudflare", "DataDome", "PerimeterX", "AWS WAF"

CLOUDFLARE_PAGES = [
    Case("managed", 403, html("Enable JS"), {"cf-mitigated": "challenge"}, CF, "cloudflare"),
    Case("managed, spelt otherwise", 200, html(WAIT), {"cf-mitigated": " Challenge "}, CF, "cloudflare"),
    Case("options", 200, html(CF_OPTIONS + ADVERT), {}, CF, "cloudflare"),
    Case("options, pretty", 403, html(CF_PRETTY + WAIT), {}, CF, "cloudflare", "utf-8"),
    Case("options, capitals", 503, html(CF_OPTIONS).upper(), {}, CF, "cloudflare"),
    Case("options after text", 429, html(ADVERT * 3 + CF_OPTIONS), {"retry-after": "9"}, CF, "cloudflare"),
    Case("orchestrate g", 503, html(ORCHESTRATE.format("g")), {}, CF, "cloudflare"),
    Case("orchestrate b", 200, html(ORCHESTRATE.format("b") + ADVERT), {}, CF, "cloudflare"),
    Case("moment", 200, MOMENT, {}, CF, "cloudflare"),
    Case("moment, spaced", 403, html(WAIT, "\n JUST A MOMENT...\n"), {}, CF, "cloudflare", "utf-8"),
    Case("moment, attribute", 200, MOMENT.replace("<title", "<TITLE lang='en'"), {}, CF, "cloudflare"),
    Case("hidden in 404", 404, MOMENT, {}, CF, "cloudflare"),
    Case("attention", 403, html("x", ATTENTION), {}, CF, "cloudflare"),
    Case("attention, tiny 200", 200, html("Sorry, you have been blocked", ATTENTION), {}, CF, "cloudflare"),
    Case("error details, 503", 503, html('<div id="cf-error-details">' + ADVERT), {}, CF, "cloudflare"),
    Case("server", 403, html("no"), {"server": "cloudflare"}, CF, "cloudflare"),
]  # fmt: skip
CLOUDFLARE_ERRORS = [
    Case(f"{number}, form {form}", 403, body % number, {}, CF, kind)
    for number, kind in ((1015, "rate_limit"), (1020, "ip_ban"))
    for form, body in enumerate(CF_ERRORS)
]
OTHER_VENDORS = [
    Case("datadome header", 403, html("no"), {"x-datadome": "blocked"}, DD, "captcha"),
    Case("datadome header b", 200, html(ADVERT), {"x-dd-b": "1"}, DD, "captcha"),
    Case("datadome minified", 200, html(DD_MINIFIED), {}, DD, "captcha"),
    Case("datadome pretty", 403, html(DD_PRETTY + WAIT), {}, DD, "captcha", "utf-8"),
    Case("datadome frame", 405, html(DD_FRAME + ADVERT), {}, DD, "captcha"),
    Case("datadome cookie", 403, html("no"), {"set-cookie": "a=1, DataDome=a; Path=/"}, DD, "captcha"),
    Case("perimeterx", 200, html('<div id="px-captcha"></div>' + ADVERT), {}, PX, "captcha"),
    Case("perimeterx script", 200, html(PX_SCRIPT), {}, PX, "captcha"),
    Case("perimeterx captcha.js", 200, html(PX_CAPTCHA_JS), {}, PX, "captcha"),
    Case("hold", 200, html("Press &amp; Hold to confirm you are human" + ADVERT), {}, PX, "captcha"),
    Case("hold, bare", 429, html("PRESS & HOLD"), {}, PX, "captcha", "utf-8"),
    Case("perimeterx app, 403", 403, html(PX_SENSOR + ADVERT), {}, PX, "captcha"),
    Case("perimeterx header, 403", 403, html("no"), {"x-px-authorization": "3"}, PX, "captcha"),
    Case("imperva frame", 200, html(INCAPSULA), {}, "Imperva", "challenge"),
    Case("imperva words", 200, html("Incapsula incident ID: 1-2" + ADVERT), {}, "Imperva", "challenge"),
    Case("imperva header", 403, html("no"), {"x-iinfo": "9-1"}, "Imperva", "challenge"),
    Case("imperva cdn, 503", 503, html("no"), {"x-cdn": "Incapsula"}, "Imperva", "challenge"),
    Case("imperva header, tiny 200", 200, html(WAIT), {"x-iinfo": "9-1"}, "Imperva", "challenge"),
    Case("akamai", 403, html(EDGESUITE, "Access Denied"), {}, "Akamai", "ip_ban"),
    Case("akamai, escaped", 200, html(EDGESUITE_ESCAPED, "Access Denied").upper(), {}, "Akamai", "ip_ban"),
    Case("akamai header", 403, html("no"), {"akamai-cache-status": "Error from child"}, "Akamai", "ip_ban"),
    Case("aws challenge", 202, "", {"x-amzn-waf-action": "challenge"}, AWS, "challenge"),
    Case("aws captcha", 405, html(WAIT), {"x-amzn-waf-action": "CAPTCHA"}, AWS, "captcha"),
    Case("aws body", 202, html(GOKU + ADVERT), {}, AWS, "challenge"),
    Case("aws script", 202, html(AWS_SCRIPT + ADVERT), {}, AWS, "challenge", "utf-8"),
    Case("aws body 405", 405, html(GOKU + ADVERT), {}, AWS, "captcha", "utf-8"),
    Case("aws script 405", 405, html(AWS_SCRIPT + ADVERT), {}, AWS, "captcha"),
    Case("aws cookie", 403, html("no"), {"set-cookie": "aws-waf-token=1"}, AWS, "challenge"),
    Case("kasada", 429, html('<script src="/149e9513/2d206a39/ips.js">' + ADVERT), {}, "Kasada", "challenge"),
    Case("kasada header", 403, "", {"x-kasada-challenge": "1"}, "Kasada", "challenge"),
    Case("vercel", 429, html("x"), {"x-vercel-mitigated": "challenge"}, "Vercel", "challenge"),
    Case("vercel 200", 200, html(ADVERT), {"x-vercel-mitigated": "challenge"}, "Vercel", "challenge"),
    Case("anubis", 200, html(ANUBIS), {}, "Anubis", "challenge"),
    Case("anubis, long", 200, html(ADVERT + ANUBIS), {}, "Anubis", "challenge", "utf-8"),
    Case("sucuri", 200, html("x", SUCURI), {}, "Sucuri", "ip_ban"),
    Case("sucuri 403", 403, html(ADVERT + f"<h1>{SUCURI}</h1>"), {}, "Sucuri", "ip_ban"),
]  # fmt: skip
WIDGETS_AND_STATUSES = [
    Case("recaptcha", 200, html(RECAPTCHA), {}, "captcha widget", "captcha"),
    Case("recaptcha in utf-8", 200, html(RECAPTCHA), {}, "captcha widget", "captcha", "utf-8"),
    Case("hcaptcha", 200, html(f'{WAIT}<div class="h-captcha">'), {}, "captcha widget", "captcha"),
    Case("hcaptcha 403", 403, html(f'{ADVERT}<div class="h-captcha">'), {}, "captcha widget", "captcha"),
    Case("turnstile 429", 429, html('<div class="cf-turnstile">' + ADVERT), {}, "captcha widget", "captcha"),
    Case("turnstile 503", 503, html('<div class="cf-turnstile">' + ADVERT), {"retry-after": "5"},
         "captcha widget", "captcha"),
    Case("recaptcha 403", 403, html(RECAPTCHA + ADVERT), {}, "captcha widget", "captcha"),
    Case("recaptcha, tiny 404", 404, html(RECAPTCHA), {}, "captcha widget", "captcha"),
    Case("hcaptcha, tiny 500", 500, html('<div class="h-captcha">'), {}, "captcha widget", "captcha"),
    Case("turnstile, tiny 404", 404, html('<div class="cf-turnstile">'), {}, "captcha widget", "captcha"),
    Case("plain 403", 403, "no", {}, "the portal", "forbidden"),
    Case("plain 401", 401, "no", {"server": "cloudflare"}, "the portal", "login"),
    Case("plain 451", 451, "no", {}, "the portal", "legal"),
]  # fmt: skip
CHALLENGES = [*CLOUDFLARE_PAGES, *CLOUDFLARE_ERRORS, *OTHER_VENDORS, *WIDGETS_AND_STATUSES]
