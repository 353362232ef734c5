"""What makes a deal another one than it looks: it changes the price a buyer sees, so none may be invented."""

from sale_sofia.descriptions.dictionary import read_description
from tables import each_row


def value_of(text: str, trap: str) -> object:
    found = read_description(text).get(trap)
    return found and found.value


@each_row(
    ("text", "value"),
    [
        ("Апартаменти с цени от 95 000 евро.", True),
        ("Цените започват от 1 800 евро на кв.м.", True),
        ("Цена от 1800 €/кв.м., площ 75 кв.м.", True),
        ("Тристаен апартамент в Бели брези на цена от 132,000 евро.", None),
        ("Четиристаен апартамент с продажна цена от 580 000EUR.", None),
        ("Цената от 150 000 евро е окончателна.", None),
        ("Тристаен с паркомясто /с отделна цена от 60 000 евро/.", None),
        ("Може да се закупи и гараж на цена от 45000 евро.", None),
        ("Паркоместа на цени от 25 000 евро.", None),
        ("Актуална обява и цена от 16.01.2026.", None),
    ],
)
def test_a_price_from(text: str, value: object) -> None:
    assert value_of(text, "price_from") == value


@each_row(
    ("text", "value"),
    [
        ("Цена: 480 000 евро без ДДС. Гараж: 60 000 евро без ДДС.", True),
        ("Цената е без включено ДДС.", True),
        ("Цената не включва 20% ДДС.", True),
        ("В цената не е включено ДДС.", True),
        ("ДДС не е включено в цената.", True),
        ("ДДС е включено в цената.", None),
        ("Върху цената се начислява ДДС.", True),
        ("Цена: 120 000 € + ДДС.", True),
        ("Върху цената не се начислява ДДС.", None),
        ("Върху цената не се дължи ДДС.", None),
        ("Върху цената няма ДДС.", None),
        ("Няма ДДС за купувача.", None),
        ("Крайна цена, без ДДС върху нея.", None),
        ("Продава физическо лице, без ДДС.", None),
        ("Цената на апартамента е с ДДС, паркомястото е 25 000 евро без ДДС.", None),
    ],
)
def test_a_price_without_vat(text: str, value: object) -> None:
    assert value_of(text, "price_without_vat") == value


@each_row(
    ("text", "value"),
    [
        ("Имотът е с ипотека, която се погасява при сделката.", True),
        ("Апартаментът е ипотекиран.", True),
        ("Върху имота има възбрана.", True),
        ("Възможност за ипотека.", None),
        ("Имотът може да бъде закупен с ипотека.", None),
        ("Купувачи с ипотека са добре дошли.", None),
        ("Подходящ за ипотека, документите са готови.", None),
        ("Приема се плащане с ипотека.", None),
        ("Ще бъде учредена ипотека в полза на банката на купувача.", None),
        ("Без ипотека и възбрани.", None),
    ],
)
def test_a_mortgage(text: str, value: object) -> None:
    assert value_of(text, "mortgage") == value


@each_row(
    ("text", "value"),
    [
        ("УПИ срещу обезщетение за строители.", True),
        ("Бартер за апартамент в София.", True),
        ("Апартаментът е от обезщетение, Акт 16.", None),
        ("Жилището е получено като обезщетение.", None),
        ("Продава се или бартер за апартамент.", None),
        ("Възможен бартер срещу автомобил.", None),
        ("Бартер не ме интересува.", None),
        ("Не се приема бартер.", None),
    ],
)
def test_a_swap(text: str, value: object) -> None:
    assert value_of(text, "compensation_swap") == value


@each_row(
    ("text", "value"),
    [
        ("Продава се 1/3 ид. част от жилище.", True),
        ("Продават се 1/2 ид.ч. от апартамент в центъра.", True),
        ("Продава 1/2 от апартамент на топ място.", True),
        ("Продава се идеална част от апартамент.", True),
        ("Имотът е в съсобственост.", True),
        ("Апартаментът е с 1/6 ид. ч. от сграда и двор.", None),
        ("Дворът е в съсобственост с другите етажи.", None),
        ("Паркомястото е в съсобственост.", None),
        ("Заедно с 2,5% идеални части от общите части на сградата.", None),
    ],
)
def test_a_share(text: str, value: object) -> None:
    assert value_of(text, "share_of_ownership") == value


@each_row(
    ("text", "value"),
    [
        ("Продава се право на строеж за апартамент.", True),
        ("Заедно с идеалните части от общите части на сградата и право на строеж върху парцела.", None),
    ],
)
def test_a_right_to_build(text: str, value: object) -> None:
    assert value_of(text, "right_to_build") == value


@each_row(
    ("text", "value"),
    [
        ("Продава се с готов наемател.", True),
        ("Инвестиция с дългосрочен наемател до 2028 г.", True),
        ("Отдаден под наем за 700 евро месечно.", True),
        ("Предпочитаме наематели с договор за една година.", None),
        ("Предпочитат се наематели с договор за година.", None),
        ("Търси се дългосрочен наемател.", None),
        ("Предлага се на дългосрочен наемател.", None),
        ("Имотът е свободен, няма наематели.", None),
    ],
)
def test_tenants(text: str, value: object) -> None:
    assert value_of(text, "tenants") == value
