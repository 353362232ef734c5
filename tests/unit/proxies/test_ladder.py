"""The recovery ladder: every step in its order and within its budget, and back to the bottom."""

from sale_sofia.proxies.fetcher import Ladder, Rung, budgets_of
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import ProxyTable


def make_ladder(**table: object) -> Ladder:
    return Ladder(budgets_of(Settings(), ProxyTable(**table), can_refresh=True))


def steps(ladder: Ladder, count: int, now: float = 0.0) -> list[str]:
    return [ladder.failed(now).value for _ in range(count)]


def test_the_default_budgets_are_six_three_three() -> None:
    assert steps(make_ladder(use=True), 20) == [
        *["other_proxy"] * 6,
        *["new_session"] * 3,
        *["restart_rotator"] * 3,
        *["refresh"] * 3,
        *["next_tier"] * 2,
        *["open_circuit"] * 3,
    ]


def test_directly_only_where_the_site_file_allows_it() -> None:
    assert Rung.DIRECT not in steps(make_ladder(use=True), 1000)
    allowed = steps(make_ladder(use=True, direct_allowed=True, tiers=("paid",)), 20)
    assert allowed[15:] == [*["direct"] * 3, *["open_circuit"] * 2]


def test_nothing_is_refreshed_that_cannot_be() -> None:
    ladder = Ladder(budgets_of(Settings(), ProxyTable(use=True), can_refresh=False))
    assert "refresh" not in steps(ladder, 100)


def test_a_success_leads_back_to_the_bottom() -> None:
    ladder = make_ladder(use=True)
    steps(ladder, 10)
    ladder.succeeded()
    assert steps(ladder, 1) == ["other_proxy"]


def test_a_tier_that_helped_is_kept_for_a_day() -> None:
    ladder = make_ladder(use=True)
    steps(ladder, 16, now=100.0)
    ladder.succeeded()
    assert ladder.level_at(100.0 + 86_399) == 1
    assert ladder.level_at(100.0 + 86_400) == 0
    steps(ladder, 17, now=1e6)
    assert ladder.level_at(1e6) == 2


def test_a_second_streak_of_failures_finds_the_last_tier_again() -> None:
    ladder = make_ladder(use=True, tiers=("free", "paid"))
    for _ in range(3):
        assert steps(ladder, 16)[-1] == "next_tier"
        ladder.succeeded()
        assert ladder.level_at(0.0) == 1


def test_the_browser_is_for_challenges_and_comes_before_going_directly() -> None:
    table = ProxyTable(use=True, direct_allowed=True, tiers=("paid",))
    budgets = budgets_of(Settings(), table, can_refresh=False, browser=True)
    challenged, refused = Ladder(budgets), Ladder(budgets)
    climbed = [challenged.failed(0.0, challenged=True).value for _ in range(18)]
    assert climbed[12:] == [*["browser"] * 3, *["direct"] * 3]
    assert steps(refused, 15)[12:] == ["direct"] * 3


def test_without_the_browser_a_challenge_climbs_like_any_block() -> None:
    ladder = make_ladder(use=True)
    assert "browser" not in [ladder.failed(0.0, challenged=True).value for _ in range(100)]
