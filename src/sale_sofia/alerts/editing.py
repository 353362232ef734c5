"""Rules are added, changed, switched and removed in their file: whole or not at all, its remarks kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from sale_sofia.alerts.checking import check_rules
from sale_sofia.config.alert_file import (
    RULE_KINDS,
    AlertsError,
    AlertsFile,
    RuleKind,
    check_alerts,
    read_alerts,
)
from sale_sofia.config.alerts import ALERTS_FILE, ALERTS_FILE_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import parse_yaml
from sale_sofia.config.whole_files import whole_or_not_at_all, write_new
from sale_sofia.config.yaml_lists import CannotEdit, add_item, change_item, drop_item
from sale_sofia.data.database import Database
from sale_sofia.services.folder_locks import ALONE, StillLocked, lock_file, take

Written = dict[str, Any]
"""A rule as it stands in the file."""


class RuleChanged(AlertsError):
    """Somebody else changed the rule meanwhile; nothing was written."""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The file of an installation. Two who edit at once do so one after the other."""

    settings: Settings
    database: Database

    @property
    def path(self) -> Path:
        """Where it is."""
        return self.settings.data_dir / ALERTS_FILE

    def begin(self) -> None:
        """Write a file to begin with, which tells nothing yet.

        Raises:
            AlertsError: there is one already; it is left as it is.
        """
        # Only its owner can read it: whoever writes a secret into it all the same shows it to nobody else.
        if not write_new(self.path, (files("sale_sofia.alerts") / "starting.yaml").read_text("utf-8")):
            raise AlertsError(f"{self.path} is there already; edit it, or move it away")

    def written(self) -> dict[RuleKind, list[Written]]:
        """All rules as they stand in the file.

        Raises:
            AlertsError: there is no file, or it cannot be read.
        """
        return _rules(self._values(read_alerts(self.path)))

    def add(self, kind: RuleKind, rule: Written) -> None:
        """Add a rule at the end.

        Raises:
            AlertsError: it cannot be; nothing was written.
        """
        self._edit(lambda text: add_item(text, kind, rule), lambda rules: rules[kind].append(rule))

    def change(self, before: Written, rule: Written) -> None:
        """Write this rule instead of the one that stood there.

        Raises:
            RuleChanged: that one is not there any more.
            AlertsError: it cannot be; nothing was written.
        """

        def put(rules: dict[RuleKind, list[Written]]) -> None:
            kind, place = _place(rules, before)
            rules[kind][place] = rule

        self._edit(lambda text: change_item(text, *self._found(text, before), rule), put)

    def remove(self, before: Written) -> None:
        """Take the rule out.

        Raises:
            RuleChanged: it is not there any more as it was.
            AlertsError: it cannot be; nothing was written.
        """
        self._edit(
            lambda text: drop_item(text, *self._found(text, before)),
            lambda rules: rules[_place(rules, before)[0]].remove(before),
        )

    def switch(self, name: str, *, enabled: bool) -> None:
        """Let the rule of this name tell things, or not; one that is switched on begins anew.

        Raises:
            AlertsError: there is none of this name.
        """
        before = self.named(name)
        rest = {key: value for key, value in before.items() if key != "enabled"}
        self.change(before, rest if enabled else {**rest, "enabled": False})

    def named(self, name: str) -> Written:
        """The rule of this name as it stands in the file.

        Raises:
            AlertsError: there is none.
        """
        rules = [rule for some in self.written().values() for rule in some]
        for rule in rules:
            if rule["name"] == name:
                return rule
        there = ", ".join(str(rule["name"]) for rule in rules) or "none"
        raise AlertsError(f"no rule {name!r}; there are: {there}")

    def _edit(
        self, edit: Callable[[str], str], expect: Callable[[dict[RuleKind, list[Written]]], object]
    ) -> None:
        """Change the text; the file is written only when it then means what it should, and can be used."""
        with lock_file(self.path.with_suffix(".lock")) as lock:
            try:
                take(lock, ALONE, ALERTS_FILE_SECONDS)
            except StillLocked:
                raise AlertsError("somebody else is changing the rules; try again") from None
            text = read_alerts(self.path)
            expected = _rules(self._values(text))
            expect(expected)
            new = self._edited(edit, text)
            if _rules(self._values(new)) != expected or self._rest(new) != self._rest(text):
                raise AlertsError(f"{self.path}: is written in a way that only you can edit")
            self._write(new)

    def _edited(self, edit: Callable[[str], str], text: str) -> str:
        try:
            return edit(text)
        except CannotEdit as error:
            raise AlertsError(f"{self.path}: {error}; edit it by hand") from None

    def _write(self, text: str) -> None:
        file: AlertsFile = check_alerts(self.path, text)
        check_rules(self.settings, self.database, file)
        mode = self.path.stat().st_mode & 0o777
        with whole_or_not_at_all(self.path) as unfinished:
            unfinished.touch(mode)
            unfinished.chmod(mode)
            unfinished.write_text(text, "utf-8")

    def _found(self, text: str, rule: Written) -> tuple[RuleKind, int]:
        return _place(_rules(self._values(text)), rule)

    def _values(self, text: str) -> Mapping[str, Any]:
        check_alerts(self.path, text)
        return parse_yaml(self.path, text)

    def _rest(self, text: str) -> Mapping[str, Any]:
        return {key: value for key, value in self._values(text).items() if key not in RULE_KINDS}


def _rules(values: Mapping[str, Any]) -> dict[RuleKind, list[Written]]:
    return {kind: list(values.get(kind, [])) for kind in RULE_KINDS}


def _place(rules: Mapping[RuleKind, list[Written]], rule: Written) -> tuple[RuleKind, int]:
    for kind in RULE_KINDS:
        if rule in rules[kind]:
            return kind, rules[kind].index(rule)
    raise RuleChanged(f"the rule {rule['name']!r} is no longer what it was; look at it again")
