"""The scripts of the pages share one scope: a name of one replaces that of another without a word."""

import re
from collections import Counter
from importlib.resources import files

SHARING = ("app.js", "map.js")


def test_no_two_scripts_of_a_page_have_a_name_in_common() -> None:
    names = Counter[str]()
    for script in SHARING:
        text = (files("sale_sofia.app") / "static" / script).read_text("utf-8")
        lines = re.findall(r"^(?:async )?(?:function|const|let) (.+)", text, re.MULTILINE)
        names.update({name for line in lines for name in re.findall(r"(?:^|, )(\w+)(?= =|\()", line)})
    assert {"tell", "follow", "wide", "drawCity", "corners"} <= names.keys()
    assert [name for name, scripts in names.items() if scripts > 1] == []
