"""What reviewers of research software look for is there, says the same everywhere, and names nobody invented."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from fedradio._version import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_versions_and_licences_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    meta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    assert citation["version"] == meta["version"] == __version__
    assert citation["license"] == PROJECT["license"] == meta["license"].rpartition("/")[2]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in meta["author"]]
    assert set(citation["keywords"]) == set(meta["keywords"])


def test_the_paper_has_the_sections_and_references_that_journals_ask_for() -> None:
    text = (ROOT / "paper.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    front = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= front.keys()
    headings = re.findall(r"^# (.+)$", body, re.MULTILINE)
    assert {"Summary", "Statement of need", "State of the field", "Use of AI", "References"} <= set(headings)
    assert "DOI" in body
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / front["bibliography"]).read_text(encoding="utf-8"), re.MULTILINE))
    cited = set(re.findall(r"@(\w+)", body))
    assert cited == known


@pytest.mark.parametrize(
    "path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda one: one.stem
)
def test_issue_forms_are_well_formed(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids))
    assert all(field["attributes"]["label"] for field in form["body"])


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", "SUPPORT.md"])
def test_links_of_pages_lead_to_files(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_image_gets_the_files_that_it_copies() -> None:
    """What the Dockerfile copies exists, and the list of ignored files leaves it in."""
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    names = {name for line in copied for name in line.split()}
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}
    assert names == kept
    assert all((ROOT / name).exists() for name in names)
