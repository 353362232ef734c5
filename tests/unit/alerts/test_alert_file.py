"""The file of rules: what is read from it, and one sentence for everything that may be wrong with it."""

from datetime import time
from pathlib import Path

import pytest

from contract.storage.helpers import ready_database
from sale_sofia.alerts.channels import channels_of, open_service
from sale_sofia.alerts.deciding import check_kinds, profiles_of, sources_of
from sale_sofia.alerts.rules import AlertsError, AlertsFile, check_unused, load_alerts

SECRET = "sEcReT-7431"  # noqa: S105 - planted to be looked for
MAIL = f"mailto://me:{SECRET}@example.com"
GOOD = f"""
channels:
  mail: {MAIL}
quiet_hours: {{from: "22:30", to: "08:00"}}
buyer:
  - {{name: Тристаен, profile: default, min_score: 3.5, channels: [mail]}}
  - {{name: Следени, shortlist: true, tell: [gone, cut], channels: [mail], digest: "08:30"}}
operator:
  - {{name: Всичко, channels: [mail], urgent: true}}
"""


def written(folder: Path, text: str) -> Path:
    (folder / "alerts.yaml").write_text(text, "utf-8")
    return folder


def loaded(folder: Path, text: str) -> AlertsFile:
    file = load_alerts(written(folder, text))
    assert file is not None
    return file


def test_a_good_file_is_read(tmp_path: Path) -> None:
    file = loaded(tmp_path, GOOD)
    first, second = file.buyer
    assert (first.profile, first.min_score, first.tell) == (
        "default",
        3.5,
        ("new", "cut", "back", "gone", "cheaper"),
    )
    assert (second.shortlist, second.digest, second.cut_percent) == (True, time(8, 30), 3.0)
    assert file.operator[0].urgent
    assert file.channels["mail"].get_secret_value() == MAIL


def test_without_a_file_there_are_no_alerts(tmp_path: Path) -> None:
    assert load_alerts(tmp_path) is None


CHANNEL = "channels: {m: 'json://a/'}"
ALLOWED = "allowed: buyer, channels, operator, quiet_hours"
BAD = [
    ("{channels: {}, bayer: []}", f"the file: unknown key bayer; {ALLOWED}"),
    (
        "{channels: {x: hello}}",
        "channels.x: is no Apprise URL; write it as scheme://…, one URL without spaces",
    ),
    ("{channels: {x: 7}}", "channels.x: must be one Apprise URL, as text"),
    ("{channels: {x: 'dbus://'}}", "channels.x: is no Apprise URL"),
    ("{channels: {x: 'dbus://now'}}", "channels.x: no service dbus:// here; allowed: bark, barks"),
    ("{channels: {x: 'file:///etc/passwd'}}", "channels.x: no service file:// here"),
    (
        "{channels: {x: 'mailto://a:p℀s@b.bg'}}",
        "channels.x: its host cannot be read; percent-encode the signs",
    ),
    ("{channels: {x: 'json://a/?retry=9'}}", "channels.x: the option retry is not allowed here"),
    ("{channels: {x: 'mailto://a@b.bg?bcc=c@d.bg'}}", "channels.x: the option bcc is not allowed here"),
    (
        "{channels: {x: 'json://${NO_SUCH_NAME}/'}}",
        "channels.x: ${NO_SUCH_NAME} is not set; set NO_SUCH_NAME or NO_SUCH_NAME_FILE in the environment",
    ),
    ("{channels: {'a/b': 'json://a/'}}", "'a/b' is no name; allowed: letters, digits, spaces, dots, dashes"),
    ("{quiet_hours: {from: '22:00', to: '22:00'}}", "quiet_hours: `from` and `to` are the same moment"),
    (
        "{quiet_hours: {from: 22.5, to: '08:00'}}",
        "quiet_hours.from: 22.5 is no time of day; write it in quotes",
    ),
    ("{buyer: [{name: A, channels: [mail], search: s}]}", "rule A: no channel mail; there are: none"),
    (f"{{{CHANNEL}, buyer: [{{name: A, channels: [m]}}]}}", "buyer.0: say one of `profile`, `search`"),
    (f"{{{CHANNEL}, buyer: [{{name: A, channels: [], search: s}}]}}", "buyer.0.channels: "),
    (
        f"{{{CHANNEL}, buyer: [{{name: A, channels: [m], search: s, min_score: 3}}]}}",
        "buyer.0: min_score is of a profile",
    ),
    (
        f"{{{CHANNEL}, buyer: [{{name: A, channels: [m], search: s, tell: [sold]}}]}}",
        "buyer.0.tell.0: must be 'new', 'cut', 'back', 'gone', 'cheaper' or 'rise'",
    ),
    (
        f"{{{CHANNEL}, buyer: [{{name: A, channels: [m], shortlist: true, tell: [new]}}]}}",
        "buyer.0: what is on the shortlist is not new",
    ),
    (
        f"{{{CHANNEL}, operator: [{{name: A, channels: [m]}}, {{name: A, channels: [m]}}]}}",
        "the file: two rules are called A",
    ),
    ("[]", "must hold a mapping of keys to values"),
    ("{channels: ", "not valid YAML"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_a_bad_file_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(AlertsError) as caught:
        load_alerts(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "alerts.yaml"))
    assert sentence in str(caught.value)


def test_no_sentence_holds_a_secret(tmp_path: Path) -> None:
    for url in (f"dbus://{SECRET}", f"json://a/{SECRET}?retry=2", f"{SECRET}", f"json://{SECRET} b"):
        with pytest.raises(AlertsError) as caught:
            load_alerts(written(tmp_path, f"{{channels: {{x: '{url}'}}}}"))
        assert SECRET not in str(caught.value)


def test_secrets_come_from_the_environment_and_from_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "password").write_text("p@ss/word\n")
    monkeypatch.setenv("MAIL_USER", "me")
    monkeypatch.setenv("MAIL_PASSWORD_FILE", str(tmp_path / "password"))
    monkeypatch.setenv("WHOLE", f"json://u:{SECRET}@host.example/x?a=b")
    file = loaded(
        tmp_path, "{channels: {m: 'mailto://${MAIL_USER}:${MAIL_PASSWORD}@example.com', w: '${WHOLE}'}}"
    )
    assert file.channels["m"].get_secret_value() == "mailto://me:p%40ss%2Fword@example.com"
    assert file.channels["w"].get_secret_value() == f"json://u:{SECRET}@host.example/x?a=b"
    assert SECRET not in repr(file)


