"""The commands about proxies as a person uses them; wrong input is one sentence, and no password is shown."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_server import COMMAND
from commands_here import commands
from crawls import environment, run
from fleet_certificates import make_certificates
from fleet_thread import fleet_before
from proxy_fleet import PASSWORD
from sale_sofia.cli.main import main
from sale_sofia.proxies.model import Proxy, Tier, parse_proxy
from sale_sofia.proxies.sources import ProxySource, SourceList

KINDS = {
    "good": 1,
    "transparent": 1,
    "anonymous": 1,
    "with_password": 1,
    "injecting": 1,
    "dead": 2,
    "http_only": 1,
}


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[tuple[int, int, Path]]:
    """Our own judge, by its command: its two ports, and who vouches for it."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    certificates = make_certificates(folder)
    files = ("--certificate", folder / "server.pem", "--key", folder / "server.key")
    ports = ("--host", "127.0.0.1", "--port", "0", "--http-port", "0")
    process = subprocess.Popen(
        [COMMAND, "proxies", "judge", *files, *ports],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path / "data", {}),
    )
    assert process.stderr is not None
    found = re.findall(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
    yield int(found[0]), int(found[1]), certificates.ca
    process.terminate()
    process.wait(20)
    process.stderr.close()


def test_a_check_by_our_own_judge(tmp_path: Path, judge: tuple[int, int, Path]) -> None:
    secure, plain, ca = judge
    named = {
        "PROXY_JUDGE_URL": f"https://127.0.0.1:{secure}",
        "PROXY_JUDGE_HTTP_URL": f"http://127.0.0.1:{plain}",
        "PROXY_JUDGE_CA": str(ca),
    }
    with fleet_before(1, KINDS, others=(secure, plain)) as fleet:
        (tmp_path / "list").write_text(fleet.lines())
        kinds = {member.address.masked: member.kind for member in fleet.members}
        result = run(tmp_path / "data", "proxies", "check", tmp_path / "list", "--json", **named)
        shown = run(tmp_path / "data", "proxies", "check", tmp_path / "list", **named)
    found = {
        kinds[row["address"]]: (row["found"], row["anonymity"])
        for row in json.loads(result.stdout)["findings"]
    }
    assert found == {
        "good": ("usable", "elite"),
        "transparent": ("usable", "transparent"),
        "anonymous": ("usable", "anonymous"),
        "with_password": ("usable", "elite"),
        "injecting": ("injects", "unknown"),
        "dead": ("dead", "unknown"),
        "http_only": ("http_only", "unknown"),
    }
    assert result.returncode == shown.returncode == 0
    assert PASSWORD not in result.stdout + result.stderr + shown.stdout + shown.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", "me:topsecret@1.2.3.4:80"), "a password on the command line"),
        (("add", "1.2.3.4:80:me:topsecret"), "a password on the command line"),
        (("add", "1.2.3.4:80", "--tier", "best"), "no tier 'best'; allowed: own, free, paid"),
        (("add", "1.2.3.4:80", "--scheme", "ftp"), "no scheme 'ftp'; allowed: http, https, socks5"),
        (("add", "-"), "there is no line on standard input"),
        (("add", "/nowhere/list"), "/nowhere/list: cannot be read: No such file or directory"),
        (("stats", "nowhere.bg"), "no portal 'nowhere.bg'; allowed: "),
        (("remove", "0123456789ab"), "no proxy '0123456789ab'; `sale-sofia proxies list` shows the ids"),
        (("judge", "--certificate", "/nowhere", "--key", "/nowhere"), "no certificate with its key"),
    ],
)
def test_wrong_input_is_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "argv", ["sale-sofia", "proxies", *arguments])
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    with pytest.raises(SystemExit) as ended:
        main()
    errors = capsys.readouterr().err
    assert ended.value.code == 2
    assert sentence in " ".join(errors.replace("│", " ").split())
    assert "topsecret" not in errors
    assert not (tmp_path / "data" / "proxies").exists()


