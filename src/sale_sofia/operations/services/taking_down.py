"""Stopping, from another terminal, the services that somebody runs for everybody."""

from sale_sofia.operations.services.ownership import Ownership, ServicesBusy
from sale_sofia.operations.services.processes import TERMINATE
from sale_sofia.operations.settings import RUN_FOLDER, SERVICE_DOWN_SECONDS
from sale_sofia.settings.errors import ServiceError
from sale_sofia.settings.model import Settings


def take_down(settings: Settings) -> bool:
    """Tell whoever runs the services to stop them, and wait for that; False when nobody does.

    Raises:
        ServicesBusy: they belong to a crawl, which stops them itself when it ends.
        ServiceError: it did not stop in time, not even when told twice.
    """
    holder = Ownership(settings.data_dir / RUN_FOLDER).holder()
    if holder is None:
        return False
    if not holder.shared:
        raise ServicesBusy(
            f"The services in {settings.data_dir} belong to a crawl, process {holder.pid}; "
            "stop it where it runs."
        )
    for _ in range(2):  # the second signal forces
        holder.process.send(TERMINATE)
        if holder.process.gone_within(SERVICE_DOWN_SECONDS):
            return True
    raise ServiceError(f"`sale-sofia up`, process {holder.pid}, does not stop.")
