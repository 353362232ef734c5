"""Commands about portals that exist only here: serve them, or write their pages to a folder."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.progress import Progress

from sale_sofia.cli.console import log, out, tell
from sale_sofia.websites.site_file import CONFIG_FOLDER
from sale_sofia_simulator.faults import LAYOUTS
from sale_sofia_simulator.render import write_world
from sale_sofia_simulator.simulation import SITES, SimulatorConfig

# Site files for simulated portals, so that every command crawls these and not the real ones.

_MARK: Final = "# Written by `sale-sofia simulate`: laid over the installed file.\n"


def check_folder(folder: Path) -> None:
    """Refuses a folder with site files of somebody's own; those of an earlier simulation may be replaced."""
    for path in sorted(folder.glob("*.yaml")):
        if path.exists() and not path.read_text("utf-8").startswith(_MARK):
            raise typer.BadParameter(f"{path} is a site file of your own; name another folder")


def write_simulated_sites(folder: Path, start_urls: Mapping[str, Sequence[str]]) -> None:
    """Each portal begins at these addresses; every other is switched off."""
    folder.mkdir(parents=True, exist_ok=True)
    for site in (path.stem for path in (CONFIG_FOLDER / "sites").glob("*.yaml")):
        begins = "".join(f"  - {url}\n" for url in start_urls.get(site, ()))
        text = f"start_urls:\n{begins}" if begins else "enabled: false\n"
        (folder / f"{site}.yaml").write_text(_MARK + text, "utf-8")


if TYPE_CHECKING:
    from sale_sofia_simulator.simulation import Simulation

app = typer.Typer()
Properties = Annotated[int, typer.Option(min=1, max=1_000_000, help="How many adverts each portal has.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same portals.")]


@app.callback(invoke_without_command=True)
def simulate(
    context: typer.Context,
    port: Annotated[
        int,
        typer.Option(min=0, max=65_535, help="Of the first portal; the others follow. 0: any free ports."),
    ] = 8701,
    sites: Annotated[str, typer.Option(help="Which portals, with commas between.")] = ",".join(SITES),
    properties: Properties = 100,
    seed: Seed = 1,
    faults: Annotated[
        str, typer.Option(help='How often what goes wrong, e.g. "429:0.02,503:0.01,slow:0.05,reset:0.01".')
    ] = "",
    layouts: Annotated[
        str, typer.Option(help=f"Changed layouts, with commas between: {', '.join(LAYOUTS)}.")
    ] = "",
    log_file: Annotated[
        Path | None, typer.Option("--log", help="Write each request as a line of JSON.")
    ] = None,
    truth: Annotated[Path | None, typer.Option(help="Write what every advert really is, as JSON.")] = None,
    day: Annotated[int, typer.Option(min=0, help="Begin on this day of the world's life.")] = 0,
    sites_dir: Annotated[
        Path | None,
        typer.Option(
            help="Write site files here; with SITES_DIR set to it, commands crawl these portals alone.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Serve simulated portals on loopback until Ctrl-C, and name the search at which to crawl each."""
    if context.invoked_subcommand is not None:
        return
    config = SimulatorConfig(
        sites=tuple(sites.split(",")),
        properties=properties,
        seed=seed,
        day=day,
        port=port,
        faults=faults,
        layouts=tuple(filter(None, layouts.split(","))),
        log=log_file,
        truth=truth,
    )
    if sites_dir:
        check_folder(sites_dir)
    from sale_sofia_simulator.server import serve  # noqa: PLC0415 - a web server no other command needs

    serve(config, lambda simulation: _announce(simulation, sites_dir))


def _announce(simulation: "Simulation", sites_dir: Path | None) -> None:
    start_urls = {site: portal.start_urls() for site, portal in simulation.portals.items()}
    if sites_dir:
        write_simulated_sites(sites_dir, start_urls)
    for site, urls in start_urls.items():
        out.print(f"{site}: {urls[0]}", highlight=False, soft_wrap=True)
    if sites_dir:
        told = shlex.quote(str(sites_dir.resolve()))
        tell(f"crawl them, in another terminal: export SITES_DIR={told}")
    log.print("stop it with Ctrl-C", highlight=False)


@app.command()
def render(
    folder: Annotated[Path, typer.Argument(help="Where to write the pages; an empty or new folder.")],
    properties: Annotated[
        int, typer.Option(min=1, max=100_000, help="How many adverts each portal has.")
    ] = 100,
    seed: Seed = 1,
) -> None:
    """Write portal pages with their truth (truth.json) and a manifest for `parse --manifest`."""
    with Progress(console=log, transient=True) as progress:
        task = progress.add_task("rendering")
        written = write_world(
            folder, properties, seed, lambda done, total: progress.update(task, completed=done, total=total)
        )
    log.print(
        f"{written} pages in {folder}; read them: sale-sofia parse --manifest {folder / 'manifest.jsonl'}"
    )
