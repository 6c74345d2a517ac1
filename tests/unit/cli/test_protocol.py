"""``fedradio protocol``: what it prints, its files, and what cannot be asked for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import Call, exit_code

from fedradio.cli.app import err
from fedradio.core.errors import SpecError
from fedradio.privacy.library import NEEDED

SMALL = ("rawhfl", "topology.edges=2", "topology.clients_per_edge=3", "hops.0.policy.clients=2")
TINY = ("--megabytes", "0.01")


def test_a_request_is_shown(call: Call, tmp_path: Path) -> None:
    done = call("protocol", *SMALL, *TINY, "--content", "7", "--figure", tmp_path / "chart.svg")
    assert done.exit_code == 0, done.output
    for words in ("requests content 7", "opens the payload", "24 of 25 attempts refused", "1,152 bit", "3,808 bit"):
        assert words in done.output
    assert "6 clients in 2 cells, 256 contents; sealed requests" in done.output
    assert "rank matching" not in done.output
    assert (tmp_path / "chart.svg").read_text().startswith("<?xml")


def test_everything_for_programs(call: Call) -> None:
    options = ("--requests", "5", "--epoch", "2", "--padding", "padme", "--suite", "hybrid", "--json")
    plain = json.loads(call("protocol", *SMALL, "--megabytes", "0.01,0.02", *options).stdout)
    assert plain["setting"]["requests"] == 5
    assert plain["epochs"] == 3
    assert plain["access_bits"] == 8 * 1232
    assert plain["seen"]["content"] == ["UE", "CSP", "ES"]
    assert [each["as_expected"] for each in plain["refusals"]] == [True] * 25
    assert plain["attacks"] == []
    assert plain["sizes"][0]["padding"] == "none"
    assert plain["summed"]["exact_without_one"] is True


def test_tags_in_the_clear(call: Call) -> None:
    plain = json.loads(call("protocol", *SMALL, *TINY, "--tags-only", "--json").stdout)
    assert plain["seen"]["tag"] == ["UE", "BS", "ISP", "CSP"]


def test_attacks(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedradio.cli.protocol.SIZES", (6, 24))
    done = call("protocol", *SMALL, *TINY, "--attack", "--draws", "1")
    assert done.exit_code == 0, done.output
    for words in ("sequences, the cell's law known", "files of 5 to 50 MB", "best constant guess"):
        assert words in done.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--padding", "some"), "unknown padding"),
        (("--figure", "chart.gif"), "not a supported image file"),
        (("--figure", "nowhere/chart.pdf"), "not a supported image file"),
        (("--megabytes", "many"), "not a size"),
        (("--megabytes", "5,1"), "not a size"),
        (("--megabytes", "1,2,3"), "not a size"),
        (("--megabytes", "nan"), "not a size"),
        (("--suite", "rot13"), "unknown suite"),
        (("--content", "256"), "there are 256 contents"),
    ],
)
def test_wrong_options(call: Call, words: tuple[str, ...], told: str) -> None:
    done = call("protocol", *SMALL, *words)
    assert isinstance(done.exception, SpecError)
    assert told in str(done.exception)


def test_a_spec_without_requests(call: Call) -> None:
    done = call("protocol", "demo")
    assert "this source has no requests" in str(done.exception)


def test_nothing_but_the_protocol_itself_asks_for_the_library() -> None:
    code = "import sys; sys.modules['cryptography'] = None; from fedradio.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "protocol"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2
    assert "fedradio[protocol]" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, NEEDED, None)
    monkeypatch.setattr(err, "_width", 200)
    assert exit_code("protocol") == 2
    assert "pip install 'fedradio[protocol]'" in " ".join(capsys.readouterr().err.split())
