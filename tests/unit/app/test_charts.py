"""What stands under the axis of a chart."""

import re
from datetime import datetime

from sale_sofia.app.charts import DataPoint, Line, lines
from sale_sofia.listings.dates import SOFIA
from tables import each_row


@each_row(
    ("first", "last", "labels"),
    [
        ((2026, 3, 1), (2026, 3, 5), ["01.03", "02.03", "03.03", "04.03", "05.03"]),
        (
            (2025, 11, 18),
            (2026, 11, 18),
            ["18.11.25", "17.02.26", "20.05.26", "19.08.26", "18.11.26"],
        ),
    ],
)
def test_days_have_their_year_where_it_changes(
    first: tuple[int, int, int], last: tuple[int, int, int], labels: list[str]
) -> None:
    points = [DataPoint(datetime(*day, 12, tzinfo=SOFIA).timestamp(), 1.0) for day in (first, last)]
    drawn = str(lines("t", "€", [Line("a", points)]))
    assert re.findall(r'class="middle">([^<]+)<', drawn) == labels
