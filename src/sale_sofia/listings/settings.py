"""What reading a page may cost; no environment variable sets it."""

from typing import Final

LONGEST_ADDRESS: Final = 2_000
"""Bytes of an address of a portal or a photo: longer ones are refused by browsers, proxies and indexes."""

LONGEST_ID: Final = 80
"""Characters of an advert's id at its portal: what its column holds. Portals use some ten."""

LONGEST_NEIGHBOURHOOD: Final = 120
"""Characters of the name of a neighbourhood: a longer text is a sentence, and no index takes any length."""

LONGEST_TITLE: Final = 160
"""Characters of a title on a card: two lines of a telephone."""

AFTER_HTML_BYTES: Final = 4_096
"""Bytes at the end of a whole HTML page in which it closes: counters and comments may follow."""
JSON_MOST_CHARACTERS: Final = 4_000_000
"""Characters of a page whose JSON is read: the largest seen has 1.2 million; in memory it is tenfold."""
JSON_MOST_STRINGS: Final = 3
"""How many strings may hold each other before the JSON in them: portals use one."""
JSON_MOST_ELEMENTS: Final = 10_000
"""Elements of a page's JSON that a path with `*` leads to, each looked at for each field, and members of an
object that are passed over: adverts have some hundred photos, states some hundred keys."""
MOST_ATTRIBUTES: Final = 1000
"""Attributes of one tag: the parser compares each with all before it. Portals use some thirty."""
MOST_STRETCHES: Final = 20
"""Long stretches of a page in which a tag with many attributes is looked for: shorter ones take no second."""
DEEPEST_ELEMENT: Final = 512
"""Elements in each other: the parser and selectors go back through them. Chromium makes no more either."""
SHALLOW_TAGS: Final = 4000
"""Tags with which a page is never very slow, however deep: it is counted only where it looks deep."""
FEW_TAGS: Final = 1500
"""Tags with which no page is slow, however deep: then it is not looked at."""
DEPTH_SAMPLE_BYTES: Final = 16_384
"""Of a page's first half, that show whether it closes what it opens."""
MOST_REOPENED: Final = 1_000_000
"""Elements that the parser may make of formatting which a page leaves open: 0.4 s, and 600 bytes each."""
PAGE_PATIENCE: Final = 6
"""Seconds by the clock for each that a page may compute: on a crowded machine its process gets few."""
DESK_SLACK_BYTES: Final = 1_000_000
"""Beside the bytes of a page: its address and headers, or all that its cards say."""
SITE_FILES_REMEMBERED: Final = 64
"""Site files of which the checked form is kept: some times as many as there are portals."""
REMEMBERED_TOWNS: Final = 64
"""Towns for which it is kept what other towns are called: a crawl meets few, a country has thousands."""
REMEMBERED_HOSTS: Final = 256
"""Hosts of which it is kept whether they are a portal's: its own few, and those of firms below it."""
REMEMBERED_LABELS: Final = 4096
"""Labels of rows whose key is kept: portals repeat a hundred, but any text may stand where a label should."""
LABEL_MOST_CHARACTERS: Final = 100
"""Longer texts are no word of a portal's: they come once, and are not kept."""
REPAIR_MOST_PLACES: Final = 20_000
"""Places of one page that are tried for a field that drifted: a page of 2 000 elements has some 10 000."""
REPAIR_SEARCHED_PAGES: Final = 3
"""Pages that are searched for places; those found are tried on all."""
SPLIT_FILL: Final = 0.75
"""Share of a cap that a part of a search should fill: parts are uneven, and one over the cap is cut again."""
SPLIT_GROUPS: Final = 8
"""Parts into which ids are grouped where the portal does not say how many adverts there are."""
YAML_MOST_BYTES: Final = 1_000_000
"""Bytes of a user's YAML file: the longest of our own has 60 000."""
YAML_MOST_VALUES: Final = 50_000
"""Values of a YAML text, each alias counted as all it stands for: our longest file has 5 000."""
YAML_MOST_DIRECTIVES: Final = 10
"""Lines of a YAML text that begin with %: no file of ours has one."""
YAML_DEEPEST: Final = 40
"""Lists and mappings in each other in a YAML text: a site file needs eight."""
YAML_NUMBER_CHARACTERS: Final = 1000
"""Characters of a plain value that begins like a number: YAML also reads `1:30:00` as one, digit by digit."""
PHONES_MOST_PARTS: Final = 50
"""Parts of a text that are tried as telephone numbers, each also in so many: adverts print a handful."""
PATTERN_MOST_CHARACTERS: Final = 100_000
"""Characters of one text of a page that a pattern sees: descriptions have 5 000. A page's source, which a
site file may ask for, is seen whole."""
APART_QUICK_SECONDS: Final = 0.02
"""For so long everybody waits for a page that is read apart: nearly all take less."""
APART_KEPT_BYTES: Final = 32 * 2**20
"""Of free memory, that a process which reads pages keeps for the next one; glibc takes no more than this."""
