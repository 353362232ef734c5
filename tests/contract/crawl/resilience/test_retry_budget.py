from contract.crawl.resilience.backends import Backend
from sale_sofia.crawl.resilience.policy import RetryBudgetRules
from sale_sofia.crawl.resilience.retry import RetryBudget, rules_at

IMOT = "imot.bg"


class Purse:
    def __init__(self, backend: Backend, rules: RetryBudgetRules) -> None:
        self.budget: RetryBudget = backend.retry_budget(rules)
        self.run = backend.run

    def first_tries(self, number: int, now: float, domain: str = IMOT) -> None:
        for _ in range(number):
            self.run(self.budget.first_try(domain, now))

    def retries(self, now: float, domain: str = IMOT) -> int:
        """How many can be paid for now; all are spent."""
        paid = 0
        while self.run(self.budget.spend(domain, now)):
            paid += 1
        return paid


SHARE_ONLY = RetryBudgetRules(share=0.25, per_minute=0.0, most=10.0)
FLOOR_ONLY = RetryBudgetRules(share=0.0, per_minute=2.0, most=3.0)


def test_first_tries_pay_for_their_share_of_retries(backend: Backend) -> None:
    purse = Purse(backend, SHARE_ONLY)
    assert purse.retries(0.0) == 1
    purse.first_tries(20, now=0.0)
    assert purse.retries(0.0) == 5
    purse.first_tries(3, now=0.0)
    assert purse.retries(0.0) == 0


def test_what_is_saved_up_has_a_limit(backend: Backend) -> None:
    purse = Purse(backend, SHARE_ONLY)
    purse.first_tries(1000, now=0.0)
    assert purse.retries(0.0) == 10


def test_a_few_retries_come_with_time_alone(backend: Backend) -> None:
    purse = Purse(backend, FLOOR_ONLY)
    assert [purse.retries(now) for now in (0.0, 29.0, 30.0, 90.0, 9000.0)] == [1, 0, 1, 2, 3]


def test_domains_do_not_pay_for_each_other(backend: Backend) -> None:
    purse = Purse(backend, SHARE_ONLY)
    purse.first_tries(20, now=0.0)
    assert purse.retries(0.0, "bazar.bg") == 1


def test_what_was_paid_for_and_not_used_comes_back(backend: Backend) -> None:
    purse = Purse(backend, SHARE_ONLY)
    assert purse.retries(0.0) == 1
    purse.run(purse.budget.give_back(IMOT, 0.0))
    assert purse.retries(0.0) == 1


def test_time_alone_pays_for_a_share_of_the_pace_and_never_for_less_than_the_floor() -> None:
    rules = RetryBudgetRules(share=0.2, per_minute=1.0, most=10.0)
    assert [rules_at(rate, rules).per_minute for rate in (2.0, 10.0, 600.0)] == [1.0, 2.0, 120.0]
