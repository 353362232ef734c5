"""The statistics form of an imot.bg advert: 972 options that are never closed, as on the real page."""

from functools import cache

from sale_sofia.listings.places import neighbourhoods
from sale_sofia.simulator.kinds import KINDS
from sale_sofia.simulator.model import ImotAdvert
from sale_sofia.simulator.pieces import fill, lines

_TOWNS = (
    "Благоевград", "Бургас", "Варна", "Велико Търново", "Видин", "Враца", "Габрово", "Добрич", "Кърджали",
    "Кюстендил", "Ловеч", "Монтана", "Пазарджик", "Перник", "Плевен", "Пловдив", "Разград", "Русе",
    "Силистра", "Сливен", "Смолян", "София", "Стара Загора", "Търговище", "Хасково", "Шумен", "Ямбол",
)  # fmt: skip
_SHOWS = (
    "Цена на имота", "Цена на кв.м.", "Наем на имота", "Цена/Год.наем", "Брой оферти", "Брой търсения",
    "Разглеждания",
)  # fmt: skip
_PERIODS = ("1 месец", "1 година", "3 години", "5 години", "10 години", "22 години")
_ROWS = 4

_ITEM = """          <item>
            <div><num class="color{row}">{row}</num></div>
            <div>
              <select name="n{row}_vi"{disabled}>{kinds}
</select>
            </div>
            <div>
              <select name="n{row}_nr" onchange="javascript:change_nr_cr({fields})"{disabled}>
                {towns}

              </select>
            </div>
            <div>
              <select name="n{row}_cr"{disabled}>
                {hoods}

              </select>
            </div>
            <div>{clear}</div>
          </item>
"""
_CLEAR = (
    '<a title="Изчисти" class="delete" href="javascript:;" onclick="clear_fields_graph({row});">'
    "<span>Изчисти</span></a>"
)


def stats(advert: ImotAdvert) -> str:
    """The form; its first row is the advert's own type, town and neighbourhood."""
    graph = _graph(advert)
    return fill(
        "imot_stats",
        imot_id=advert.external_id,
        graph=graph,
        shows=lines([_radio(graph, "grt", i, word, first=1) for i, word in enumerate(_SHOWS, 1)]),
        periods=lines([_radio(graph, "grp", i, word, first=3) for i, word in enumerate(_PERIODS, 1)]),
        items=_own_row(advert) + _other_rows(),
    )


def _graph(advert: ImotAdvert) -> str:
    home = advert.home
    label = f"{home.kind.label}, град {home.place.city}, {home.place.neighbourhood}"
    own = f"ida={advert.external_id}&pt={home.kind.number}~~~~"
    return f"/pcgi/graph.cgi?{own}&vi={label}~~~~&kv={home.area_sqm}"


def _radio(graph: str, name: str, number: int, word: str, *, first: int) -> str:
    checked = " checked" if number == first else ""
    return (
        f"            <label id=\"l_{name}{number}\" onclick=\"javascript:setgraph('{graph}','')\">"
        f'<input type="radio" name="{name}" value="{number}"{checked} style="margin-top:5px;"> {word}</label>'
    )


def _own_row(advert: ImotAdvert) -> str:
    home = advert.home
    row = _plain_row(1)
    for label in (home.kind.label, f"град {home.place.city}", home.place.neighbourhood):
        row = _selected(row, label)
    return row


def _selected(row: str, label: str) -> str:
    end = row.find(f'">{label}\n')
    start = row.rfind("<option value", 0, end)
    return row if end < 0 else f"{row[:start]}<option selected value{row[start + len('<option value') :]}"


@cache
def _other_rows() -> str:
    return "".join(_plain_row(row) for row in range(2, _ROWS + 1))


@cache
def _plain_row(row: int) -> str:
    return _ITEM.format(
        row=row,
        disabled=" disabled" if row == 1 else "",
        fields=f"document.graphform.n{row}_nr,document.graphform.n{row}_cr",
        kinds='<option value="0">\n' + _options([(kind.number, kind.label) for kind in KINDS]),
        towns='<option value="">\n'
        + _options([(2 * i + 1, f"град {town}") for i, town in enumerate(_TOWNS)]),
        hoods='<option value="">\n' + _options([(hood.id, hood.name) for hood in neighbourhoods()]),
        clear="&nbsp;" if row == 1 else _CLEAR.format(row=row),
    )


def _options(choices: list[tuple[int, str]]) -> str:
    return lines([f'<option value="{value}">{word}' for value, word in choices])