def test_one_unknown_id_forgets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, known = commands(tmp_path, monkeypatch, capsys), Proxy(parse_proxy("192.0.2.7:80"))
    SourceList(tmp_path).remember([known])
    assert command("proxies", "remove", known.id, "0123456789ab").code == 2
    assert SourceList(tmp_path).load_usable() == [known]
    assert command("proxies", "remove", known.id).err == "1 forgotten"
    assert SourceList(tmp_path).load_usable() == []


def test_a_file_is_found_again_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = commands(tmp_path / "data", monkeypatch, capsys)
    (tmp_path / "list.txt").write_text("192.0.2.7:80\n")
    monkeypatch.chdir(tmp_path)
    assert command("proxies", "add", "list.txt", "192.0.2.8:80").code == 0
    saved = [source.place for source in SourceList(tmp_path / "data").sources()]
    assert saved == [str(tmp_path / "list.txt"), "192.0.2.8:80"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("add", "192.0.2.7:80", "/nowhere/list"),
        ("sources", "--on", "monosans-http", "--on", "nobody"),
        ("sources", "--on", "monosans-http", "--off", "nobody"),
    ],
)
def test_of_a_right_and_a_wrong_name_none_is_taken(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
) -> None:
    assert commands(tmp_path, monkeypatch, capsys)("proxies", *arguments).code == 2
    assert SourceList(tmp_path).sources() == []


def test_a_judge_that_is_gone_is_said(tmp_path: Path) -> None:
    result = run(tmp_path / "data", "proxies", "check", "1.2.3.4:80", PROXY_JUDGE_URL="https://127.0.0.1:9")
    assert result.returncode == 2
    assert "The judge at https://127.0.0.1:9 does not answer" in result.stderr


def test_passwords_come_by_standard_input(tmp_path: Path) -> None:
    result = subprocess.run(
        [COMMAND, "proxies", "add", "-", "--tier", "paid"],
        input="me:topsecret@127.0.0.1:9\n127.0.0.1:10\n",
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path / "data", {}),
    )
    assert result.returncode == 0
    assert "http://me:***@127.0.0.1:9: 1 proxies" in result.stderr
    listed = run(tmp_path / "data", "proxies", "refresh", "--json")
    assert (listed.returncode, json.loads(listed.stdout)["found"]) == (1, {"dead": 2})
    assert "topsecret" not in result.stdout + result.stderr + listed.stdout + listed.stderr


@pytest.mark.parametrize("line", ["me:topsecret@192.0.2.7", "192.0.2.7:99999:me:topsecret"])
def test_a_line_that_is_no_proxy_does_not_show_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    command = commands(tmp_path, monkeypatch, capsys)
    for word in ("add", "check"):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{line}\n"))
        told = command("proxies", word, "-")
        assert (told.code > 0, "cannot be read" in told.err) == (True, True)
        assert "topsecret" not in told.out + told.err


def test_the_rotator_without_a_redis_says_so(tmp_path: Path) -> None:
    result = run(tmp_path / "data", "rotator")
    assert result.returncode == 2
    assert "start one with `sale-sofia up`, or set REDIS_URL" in result.stderr


@pytest.mark.parametrize(("word", "code"), [("stats", 0), ("list", 0), ("check", 1)])
def test_no_proxies_are_said_in_words_and_not_as_an_empty_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], word: str, code: int
) -> None:
    told = commands(tmp_path, monkeypatch, capsys)("proxies", word)
    assert (told.code, told.out) == (code, "")
    assert "no proxies are known; `sale-sofia proxies sources` lists" in told.err


def test_lists_that_differ_in_their_keys_alone_are_shown_and_switched_off_together(tmp_path: Path) -> None:
    keys: dict[str, Tier] = {"old": "paid", "new": "own"}
    for key, tier in keys.items():
        SourceList(tmp_path).add(ProxySource(f"https://lists.example/all?key={key}", tier))

    def told(*more: str) -> list[tuple[str, bool]]:
        rows = json.loads(run(tmp_path, "proxies", "sources", "--json", *more).stdout)["sources"]
        return [(row["tier"], row["on"]) for row in rows if row["name"] == "https://lists.example/all?***"]

    assert told() == [("paid", True), ("own", True)]
    assert told("--off", "https://lists.example/all?***") == [("paid", False), ("own", False)]
    assert SourceList(tmp_path).sources() == []
