"""Fleet, portals and judge together, for as long as a test lasts."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from fleet_certificates import Certificates
from fleet_origins import HOSTS, Origins
from proxy_fleet import Fleet, members
from sale_sofia.crawl.fetch.base import Request
from sale_sofia.proxies.checker import JudgeClient
from sale_sofia.proxies.judge import JudgeServer

JUDGE = "judge.test"


@dataclass
class FleetWorld:
    fleet: Fleet
    origins: Origins
    ca: Path
    ports: dict[str, int]

    def url(self, host: str = HOSTS[0], path: str = "/advert", scheme: str = "https") -> str:
        return f"{scheme}://{host}{path}"

    def request(self, url: str, timeout: float = 5.0) -> Request:
        return Request(url, frozenset(HOSTS), timeout, timeout, 1_000_000)

    def judge(self) -> JudgeClient:
        """The judge by its name, which only the proxies can look up."""
        return JudgeClient(f"https://{JUDGE}", f"http://{JUDGE}", self.ca)


@asynccontextmanager
async def fleet_world(
    certificates: Certificates, kinds: Mapping[str, int], seed: int = 0
) -> AsyncIterator[FleetWorld]:
    origins, judge = Origins(), JudgeServer()
    secure, plain = await origins.start(certificates.server)
    judge_secure, judge_plain = await judge.start("127.0.0.1", 0, 0, certificates.server)
    names = {(host, port): to for host in HOSTS for port, to in ((443, secure), (80, plain))}
    names |= {(JUDGE, 443): judge_secure, (JUDGE, 80): judge_plain}
    fleet = Fleet(members(kinds, seed), names, certificates.impostor, certificates.server, seed)
    await fleet.start()
    for member in fleet.of("banned"):
        origins.banned[HOSTS[0]].add(member.host)
    ports = {"secure": secure, "plain": plain, "judge": judge_secure, "judge_plain": judge_plain}
    try:
        yield FleetWorld(fleet, origins, certificates.ca, ports)
    finally:
        await fleet.stop()
        await origins.stop()
        await judge.stop()
