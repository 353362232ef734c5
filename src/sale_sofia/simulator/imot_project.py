"""Pages of whole new buildings on imot.bg: another template, no price, never a listing."""

from dataclasses import dataclass
from random import Random

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.simulator import names
from sale_sofia.simulator.imot_gallery import gallery_section
from sale_sofia.simulator.imot_page import CHARSET, page
from sale_sofia.simulator.pieces import ballast, fill
from sale_sofia.simulator.text import slug

_WHAT = ("Жилищна сграда", "Жилищен комплекс")
_KINDS = "1-СТАЕН, 2-СТАЕН, 3-СТАЕН"


@dataclass(frozen=True, slots=True)
class Project:
    """A building that is still to be built."""

    number: int
    what: str
    neighbourhood: str
    slug: str
    street: str
    firm: str
    phone: str
    ready: int

    @property
    def url(self) -> str:
        """The address of its page: four digits where an advert has its id."""
        return f"https://www.imot.bg/obiava-{self.number}-{slug(self.what)}-grad-sofiya-{self.slug}-{slug(self.street)}"


def make_project(rng: Random) -> Project:
    """A project somewhere in Sofia."""
    hood = rng.choice(neighbourhoods())
    return Project(
        number=rng.randint(1000, 9999),
        what=rng.choice(_WHAT),
        neighbourhood=hood.name,
        slug=hood.slug,
        street=names.street(rng),
        firm=names.firm(rng, builder=True),
        phone=names.mobile(rng),
        ready=rng.randint(2026, 2030),
    )


def project_card(project: Project) -> str:
    """Its card among the adverts of a search."""
    return fill(
        "imot_project_card",
        url=project.url.removeprefix("https:"),
        tail=str(project.number)[-3:],
        number=project.number,
        what=project.what,
        place=f"град София, {project.neighbourhood}",
        handle=names.handle(project.firm),
    )


def project_page(project: Project) -> bytes:
    """Its page."""
    title = f"{project.what} в град София, {project.neighbourhood} :: imot.bg Обява {project.number}"
    body = fill(
        "imot_project",
        url=project.url,
        number=project.number,
        what=project.what,
        place=f"град София {project.neighbourhood}",
        street=project.street,
        gallery=_gallery(project),
        kinds=_KINDS,
        ready=project.ready,
        firm=project.firm,
        handle=names.handle(project.firm),
        phone=project.phone,
        ballast=ballast(12, "imot project"),
    )
    return page(body, title=title, description=f"imot.bg: {title}", canonical=project.url, weight=8).encode(
        CHARSET
    )


def _gallery(project: Project) -> str:
    folder = f"https://cdn3.focus.bg/imot/photosnb/{str(project.number)[-3:]}//big1/{project.number}"
    summary = f"В сградата се продават: {_KINDS}, Срок на завършване: декември {project.ready} г., "
    title = f"Ново Строителство {project.what}"
    photos = tuple(f"{folder}_{code}.jpg" for code in ("NH", "W7", "iC"))
    return gallery_section(title, f", Ново Строителство, {project.what}", summary, photos, "")
