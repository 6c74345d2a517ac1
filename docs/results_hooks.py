"""Pages of shipped results, made at build time from the files in the package: tables, verdicts, and pictures."""

from __future__ import annotations

import functools
import io
import re
from typing import Any

import matplotlib
from folding import folded
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from result_pages import claims_table, item_markdown, item_summary, overview_markdown

from fedradio.papers.items import Item
from fedradio.papers.published import PAPERS, items, matching, published
from fedradio.papers.shipped import is_begun, shipped_results
from fedradio.report.figures.published import draw
from fedradio.report.terminal.claims import verdict_counts
from fedradio.report.terminal.reproduction import result_text
from fedradio.report.terminal.shipped import Shipped, opened
from fedradio.report.terminal.words import markdown_table

SVG: dict[Any, Any] = {"svg.hashsalt": "fedradio", "svg.fonttype": "path"}
"""The same data gives the same picture."""

MARKER = re.compile(r"<!-- (shipped results|numbers of|verdicts of) ?([a-z]*) ?(\w*) -->")
"""``shipped results``: the overview, or with a paper all of its items; ``numbers of PAPER ITEM``: the table alone,
``verdicts of PAPER ITEM``: the claims alone."""

MOST = 3
"""More verdicts than this are folded on pages that are about something else."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every shipped result, and a picture for those that draw something."""
    for (paper, name), result in shipped_results().items():
        if not is_begun(published()[paper, name], result):
            continue
        files.append(File.generated(config, page_path(paper, name), content=item_page(paper, name)))
        if result.picture is not None and result.picture["series"]:
            files.append(File.generated(config, f"results/{paper}_{name}.svg", content=svg(paper, name)))
    return files


@functools.cache
def svg(paper: str, name: str) -> bytes:
    """The picture of a shipped result."""
    picture = shipped_results()[paper, name].picture
    assert picture is not None
    data = io.BytesIO()
    with matplotlib.rc_context(SVG):
        draw(picture).savefig(data, format="svg", metadata={"Date": None})
    return data.getvalue()


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace every marker of shipped results."""
    return MARKER.sub(lambda found: made(*found.groups()), markdown)


def made(what: str, paper: str, name: str) -> str:
    """What a marker stands for."""
    if what != "shipped results":
        return part(what, paper, name)
    listed = known(paper or None)
    if not paper:
        return overview_markdown(listed, link)
    return "\n\n".join(item_summary(one, link, picture_path) for one in listed)


def page_path(paper: str, name: str) -> str:
    return f"hold/{paper}_{name}.md"


def picture_path(item: Item) -> str:
    return f"results/{item.paper}_{item.name}.svg"


def item_page(paper: str, name: str) -> str:
    """The page of one shipped result."""
    text = item_markdown(shipped_one(paper, name), lambda item: f"../{picture_path(item)}")
    return f"{text}\n\nAll of this paper: [{PAPERS[paper]}](../hold_{paper}.md). All papers: [overview](../hold.md)."


def shipped_one(paper: str, name: str) -> Shipped:
    [one] = opened(matching(paper, name))
    if not isinstance(one, Shipped):
        raise ValueError(f"{paper} {name} has no shipped result")
    return one


def part(what: str, paper: str, name: str) -> str:
    """The numbers of one shipped result, paper beside ours, or the verdicts on its claims; refused where it is none."""
    one = shipped_one(paper, name)
    if what == "verdicts of":
        text = claims_table(one.item, one.judged)
        return text if len(one.judged) <= MOST else folded(f"Claims: {verdict_counts(one.judged)}", text)
    texts = result_text(one.result)
    return markdown_table(texts.header, texts.rows)


@functools.cache
def known(paper: str | None) -> list[Item | Shipped]:
    """All items, or those of a paper, with their shipped results."""
    return opened(items(paper))


def link(item: Item) -> str:
    """The address of an item's result, from the pages of all papers and of one."""
    return page_path(item.paper, item.name)
