import asyncio

from redis.exceptions import ConnectionError as RedisGone

from sale_sofia.crawl.resilience.bulkhead import Renewal


def test_renewals_go_on_after_one_that_failed_and_end_with_the_lease() -> None:
    answers: list[bool | Exception] = [True, RedisGone(), TimeoutError(), False, True]

    async def renew() -> bool:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def story() -> None:
        async with Renewal(0.01, renew):
            await asyncio.sleep(0.5)

    asyncio.run(story())
    assert answers == [True]


def test_who_is_done_soon_renews_nothing() -> None:
    async def story() -> list[bool]:
        asked: list[bool] = []

        async def renew() -> bool:
            asked.append(True)
            return True

        async with Renewal(0.05, renew):
            pass
        await asyncio.sleep(0.1)
        return asked

    assert asyncio.run(story()) == []
