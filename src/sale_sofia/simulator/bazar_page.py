"""What every bazar.bg page has around its own part."""

from sale_sofia.simulator.pieces import attribute, ballast, fill

_STEPS = (
    ("Начало", "https://bazar.bg"),
    ("Обяви", "https://bazar.bg/obiavi"),
    ("Имоти", "https://bazar.bg/obiavi/imoti"),
    ("Апартаменти", "https://bazar.bg/obiavi/apartamenti"),
)


def page(  # noqa: PLR0913
    body: str,
    *,
    title: str,
    description: str,
    canonical: str,
    image: str = "//bazar.bg/img/bazar-logo.png",
    og: str = "",
    links: str = "",
    weight: int = 25,
) -> str:
    """The whole page; `weight` is the size in kilobytes of the scripts in its head."""
    head = fill(
        "bazar_head",
        title=title,
        description=attribute(description),
        canonical=canonical,
        image=image,
        og=og,
        links=links,
        ballast=ballast(weight, "bazar head"),
    )
    path = canonical.removeprefix("https://bazar.bg")
    return head + body + fill("bazar_foot", path=path, ballast=ballast(8, "bazar foot"))


def crumbs() -> str:
    """The breadcrumbs with their menus."""
    return fill("bazar_crumbs")


def breadcrumb_list(title: str, url: str) -> dict[str, object]:
    """The JSON-LD of the breadcrumbs."""
    return {
        "@context": "https://schema.org/",
        "@type": "BreadcrumbList",
        "itemListElement": [
            {"@type": "ListItem", "position": i, "item": {"@id": address, "name": name}}
            for i, (name, address) in enumerate((*_STEPS, (title, url)), 1)
        ],
    }
