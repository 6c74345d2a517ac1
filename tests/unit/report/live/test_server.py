"""The server of the live page: four texts for this machine, and nothing for anybody else."""

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fedradio.core.errors import SpecError
from fedradio.report.live.server import LiveServer
from fedradio.runs.run import run
from fedradio.spec.spec import Spec


@pytest.fixture
def served(tmp_path: Path, tiny: Callable[..., Spec]) -> Iterator[LiveServer]:
    run(tiny(), tmp_path / "run")
    server = LiveServer(tmp_path / "run")
    yield server
    server.close(0.0)


def ask(server: LiveServer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    port = int(server.url.split(":")[2].strip("/"))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def test_the_page_and_its_scripts(served: LiveServer) -> None:
    status, headers, text = ask(served, "/")
    assert status == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert "The run has ended" in text
    for script, word in {"plotly": "Plotly", "page": "uirevision", "live": "news?after"}.items():
        assert word in ask(served, f"/{script}.js")[2]
    assert ask(served, "/", "HEAD")[2] == ""


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1", ""]
)
def test_other_names_are_refused(served: LiveServer, host: str) -> None:
    port = served.url.split(":")[2].strip("/")
    status, _, text = ask(served, "/", Host=host.format(port=port))
    assert status == 421
    assert "<html" not in text
    assert ask(served, "/news?after=", Host=host.format(port=port))[0] == 421
    assert ask(served, "/", Host=f"LocalHost:{port}")[0] == 200


@pytest.mark.parametrize("path", ["/spec.yaml", "/../spec.yaml", "//etc/passwd", "/index.html", "/news/", "/%2e%2e/"])
def test_no_path_leads_to_a_file(served: LiveServer, path: str) -> None:
    assert ask(served, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_written(served: LiveServer, method: str) -> None:
    assert ask(served, "/", method)[0] == 501


def test_news_come_when_there_are_some(served: LiveServer) -> None:
    version = json.loads(ask(served, "/news?after=none")[2])["version"]
    answers: list[str] = []
    waiting = threading.Thread(target=lambda: answers.append(ask(served, f"/news?after={version}")[2]))
    waiting.start()
    served.close(5.0)
    waiting.join(10)
    assert json.loads(answers[0]) == {"version": version, "closing": True}


def test_only_this_machine_is_listened_to(served: LiveServer) -> None:
    assert served._server.server_address[0] == "127.0.0.1"


def test_a_port_in_use(served: LiveServer, tmp_path: Path) -> None:
    port = int(served.url.split(":")[2].strip("/"))
    with pytest.raises(SpecError, match="in use"):
        LiveServer(tmp_path / "run", port)
    other = LiveServer(tmp_path / "run")  # without a wish another one is found
    assert other.url != served.url
    other.close()


def test_a_wanted_port_is_taken(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = LiveServer(tmp_path / "run", port)
    assert server.url == f"http://127.0.0.1:{port}/"
    server.close()
