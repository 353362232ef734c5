"""Good answers that resemble blocks: what portals behind each vendor send with every page."""

from unit.crawl.fetch.challenges import ADVERT, EDGESUITE, INCAPSULA, PX_SENSOR, Case, html

LOGIN_FORM = '<i data-google-recaptcha-key="6L"></i><b class="g-recaptcha">'
BEACON = "<script>__CF$cv$params={r:'9'};a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>"
AWS_SDK = "<script>gokuProps</script><script src=https://1.sdk.awswaf.com/x.js></script><script src=ips.js>"
WORDS = "blocked captcha access denied verify you are human Error 1020 error code: 1015 just a moment..."


def _cookie(name: str) -> Case:
    return Case(f"cookie {name}", 200, html(ADVERT), {"set-cookie": f"a=1; Path=/, {name}=1; Secure"})


COOKIES = [
    _cookie(name)
    for name in (
        "__cf_bm", "cf_clearance", "datadome", "_px3", "_pxhd", "_pxvid", "visid_incap_12", "incap_ses_12",
        "reese84", "_abck", "bm_sz", "ak_bmsc", "aws-waf-token",
    )
]  # fmt: skip
HEADERS = [
    Case(f"header {name}", 200, html(ADVERT), {name: value})
    for name, value in (
        ("cf-ray", "9d2f6a1c0e8b4f57-SOF"),
        ("server", "cloudflare"),
        ("cf-mitigated", ""),
        ("x-datadome", "Protected"),
        ("x-dd-b", ""),
        ("x-px-authorization", "3"),
        ("x-iinfo", "9-1"),
        ("x-cdn", "Incapsula"),
        ("akamai-cache-status", "Hit from child"),
        ("x-amzn-requestid", "1"),
        ("x-amz-cf-id", "1"),
        ("x-amzn-waf-action", "count"),
    )
]
BODIES = [
    Case("login form's captcha", 200, html(LOGIN_FORM + ADVERT)),
    Case("hcaptcha and turnstile", 200, html('<b class="h-captcha"><b class="cf-turnstile">' + ADVERT)),
    Case("beacon", 200, html(BEACON + ADVERT)),
    Case("beacon on a tiny page", 200, html(BEACON)),
    Case("perimeterx's sensor", 200, html(PX_SENSOR + ADVERT)),
    Case("aws's and kasada's scripts", 200, html(AWS_SDK + ADVERT)),
    Case("words", 200, html(WORDS + ADVERT)),
    Case(
        "attention without a status",
        200,
        html("cf-error-details" + ADVERT, "Attention Required! | Cloudflare"),
    ),
    Case("resource on a full page", 200, html(INCAPSULA + ADVERT)),
    Case("the title alone", 200, html(ADVERT, "Access Denied")),
    Case("the reference alone", 200, html(EDGESUITE + ADVERT)),
    Case("another title with it", 200, html(ADVERT, "Just a moment... to the metro")),
    Case("a mark far below", 200, html("<p>текст</p>" * 8000 + "px-captcha")),
    Case("tiny page by akamai", 200, html("advert"), {"akamai-cache-status": "Hit from child"}),
    Case("tiny page by another cdn", 200, html("advert"), {"x-cdn": "Fastly"}),
    Case("tiny json", 200, '{"offers": []}', {"content-type": "application/json", "x-iinfo": "9-1"}),
    Case(
        "tiny page behind cloudflare",
        200,
        html("advert"),
        {"server": "cloudflare", "set-cookie": "datadome=1"},
    ),
]
GOOD = [*COOKIES, *HEADERS, *BODIES]
