"""What every imot.bg page has around its own part."""

from sale_sofia.simulator.pieces import attribute, ballast, fill

CHARSET = "windows-1251"
_SLOTS = ("imot.bg_details_top_980_", "imot_sidebar_left", "imot_sidebar_right", "imot.bg_inner_details")


def page(  # noqa: PLR0913
    body: str,
    *,
    title: str,
    description: str,
    canonical: str,
    imot_id: str = "",
    image: str = "",
    links: str = "",
    data: str = "",
    targeting: str = "",
    weight: int = 30,
) -> str:
    """The whole page; `weight` is the size in kilobytes of the scripts in its head."""
    head = fill(
        "imot_head",
        title=title,
        description=attribute(description),
        canonical=canonical,
        links=links,
        image=image,
        ballast=ballast(weight, "imot head"),
        slots="".join(_slot(slot, targeting) for slot in _SLOTS),
    )
    return head + fill("imot_top", imot_id=imot_id) + body + fill("imot_foot", data=data)


def _slot(name: str, targeting: str) -> str:
    return (
        f'          googletag.defineSlot("/1/{name}", [[160, 600], [300, 250]], "div-gpt-ad-{name}")\n'
        f"            .addService(googletag.pubads()){targeting}.setCollapseEmptyDiv(true,true);\n\n"
    )
