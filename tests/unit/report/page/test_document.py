"""The frame of a page."""

import sys

import pytest
from support.pages import BAD, Outline

from fedradio.report.page.document import Refresh, asset, document
from fedradio.report.page.html import tag
from fedradio.results.folder_state import FolderState


def test_contents_lead_to_the_sections() -> None:
    sections = {name: (f"The {name}", tag("section", name, id=name)) for name in ("first", "second")}
    text = document(BAD, [tag("h1", BAD)], sections, ":root { --mine: 1 }")
    found = Outline(text)
    assert text.startswith("<!doctype html>")
    assert {"#first", "#second", "#content"} <= set(found.values("href"))
    assert {"first", "second", "content", "mode"} <= set(found.values("id"))
    assert text.index("The first") < text.index("The second")
    assert "--mine: 1" in text
    assert BAD not in text


@pytest.mark.parametrize(("seconds", "period"), [(1, "every second"), (20, "every 20 s")])
def test_a_page_that_reloads_says_so_and_any_other_page_does_not_reload(seconds: int, period: str) -> None:
    text = document("t", [], {}, refresh=Refresh(seconds, FolderState("running", "In progress <1>.", "v")))
    found = Outline(text)
    assert [one["content"] for one in found.names("meta") if one.get("http-equiv") == "refresh"] == [str(seconds)]
    assert list(found.values("data-state")) == ["running"]
    assert f"In progress &lt;1&gt;. This page reloads {period}." in text
    still = Outline(document("t", [], {}))
    assert "refresh" not in still.values("http-equiv")
    assert list(still.values("data-state")) == []


def test_no_script_can_end_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[document.__module__], "asset", lambda name: f"{name} </SCRIPT>")
    with pytest.raises(ValueError, match="its own end"):
        document("t", [], {})


def test_assets_are_shipped() -> None:
    assert "--" in asset("page.css")
    with pytest.raises(FileNotFoundError):
        asset("page.exe")