def test_what_is_named_has_to_be_there(tmp_path: Path) -> None:
    file = loaded(tmp_path, "{channels: {m: 'json://a/'}, buyer: [{name: A, channels: [m], search: дом}]}")
    database = ready_database(tmp_path / "x.db")
    with database.read() as connection, pytest.raises(AlertsError) as caught:
        sources_of(connection, file.buyer, {}, now=1.0)
    database.dispose()
    assert str(caught.value).startswith("alerts.yaml: buyer.0.search: no saved search 'дом'; there are: none")
    file = loaded(tmp_path, "{channels: {m: 'json://a/'}, buyer: [{name: A, channels: [m], profile: mine}]}")
    with pytest.raises(
        AlertsError, match=r"alerts.yaml: buyer.0.profile: no profile 'mine'; there are default"
    ):
        profiles_of(file.buyer, tmp_path)
    file = loaded(
        tmp_path, "{channels: {m: 'json://a/'}, operator: [{name: A, channels: [m], incidents: [war]}]}"
    )
    with pytest.raises(
        AlertsError, match=r"alerts.yaml: operator.0.incidents: no incident war; allowed: empty_job"
    ):
        check_kinds(file.operator)
    file = loaded(
        tmp_path, "{channels: {m: 'json://a/'}, operator: [{name: A, channels: [m], incidents: [drift]}]}"
    )
    check_kinds(file.operator)


def test_a_search_that_a_rule_names_is_found_however_it_is_spaced(tmp_path: Path) -> None:
    rule = "{name: A, channels: [m], search: Лозенец до 200}"
    written(tmp_path, f"{{channels: {{m: 'json://a/'}}, buyer: [{rule}]}}")
    for spaced in ("Лозенец до 200", " Лозенец  до 200"):
        with pytest.raises(AlertsError, match="Лозенец до 200"):
            check_unused(tmp_path, spaced)
    check_unused(tmp_path, "Лозенец до 2000")


WRONG_FOR_APPRISE = {
    f"mailto://{SECRET}": "not a usable Apprise URL: Invalid ~From~ email specified",
    f"tgram://{SECRET}": "not a usable Apprise URL",
    f"mailto://me:{SECRET}@example.com?to=a@b.bg,c@d.bg": "has 2 readers; allowed: one for each channel",
}


@pytest.mark.slow
@pytest.mark.parametrize("url", WRONG_FOR_APPRISE)
def test_what_apprise_cannot_use_is_said_without_its_secrets(tmp_path: Path, url: str) -> None:
    channel = channels_of(loaded(tmp_path, f"{{channels: {{x: '{url}'}}}}"))["x"]
    with pytest.raises(AlertsError) as caught:
        open_service(channel, 5)
    assert f"alerts.yaml: channels.x: {WRONG_FOR_APPRISE[url]}" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_every_piece_of_a_url_is_hidden() -> None:
    pieces = {
        "https://x": "json://user1:pass1@host.example:8080/path1/path2?+X-Key=head1&q=val1#frag1",
        "telegram": "tgram://12345:AbCdE-token/chat99",
        "slack": "slack://TokenA1/TokenB2/TokenC3/#channel5",
        "quoted": "json://u%40ser:p%2Fass@host.example/",
    }
    secrets = {
        "https://x": ["user1", "pass1", "path1", "path2", "head1", "val1", "frag1"],
        "telegram": ["12345", "AbCdE-token", "chat99"],
        "slack": ["TokenA1", "TokenB2", "TokenC3", "channel5"],
        "quoted": ["u@ser", "p/ass", "u%40ser", "p%2Fass"],
    }
    for name, url in pieces.items():
        channel = channels_of(AlertsFile.model_validate({"channels": {"x": url}}))["x"]
        said = channel.masked(f"failed {url} and " + " and ".join(secrets[name]))
        assert not any(secret in said for secret in secrets[name]), said
        assert url not in repr(channel)
    assert "host.example" in channels_of(AlertsFile.model_validate({"channels": {"x": pieces["quoted"]}}))[
        "x"
    ].masked("host.example refused")
