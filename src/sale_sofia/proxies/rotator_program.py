"""The rotator as a program of its own: `python -P -m sale_sofia.proxies.rotator_program`."""

import asyncio
import signal

from sale_sofia.config.programs import end_at_once
from sale_sofia.config.proxies import CHECK_CONNECT_SECONDS, ROTATOR_HOST
from sale_sofia.config.settings import Settings, load_settings
from sale_sofia.proxies.factory import get_pool
from sale_sofia.proxies.rotator import Rotator
from sale_sofia.proxies.rules import PoolRules
from sale_sofia.proxies.tunnel import Patience
from sale_sofia.services.child_record import tell_ready
from sale_sofia.services.errors import ServiceError
from sale_sofia.services.running_redis import known_redis_url


async def serve(settings: Settings, redis_url: str) -> None:
    """Be the rotator until a signal asks for an end.

    Raises:
        ServiceError: the port is taken.
    """
    pool = await get_pool(settings, redis_url)
    rotator = Rotator(
        pool=pool,
        patience=Patience(CHECK_CONNECT_SECONDS, settings.proxy_timeout),
        lease_seconds=PoolRules.from_settings(settings).lease_seconds,
    )
    asked = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    try:
        await rotator.start(settings.rotator_port)
    except OSError as error:
        place = f"{ROTATOR_HOST}:{settings.rotator_port}"
        raise ServiceError(
            f"The rotator cannot listen on {place}: {error.strerror} (ROTATOR_PORT)."
        ) from None
    tell_ready()
    await asked.wait()
    await rotator.stop()
    await pool.close()


def main() -> None:
    """Run with the settings of the environment."""
    settings = load_settings()
    asyncio.run(serve(settings, known_redis_url(settings)))


if __name__ == "__main__":
    end_at_once()
    main()
