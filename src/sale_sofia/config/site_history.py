"""What a site file says of the history of its adverts: when they are opened again, and when they are gone."""

from typing import Annotated

from pydantic import Field, model_validator

from sale_sofia.config.history import SECONDS_PER_HOUR, HistoryRules
from sale_sofia.config.site_links import Table


class HistoryTable(Table):
    """When an advert whose card did not change is opened again; the interval adapts within these bounds."""

    first_hours: Annotated[float, Field(ge=1, le=8760)]
    least_hours: Annotated[float, Field(ge=1, le=8760)]
    most_hours: Annotated[float, Field(ge=1, le=8760)]
    conditional: bool
    """Whether the portal answers "not modified" to a request that names what we have."""

    @model_validator(mode="after")
    def _in_order(self) -> "HistoryTable":
        if not self.least_hours <= self.first_hours <= self.most_hours:
            raise ValueError("must be least_hours <= first_hours <= most_hours")
        return self

    def rules(self, odd_price_visits: int) -> HistoryRules:
        """The same in the units of the database, beside what the settings say."""
        return HistoryRules(
            first_seconds=self.first_hours * SECONDS_PER_HOUR,
            least_seconds=self.least_hours * SECONDS_PER_HOUR,
            most_seconds=self.most_hours * SECONDS_PER_HOUR,
            odd_price_visits=odd_price_visits,
        )


class DelistingTable(Table):
    """When an advert is gone."""

    absence: bool
    """Whether a complete sweep without an advert says anything; one of a rolling window does not."""
    sweeps: Annotated[int, Field(ge=1, le=100)]
    """With `absence`: so many complete sweeps without it."""
    look: bool
    """Whether its own page must say so too; without `absence` that alone decides."""

    @model_validator(mode="after")
    def _some_evidence(self) -> "DelistingTable":
        if not self.absence and not self.look:
            raise ValueError("without absence and without a look nothing is ever gone; allow one of them")
        return self
