"""The words of the imot.bg family for what is sold: property types, construction, features."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """One property type as the portals print it and as a listing must name it."""

    number: int
    """imot.bg's own number; the letter in an advert id is this place in the alphabet."""
    label: str
    slug: str
    """The word in a search URL."""
    plural: str
    """The word of the breadcrumbs."""
    property_type: str
    rooms: int | None = None

    @property
    def flat(self) -> bool:
        """Whether bazar.bg files it under Апартаменти."""
        return self.number <= MAISONETTE

    @property
    def advert_slug(self) -> str:
        """The word in an advert URL: numbered flats say that they are flats."""
        return f"{self.slug}-apartament" if self.number < MAISONETTE else self.slug

    @property
    def storeys_only(self) -> bool:
        """Whether the floor field holds the number of storeys alone."""
        return self.property_type in {"house", "villa"}

    def letter(self, deal: str) -> str:
        """The type letter of an advert id; rents are shifted by one."""
        return chr(ord("a") + self.number - 1 + (deal == "rent"))


MAISONETTE = 6

KINDS = (
    Kind(1, "1-СТАЕН", "ednostaen", "Едностайни апартаменти", "apartment", 1),
    Kind(2, "2-СТАЕН", "dvustaen", "Двустайни апартаменти", "apartment", 2),
    Kind(3, "3-СТАЕН", "tristaen", "Тристайни апартаменти", "apartment", 3),
    Kind(4, "4-СТАЕН", "chetiristaen", "Четиристайни апартаменти", "apartment", 4),
    Kind(5, "МНОГОСТАЕН", "mnogostaen", "Многостайни апартаменти", "apartment", 5),
    Kind(6, "МЕЗОНЕТ", "mezonet", "Мезонети", "maisonette"),
    Kind(7, "ОФИС", "ofis", "Офиси", "office"),
    Kind(8, "АТЕЛИЕ, ТАВАН", "atelie-tavan", "Ателиета, тавани", "studio"),
    Kind(9, "ЕТАЖ ОТ КЪЩА", "etazh-ot-kashta", "Етажи от къща", "house_floor"),
    Kind(10, "КЪЩА", "kashta", "Къщи", "house"),
    Kind(11, "ВИЛА", "vila", "Вили", "villa"),
    Kind(12, "МАГАЗИН", "magazin", "Магазини", "shop"),
    Kind(13, "ЗАВЕДЕНИЕ", "zavedenie", "Заведения", "other"),
    Kind(14, "СКЛАД", "sklad", "Складове", "industrial"),
    Kind(15, "ГАРАЖ, ПАРКОМЯСТО", "garazh-parkomyasto", "Гаражи, паркоместа", "garage"),
    Kind(16, "ПРОМ. ПОМЕЩЕНИЕ", "promishleno-pomeshtenie", "Промишлени помещения", "industrial"),
    Kind(17, "ХОТЕЛ", "hotel", "Хотели", "hotel"),
    Kind(18, "ПАРЦЕЛ", "partsel", "Парцели", "plot"),
    Kind(19, "ЗЕМЕДЕЛСКА ЗЕМЯ", "zemedelska-zemya", "Земеделска земя", "land"),
    Kind(20, "БИЗНЕС ИМОТ", "biznes-imot", "Бизнес имоти", "other"),
)
FLATS = tuple(kind for kind in KINDS if kind.flat)
OTHERS = tuple(kind for kind in KINDS if not kind.flat)
OPEN_LAND = frozenset({"plot", "land"})

CONSTRUCTIONS = {
    "Тухла": "brick",
    "Панел": "panel",
    "ЕПК": "epk",
    "ПК": "pk",
    "Гредоред": "beam",
    "Сглобяема конструкция": "prefab",
}
CONSTRUCTION_WEIGHTS = (70, 14, 6, 4, 3, 2)

FEATURES = (
    "В строеж",
    "С преход",
    "Асансьор",
    "С гараж",
    "С паркинг",
    "Лизинг",
    "Ипотекиран",
    "Бартер",
    "Интернет връзка",
    "С действащ бизнес",
    "Обзаведен",
    "Видео наблюдение",
    "Контрол на достъпа",
    "Охрана",
    "Саниран",
    "В затворен комплекс",
    "За ремонт",
    "Възможност за дан. кредит",
)

DEAL_WORDS = {"sale": "Продава", "rent": "Дава под наем"}
RUBRICS = {"sale": "prodazhbi", "rent": "naemi"}
RUBRIC_NAMES = {"sale": "Продажби", "rent": "Наеми"}
RUBRIC_DIGITS = {"sale": 1, "rent": 2}
