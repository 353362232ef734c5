"""What a loan costs each month and in all, with equal payments."""

from dataclasses import dataclass

_MONTHS_PER_YEAR = 12


@dataclass(frozen=True, slots=True)
class Loan:
    """A loan in EUR. The payments are equal, as Bulgarian banks offer them first."""

    borrowed: float
    monthly: float
    paid: float
    """All payments together."""

    @property
    def interest(self) -> float:
        """What is paid beyond what was borrowed."""
        return self.paid - self.borrowed


def loan(borrowed: float, percent: float, years: int) -> Loan:
    """A loan at this yearly interest; without interest it is only divided."""
    months = years * _MONTHS_PER_YEAR
    rate = percent / 100 / _MONTHS_PER_YEAR
    monthly = borrowed / months if rate == 0 else borrowed * rate / (1 - (1 + rate) ** -months)
    return Loan(borrowed, monthly, monthly * months)
